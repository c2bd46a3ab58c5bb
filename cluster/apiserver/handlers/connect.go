package handlers

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/apis/core"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// connection is a subresource that is a connection to what is behind the object.
type connection struct {
	verbs   []string
	options func() runtime.Object // of v1; nil of the log, which is got
	// again is asked for the verb create whatever the method was, as a WebSocket's is GET.
	again bool
}

var (
	upgraded = []string{"get", "create"}
	// proxied are GET and HEAD, POST, PUT, PATCH, DELETE and OPTIONS.
	proxied = []string{"get", "create", "update", "patch", "delete", ""}

	connections = map[string]map[string]connection{
		"Pod": {
			"log":         {verbs: []string{"get"}},
			"exec":        {upgraded, func() runtime.Object { return &corev1.PodExecOptions{} }, true},
			"attach":      {upgraded, func() runtime.Object { return &corev1.PodAttachOptions{} }, true},
			"portforward": {upgraded, func() runtime.Object { return &corev1.PodPortForwardOptions{} }, true},
			"proxy":       {proxied, func() runtime.Object { return &corev1.PodProxyOptions{} }, false},
		},
		"Service": {"proxy": {proxied, func() runtime.Object { return &corev1.ServiceProxyOptions{} }, false}},
	}
)

func connectionOf(k *registry.Kind, sub string) connection {
	if k.Custom != nil || k.Group != "" {
		return connection{}
	}
	return connections[k.GVK().Kind][sub]
}

// ConnectVerbs are the verbs of a subresource that is a connection; nil of any other.
func ConnectVerbs(k *registry.Kind, sub string) []string { return connectionOf(k, sub).verbs }

// Connects reports whether a subresource is a connection.
func Connects(k *registry.Kind, sub string) bool { return ConnectVerbs(k, sub) != nil }

// ConnectOptions are the options that a subresource which is a connection takes, to be
// filled from the query; nil where it takes none of this kind.
func ConnectOptions(k *registry.Kind, sub string) runtime.Object {
	if c := connectionOf(k, sub); c.options != nil {
		return c.options()
	}
	return nil
}

// Connect answers a request to reach into a pod, or what is behind a Service, which has
// been allowed (endpoints/handlers/rest.go ConnectResource, pkg/registry/core/pod/rest).
func (h *Handlers) Connect(c *Call) *request.Response {
	if !slices.Contains(ConnectVerbs(c.Kind, c.Req.Subresource), c.Req.Verb) {
		return &request.Response{Err: apierrors.NewMethodNotSupported(c.Kind.GroupResource(), c.Req.Verb)}
	}
	if o := c.Req.Log; o != nil {
		if errs := corevalidation.ValidatePodLogOptions(o, true); len(errs) > 0 {
			return &request.Response{Err: c.Refuse(trace.StageValidation, "", apierrors.NewInvalid(core.Kind("PodLogOptions"), c.Req.Name, errs))}
		}
		return h.toPod(c, c.Req.Name, func(pod *corev1.Pod) *request.Response { return h.connectLog(c, pod) })
	}
	options, err := h.admitConnect(c)
	if err != nil {
		return &request.Response{Err: err}
	}
	if connectionOf(c.Kind, c.Req.Subresource).again {
		if err := h.mayCreateConnection(c); err != nil {
			return &request.Response{Err: err}
		}
	}
	switch o := options.(type) {
	case *corev1.PodExecOptions:
		return h.toPod(c, c.Req.Name, func(pod *corev1.Pod) *request.Response { return h.connectExec(c, pod, o) })
	case *corev1.PodAttachOptions:
		return h.toPod(c, c.Req.Name, func(pod *corev1.Pod) *request.Response { return h.connectAttach(c, pod, o) })
	case *corev1.PodPortForwardOptions:
		return h.toPod(c, c.Req.Name, func(pod *corev1.Pod) *request.Response { return h.connectPorts(c, pod, o) })
	case *corev1.PodProxyOptions:
		return h.proxyPod(c, o)
	case *corev1.ServiceProxyOptions:
		return h.proxyService(c, o)
	}
	return &request.Response{Err: c.Refuse(trace.StageValidation, "", apierrors.NewBadRequest("the connection has no options"))}
}

// toPod continues with the pod of that name.
func (h *Handlers) toPod(c *Call, name string, next func(*corev1.Pod) *request.Response) *request.Response {
	at := c.At()
	at.Name = name
	en, _, err := h.Store.Newest(&c.Scope, at, nil)
	if err == nil && en == nil {
		err = apierrors.NewNotFound(c.Kind.GroupResource(), name)
	}
	if err != nil {
		return &request.Response{Err: c.Refuse(trace.StageStorage, "", err)}
	}
	return next(en.Object.(*corev1.Pod))
}

// admitConnect is admission of a connection: its object are the options, which policies
// and webhooks may change. No built-in plugin asks about connections.
func (h *Handlers) admitConnect(c *Call) (runtime.Object, error) {
	if c.Req.Connect == nil {
		return nil, nil
	}
	a := h.Attributes(c, admission.Connect, c.Req.Connect, nil)
	kinds, _, err := registry.Scheme.ObjectKinds(c.Req.Connect)
	if err != nil {
		return nil, c.Refuse(trace.StageMutatingAdmission, "", apierrors.NewInternalError(err))
	}
	a.SentKind, a.Name = kinds[0], c.Req.Name
	if by, err := h.Admission.AdmitDynamic(&c.Scope, a); err != nil {
		return nil, c.Refuse(trace.StageMutatingAdmission, by, err)
	}
	did, by, err := h.Admission.Validate(&c.Scope, a)
	for _, w := range did.Warnings {
		c.Warn(w)
	}
	if err != nil {
		return nil, c.Refuse(trace.StageValidatingAdmission, by, err)
	}
	return a.Object, nil
}

// mayCreateConnection checks that a user who may get the subresource, as a WebSocket does, may
// create it too (pkg/registry/core/pod/rest ensureAuthorizedForVerb). For a POST that has been
// checked already.
func (h *Handlers) mayCreateConnection(c *Call) error {
	if c.Req.Verb == "create" {
		return nil
	}
	a := authz.AttributesOf(c.Req, c.User)
	a.Verb = "create"
	d := h.Authorizers.Decide(&c.Scope, a)
	if d.Allowed {
		return nil
	}
	err := authz.Forbidden(a, d)
	if d.Err != nil {
		err = request.PlainError(d.Err)
	}
	return c.Refuse(trace.StageAuthorization, d.By, err)
}
