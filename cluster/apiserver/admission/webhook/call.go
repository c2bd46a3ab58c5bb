package webhook

import (
	"errors"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/admission"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	webhookrequest "k8s.io/apiserver/pkg/admission/plugin/webhook/request"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"

	"kviz/cluster/apiserver/request"
	webhookclient "kviz/cluster/apiserver/webhook"
	"kviz/cluster/trace"
)

// defaultTimeout is that of a webhook which names none (pkg/apis/admissionregistration/v1
// SetDefaults_ValidatingWebhook).
const defaultTimeout = 10 * time.Second

// ReviewCodec writes and reads AdmissionReviews as upstream's client does
// (apiserver pkg/util/webhook/client.go NewClientManager).
var ReviewCodec = func() runtime.Codec {
	s := runtime.NewScheme()
	utilruntime.Must(admissionv1beta1.AddToScheme(s))
	utilruntime.Must(admissionv1.AddToScheme(s))
	return serializer.NewCodecFactory(s).LegacyCodec(admissionv1beta1.SchemeGroupVersion, admissionv1.SchemeGroupVersion)
}()

// hookCall is one call of a webhook on its way.
type hookCall struct {
	h        *Hooks
	r        *request.Scope
	name     string // of the webhook: sidecar.kviz.dev
	by       string // for the trace
	uid      types.UID
	response runtime.Object
	began    time.Duration
	sent     *webhookclient.Posted
}

// hookSpec is what webhooks of both kinds have in common.
type hookSpec struct {
	name    string
	config  string
	client  registrationv1.WebhookClientConfig
	effects *registrationv1.SideEffectClass
	failure *registrationv1.FailurePolicyType
	timeout *int32
}

func (s *hookSpec) ignores() bool { return s.failure != nil && *s.failure == registrationv1.Ignore }

// begin sends the AdmissionReview. What goes wrong on the way is told by finish.
func (h *Hooks) begin(r *request.Scope, spec *hookSpec, author string, inv *generic.WebhookInvocation, attrs *admission.VersionedAttributes) (*hookCall, error) {
	c := &hookCall{h: h, r: r, name: spec.name, by: author + " " + spec.config + "/" + spec.name, began: r.Task.Elapsed()}
	if attrs.IsDryRun() {
		switch e := spec.effects; {
		case e == nil:
			return c, c.failed(errors.New("Webhook SideEffects is nil"), apierrors.NewBadRequest("Webhook SideEffects is nil")) //nolint:staticcheck // upstream's words
		case *e != registrationv1.SideEffectClassNone && *e != registrationv1.SideEffectClassNoneOnDryRun:
			return c, webhookerrors.NewDryRunUnsupportedErr(spec.name)
		}
	}
	review, err := c.review(inv, attrs)
	if err != nil {
		return c, c.failed(fmt.Errorf("could not create admission objects: %w", err), apierrors.NewBadRequest("error creating admission objects"))
	}
	body, err := runtime.Encode(ReviewCodec, review)
	if err != nil {
		return c, c.failed(fmt.Errorf("failed to call webhook: %w", err), apierrors.NewServiceUnavailable("error calling webhook"))
	}
	timeout := defaultTimeout
	if spec.timeout != nil {
		timeout = time.Duration(*spec.timeout) * time.Second
	}
	c.sent = h.client.Post(r.Task, r.Last, &spec.client, timeout, body)
	return c, nil
}

// review makes the AdmissionReview of the first version that the webhook knows
// (webhook/request/admissionreview.go CreateAdmissionObjects, with a UID from the
// seed).
func (c *hookCall) review(inv *generic.WebhookInvocation, attrs *admission.VersionedAttributes) (runtime.Object, error) {
	for _, version := range inv.Webhook.GetAdmissionReviewVersions() {
		switch version {
		case admissionv1.SchemeGroupVersion.Version:
			c.uid, c.response = c.h.client.NewUID(), &admissionv1.AdmissionReview{}
			return webhookrequest.CreateV1AdmissionReview(c.uid, attrs, inv), nil
		case admissionv1beta1.SchemeGroupVersion.Version:
			c.uid, c.response = c.h.client.NewUID(), &admissionv1beta1.AdmissionReview{}
			return webhookrequest.CreateV1beta1AdmissionReview(c.uid, attrs, inv), nil
		}
	}
	return nil, fmt.Errorf("webhook does not accept known AdmissionReview versions (v1, v1beta1)")
}

func (c *hookCall) failed(reason error, status *apierrors.StatusError) error {
	return &webhookutil.ErrCallingWebhook{WebhookName: c.name, Reason: reason, Status: status}
}

// finish waits for the answer and checks it.
func (c *hookCall) finish(mutating bool) (*webhookrequest.AdmissionResponse, error) {
	answered, err := c.sent.Answer(c.r.Task, ReviewCodec, c.response)
	c.r.Hear(answered)
	if err != nil {
		var status *apierrors.StatusError
		if !errors.As(err, &status) {
			status = apierrors.NewServiceUnavailable("error calling webhook")
		}
		return nil, c.failed(fmt.Errorf("failed to call webhook: %w", err), status)
	}
	result, err := webhookrequest.VerifyAdmissionResponse(c.uid, mutating, c.response)
	if err != nil {
		return nil, c.failed(fmt.Errorf("received invalid webhook response: %w", err), apierrors.NewServiceUnavailable("error validating webhook response"))
	}
	return result, nil
}

// verdict records the result of a call in the trace.
func (c *hookCall) verdict(stage, verdict, note string, diff []trace.FieldDiff, code int) {
	c.r.Tell(&trace.Stage{
		Request: c.r.Number, Stage: stage, By: c.by, Verdict: verdict, Note: note, Diff: diff, Code: code, Took: c.r.Task.Elapsed() - c.began,
	})
}

// hookError takes apart what a call of a webhook came to: as the API's error, and
// whether the failure policy decides about it.
func hookError(err error) (status error, calling bool) {
	switch e := err.(type) {
	case *webhookutil.ErrCallingWebhook:
		return apierrors.NewInternalError(e), true
	case *webhookutil.ErrWebhookRejection:
		return e.Status, false
	}
	return err, false
}
