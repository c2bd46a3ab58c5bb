package handlers

import (
	"fmt"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/kubernetes/pkg/apis/core"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"

	"kviz/cluster/apiserver/aggregator"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Kubelets are the kubelets of the nodes, as an API server reaches them: the server on
// port 10250 of each.
type Kubelets interface {
	// Address is where the kubelet of a node listens; "" if there is no such node.
	Address(node string) string
	// Logs opens the log of a container. An error of type *[aggregator.DialError] is that of the
	// connection, any other the kubelet's.
	Logs(t *sim.Task, node string, c ContainerName, opts *corev1.PodLogOptions) (request.LogStream, error)
	// Exec runs a command in a container. Errors are as those of Logs.
	Exec(t *sim.Task, node string, c ContainerName, argv []string, stdin func(*sim.Task) string) (request.ExecResult, error)
}

// ContainerName names a container.
type ContainerName struct{ Namespace, Pod, Name string }

// connects are the pod subresources that are connections to its kubelet.
var connects = map[string]bool{"log": true, "exec": true, "attach": true, "portforward": true, "proxy": true}

// Connects reports whether a pod's subresource is a connection to its kubelet.
func Connects(sub string) bool { return connects[sub] }

// ConnectVerbs are the verbs of a pod's subresource that leads to its kubelet; nil for
// those that are not served.
func ConnectVerbs(sub string) []string {
	switch sub {
	case "log":
		return []string{"get"}
	case "exec":
		return []string{"get", "create"}
	}
	return nil
}

// Connect answers a request to reach into a pod, which has been allowed, from the pod's
// kubelet (pkg/registry/core/pod/rest).
func (h *Handlers) Connect(c *Call) *request.Response {
	fail := func(err error) *request.Response {
		return &request.Response{Err: c.Refuse(trace.StageStorage, "", err)}
	}
	if c.Req.Subresource == "exec" {
		if err := h.mayCreateExec(c); err != nil {
			return &request.Response{Err: err}
		}
	}
	if o := c.Req.Log; o != nil {
		if errs := corevalidation.ValidatePodLogOptions(o, true); len(errs) > 0 {
			return &request.Response{Err: c.Refuse(trace.StageValidation, "", apierrors.NewInvalid(core.Kind("PodLogOptions"), c.Req.Name, errs))}
		}
	}
	en, _, err := h.Store.Newest(&c.Scope, c.At(), nil)
	if err != nil {
		return fail(err)
	}
	if en == nil {
		return fail(apierrors.NewNotFound(c.Kind.GroupResource(), c.Req.Name))
	}
	pod := en.Object.(*corev1.Pod)
	switch {
	case c.Req.Log != nil:
		return h.connectLog(c, pod)
	case c.Req.Exec != nil:
		return h.connectExec(c, pod)
	}
	c.Pass(trace.StageStorage, "", "The pod exists; the API server connects to its kubelet.", nil)
	return request.Own(pod)
}

// mayCreateExec asks whether who may get the subresource, as a WebSocket does, may create it
// too (pkg/registry/core/pod/rest ensureAuthorizedForVerb). Who sent a POST was asked that.
func (h *Handlers) mayCreateExec(c *Call) error {
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

// connectLog opens a container's log (log.go LogREST).
func (h *Handlers) connectLog(c *Call, pod *corev1.Pod) *request.Response {
	fail := func(by string, err error) *request.Response {
		return &request.Response{Err: c.Refuse(trace.StageStorage, by, err)}
	}
	opts := logOptions(c.Req.Log)
	container, err := containerOf(pod, opts.Container)
	if err != nil {
		return fail("", err)
	}
	node := pod.Spec.NodeName
	if node == "" || h.Kubelets == nil { // upstream answers what it has of the log: nothing
		c.Pass(trace.StageStorage, "", "The pod is on no node yet: there is no kubelet to ask, and the answer is empty.", nil)
		return &request.Response{Log: noLog{}}
	}
	by := "kubelet of " + node
	log, err := h.Kubelets.Logs(c.Task, node, ContainerName{pod.Namespace, pod.Name, container}, opts)
	if dial, ok := err.(*aggregator.DialError); ok {
		at := h.Kubelets.Address(node)
		return fail(by, apierrors.NewInternalError(fmt.Errorf("Get %q: dial tcp %s: %w", h.containerURL(c, at, "containerLogs", pod, container), at, dial)))
	}
	if err != nil {
		return fail(by, apierrors.NewBadRequest(err.Error()))
	}
	c.Pass(trace.StageStorage, by, fmt.Sprintf("The pod is on %s: its kubelet opened the log of the container %s.", node, container), nil)
	if opts.Follow {
		log = h.Hold(log)
	}
	return &request.Response{Log: log}
}

// connectExec finds who is to run the command (subresources.go ExecREST).
func (h *Handlers) connectExec(c *Call, pod *corev1.Pod) *request.Response {
	fail := func(err error) *request.Response {
		return &request.Response{Err: c.Refuse(trace.StageStorage, "", err)}
	}
	o := c.Req.Exec
	container, err := containerOf(pod, o.Container)
	if err != nil {
		return fail(err)
	}
	node := pod.Spec.NodeName
	if node == "" || h.Kubelets == nil {
		return fail(apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", pod.Name)))
	}
	q := url.Values{"command": o.Command}
	for name, on := range map[string]bool{"input": o.Stdin, "output": o.Stdout, "error": o.Stderr, "tty": o.TTY} {
		if on {
			q.Set(name, "1")
		}
	}
	c.Pass(trace.StageStorage, "kubelet of "+node, fmt.Sprintf("The pod is on %s: the connection to the container %s goes by its kubelet.", node, container), nil)
	at := h.Kubelets.Address(node)
	kubelets, name, location := h.Kubelets, ContainerName{pod.Namespace, pod.Name, container}, h.containerURL(c, at, "exec", pod, container)+"?"+q.Encode()
	return &request.Response{Code: 101, Session: &request.Session{Options: o, Run: func(t *sim.Task, argv []string, stdin func(*sim.Task) string) (request.ExecResult, error) {
		res, err := kubelets.Exec(t, node, name, argv, stdin)
		if dial, ok := err.(*aggregator.DialError); ok {
			err = fmt.Errorf("error sending request: Post %q: dial tcp %s: %w", location, kubelets.Address(node), dial)
		}
		return res, err
	}}}
}

// containerURL is a path of a kubelet's server.
func (h *Handlers) containerURL(c *Call, at, path string, pod *corev1.Pod, container string) string {
	return fmt.Sprintf("https://%s/%s/%s/%s/%s", at, path, pod.Namespace, pod.Name, container)
}

// containerOf is the container that is meant; a pod's only one need not be named
// (strategy.go validateContainer).
func containerOf(pod *corev1.Pod, name string) (string, error) {
	var names []string
	for _, c := range pod.Spec.InitContainers {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Name)
	}
	switch {
	case name == "" && len(pod.Spec.Containers) == 1:
		return pod.Spec.Containers[0].Name, nil
	case name == "":
		return "", apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: %s", pod.Name, names))
	case !slices.Contains(names, name):
		return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
	}
	return name, nil
}

// logOptions are the options as the kubelet is told them.
func logOptions(in *core.PodLogOptions) *corev1.PodLogOptions {
	return &corev1.PodLogOptions{
		Container: in.Container, Follow: in.Follow, Previous: in.Previous, SinceSeconds: in.SinceSeconds, SinceTime: in.SinceTime,
		Timestamps: in.Timestamps, TailLines: in.TailLines, LimitBytes: in.LimitBytes, Stream: in.Stream,
	}
}

// noLog is the log of a pod that is on no node.
type noLog struct{}

func (noLog) Next(*sim.Task) ([]byte, bool) { return nil, false }
func (noLog) Close()                        {}
