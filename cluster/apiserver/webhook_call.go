package apiserver

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
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

	"kviz/cluster/apiserver/object"
	"kviz/cluster/trace"
	"kviz/cluster/webhook"
)

// reviewCodec writes and reads AdmissionReviews as upstream's client does
// (apiserver pkg/util/webhook/client.go NewClientManager).
var reviewCodec = func() runtime.Codec {
	s := runtime.NewScheme()
	utilruntime.Must(admissionv1beta1.AddToScheme(s))
	utilruntime.Must(admissionv1.AddToScheme(s))
	return serializer.NewCodecFactory(s).LegacyCodec(admissionv1beta1.SchemeGroupVersion, admissionv1.SchemeGroupVersion)
}()

// hookCall is one call of a webhook on its way.
type hookCall struct {
	c        *call
	name     string // of the webhook: sidecar.kviz.dev
	by       string // for the trace
	uid      types.UID
	response runtime.Object
	began    time.Duration
	sent     *posted
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
func (c *call) begin(spec *hookSpec, author string, inv *generic.WebhookInvocation, attrs *admission.VersionedAttributes) (*hookCall, error) {
	h := &hookCall{c: c, name: spec.name, by: author + " " + spec.config + "/" + spec.name, began: c.Task.Elapsed()}
	if attrs.IsDryRun() {
		switch e := spec.effects; {
		case e == nil:
			return h, h.failed(errors.New("Webhook SideEffects is nil"), apierrors.NewBadRequest("Webhook SideEffects is nil")) //nolint:staticcheck // upstream's words
		case *e != registrationv1.SideEffectClassNone && *e != registrationv1.SideEffectClassNoneOnDryRun:
			return h, webhookerrors.NewDryRunUnsupportedErr(spec.name)
		}
	}
	request, err := h.review(inv, attrs)
	if err != nil {
		return h, h.failed(fmt.Errorf("could not create admission objects: %w", err), apierrors.NewBadRequest("error creating admission objects"))
	}
	body, err := runtime.Encode(reviewCodec, request)
	if err != nil {
		return h, h.failed(fmt.Errorf("failed to call webhook: %w", err), apierrors.NewServiceUnavailable("error calling webhook"))
	}
	timeout := 10 * time.Second
	if spec.timeout != nil {
		timeout = time.Duration(*spec.timeout) * time.Second
	}
	h.sent = c.s.hooks.post(c.Task, c.Last, &spec.client, timeout, body)
	return h, nil
}

// review makes the AdmissionReview of the first version that the webhook knows
// (webhook/request/admissionreview.go CreateAdmissionObjects, with a UID from the
// seed).
func (h *hookCall) review(inv *generic.WebhookInvocation, attrs *admission.VersionedAttributes) (runtime.Object, error) {
	for _, version := range inv.Webhook.GetAdmissionReviewVersions() {
		switch version {
		case admissionv1.SchemeGroupVersion.Version:
			h.uid, h.response = object.NewUID(h.c.s.hooks.rand), &admissionv1.AdmissionReview{}
			return webhookrequest.CreateV1AdmissionReview(h.uid, attrs, inv), nil
		case admissionv1beta1.SchemeGroupVersion.Version:
			h.uid, h.response = object.NewUID(h.c.s.hooks.rand), &admissionv1beta1.AdmissionReview{}
			return webhookrequest.CreateV1beta1AdmissionReview(h.uid, attrs, inv), nil
		}
	}
	return nil, fmt.Errorf("webhook does not accept known AdmissionReview versions (v1, v1beta1)")
}

func (h *hookCall) failed(reason error, status *apierrors.StatusError) error {
	return &webhookutil.ErrCallingWebhook{WebhookName: h.name, Reason: reason, Status: status}
}

// finish waits for the answer and checks it.
func (h *hookCall) finish(mutating bool) (*webhookrequest.AdmissionResponse, error) {
	answered, err := h.sent.answer(h.c.Task, reviewCodec, h.response)
	if !answered.IsZero() {
		h.c.Last = answered
	}
	if err != nil {
		var status *apierrors.StatusError
		if !errors.As(err, &status) {
			status = apierrors.NewServiceUnavailable("error calling webhook")
		}
		return nil, h.failed(fmt.Errorf("failed to call webhook: %w", err), status)
	}
	result, err := webhookrequest.VerifyAdmissionResponse(h.uid, mutating, h.response)
	if err != nil {
		return nil, h.failed(fmt.Errorf("received invalid webhook response: %w", err), apierrors.NewServiceUnavailable("error validating webhook response"))
	}
	return result, nil
}

// verdict tells the trace what came of a call.
func (h *hookCall) verdict(stage, verdict, note string, diff []trace.FieldDiff, code int) {
	h.c.Tell(&trace.Stage{
		Request: h.c.Number, Stage: stage, By: h.by, Verdict: verdict, Note: note, Diff: diff, Code: code, Took: h.c.Task.Elapsed() - h.began,
	})
}

// resolve finds the server behind a webhook's client configuration, and the URL's
// beginning and path.
func (h *hooks) resolve(cfg *registrationv1.WebhookClientConfig) (to hookServer, host, path string, err error) {
	if cfg.URL != nil {
		u, err := url.Parse(*cfg.URL)
		if err != nil {
			return to, "", "", fmt.Errorf("Unparsable URL: %v", err) //nolint:staticcheck // upstream's words
		}
		host, path = u.Scheme+"://"+u.Host, u.Path
		if h.s.cfg.Webhooks != nil {
			to.name = h.s.cfg.Webhooks.Host(u.Hostname())
		}
		if to.name == "" {
			return to, host, path, fmt.Errorf("dial tcp: lookup %s: no such host", u.Hostname())
		}
		port := u.Port()
		if port == "" {
			port = "443"
		}
		to.address = net.JoinHostPort(webhook.Address, port)
		return to, host, path, nil
	}
	svc, port := cfg.Service, int32(443)
	if svc.Port != nil {
		port = *svc.Port
	}
	if svc.Path != nil {
		path = *svc.Path
	}
	host = "https://" + net.JoinHostPort(svc.Name+"."+svc.Namespace+".svc", strconv.Itoa(int(port)))
	to, err = h.resolveService(svc.Namespace, svc.Name, port)
	return to, host, path, err
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
