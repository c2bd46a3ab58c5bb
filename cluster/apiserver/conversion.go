package apiserver

import (
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Convert has the webhook of a definition convert one object, in the task that runs now.
func (s *Server) Convert(definition *apiextensionsv1.CustomResourceDefinition, u *unstructured.Unstructured, to *registry.Kind) (*unstructured.Unstructured, error) {
	t, by := s.k.Current(), "conversion webhook "+definition.Name
	failed := func(err error) *crd.Unconverted {
		return &crd.Unconverted{StatusError: &apierrors.StatusError{ErrStatus: *request.StatusOf(errors.New(err.Error()))}, By: by} // whatever it was, it is a 500
	}
	if t == nil {
		return nil, failed(fmt.Errorf("conversion webhook for %v failed: nobody can wait for it", u.GroupVersionKind()))
	}
	c, began, why := s.calls[t], t.Elapsed(), causeOf(t)
	if c != nil {
		why = c.Last
	}
	uid := s.webhooks.NewUID()
	request, response, err := crd.ConversionReview(definition.Spec.Conversion.Webhook.ConversionReviewVersions, u, to.APIVersion, uid)
	if err != nil {
		return nil, failed(err)
	}
	body, err := runtime.Encode(crd.ConversionCodec, request)
	if err != nil {
		return nil, failed(fmt.Errorf("conversion webhook for %v failed: %w", u.GroupVersionKind(), err))
	}
	sent := s.webhooks.Post(t, why, crd.ConversionClient(definition.Spec.Conversion.Webhook.ClientConfig), crd.ConversionTimeout, body)
	answered, err := sent.Answer(t, crd.ConversionCodec, response)
	out, err := crd.VerifyConversion(u, to, uid, response, err)
	if c != nil && !answered.IsZero() {
		c.Last = answered
	}
	if err != nil {
		bad := failed(err)
		bad.Took, bad.Answer = t.Elapsed()-began, answered
		return nil, bad
	}
	if c != nil {
		c.Tell(&trace.Stage{
			Request: c.Number, Stage: trace.StageStorage, By: by, Verdict: "pass", Took: t.Elapsed() - began,
			Note: "Converted the object from " + u.GetAPIVersion() + " to " + to.APIVersion + ".", Diff: object.Diff(u, out),
		})
	}
	return out, nil
}

func causeOf(t *sim.Task) trace.ID {
	if causes := t.Causes(); len(causes) > 0 {
		return causes[len(causes)-1]
	}
	return trace.ID{}
}
