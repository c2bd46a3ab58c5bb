package crd

import (
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/apiserver/webhook"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Conversions has the webhooks of definitions convert objects, each as a part of the request
// that needs it.
type Conversions struct {
	Kernel *sim.Kernel
	Client func() *webhook.Client // of the server's process

	scopes map[*sim.Task]*request.Scope // of the requests that may wait for a webhook
}

// In says which request a task serves, until leave is called.
func (s *Conversions) In(scope *request.Scope) (leave func()) {
	t := scope.Task
	outer := s.scopes[t]
	if s.scopes == nil {
		s.scopes = map[*sim.Task]*request.Scope{}
	}
	s.scopes[t] = scope
	return func() {
		if s.scopes[t] = outer; outer == nil {
			delete(s.scopes, t)
		}
	}
}

// Convert has the webhook of a definition convert one object, in the task that runs now.
func (s *Conversions) Convert(definition *apiextensionsv1.CustomResourceDefinition, u *unstructured.Unstructured, to *registry.Kind) (*unstructured.Unstructured, error) {
	t, by := s.Kernel.Current(), "conversion webhook "+definition.Name
	failed := func(err error) *Unconverted {
		return &Unconverted{StatusError: &apierrors.StatusError{ErrStatus: *request.StatusOf(errors.New(err.Error()))}, By: by} // whatever it was, it is a 500
	}
	if t == nil {
		return nil, failed(fmt.Errorf("conversion webhook for %v failed: nobody can wait for it", u.GroupVersionKind()))
	}
	c, began, why := s.scopes[t], t.Elapsed(), causeOf(t)
	if c != nil {
		why = c.Last
	}
	uid := s.Client().NewUID()
	request, response, err := ConversionReview(definition.Spec.Conversion.Webhook.ConversionReviewVersions, u, to.APIVersion, uid)
	if err != nil {
		return nil, failed(err)
	}
	body, err := runtime.Encode(ConversionCodec, request)
	if err != nil {
		return nil, failed(fmt.Errorf("conversion webhook for %v failed: %w", u.GroupVersionKind(), err))
	}
	sent := s.Client().Post(t, why, ConversionClient(definition.Spec.Conversion.Webhook.ClientConfig), ConversionTimeout, body)
	answered, err := sent.Answer(t, ConversionCodec, response)
	out, err := VerifyConversion(u, to, uid, response, err)
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
