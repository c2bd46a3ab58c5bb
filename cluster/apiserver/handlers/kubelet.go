package handlers

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/kubernetes/pkg/apis/core"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/stdio"
	"kviz/cluster/trace"
)

// Kubelets are the kubelets of the nodes, as an API server reaches them: the server on
// port 10250 of each. An error of type *[remote.DialError] is that of the connection, any
// other the kubelet's.
type Kubelets interface {
	// Address is where the kubelet of a node listens; "" if there is no such node.
	Address(node string) string
	// Logs opens the log of a container.
	Logs(t *sim.Task, node string, c ContainerName, opts *corev1.PodLogOptions) (request.LogStream, error)
	// Exec runs a command in a container, and gives its exit code.
	Exec(t *sim.Task, node string, c ContainerName, argv []string, streams *stdio.Streams) (code int, err error)
	// Attach joins the streams to those of a container.
	Attach(t *sim.Task, node string, c ContainerName, streams *stdio.Streams) error
	// PortForward connects to a port of a pod.
	PortForward(t *sim.Task, node, namespace, pod string, port int) (remote.Connection, error)
}

// ContainerName names a container.
type ContainerName struct{ Namespace, Pod, Name string }

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
	if dial, ok := err.(*remote.DialError); ok {
		at := h.Kubelets.Address(node)
		return fail(by, apierrors.NewInternalError(fmt.Errorf("Get %q: dial tcp %s: %w", kubeletURL(at, "containerLogs", pod, container, logQuery(opts)), at, dial)))
	}
	if err != nil {
		return fail(by, apierrors.NewBadRequest(err.Error()))
	}
	c.Pass(trace.StageStorage, by, fmt.Sprintf("The pod is on %s: its kubelet opened the log of the container %s.", node, container), nil)
	if opts.Follow {
		log = h.follow(log)
	}
	return &request.Response{Log: log}
}

// connectExec finds the kubelet that is to run the command (subresources.go
// ExecREST).
func (h *Handlers) connectExec(c *Call, pod *corev1.Pod, o *corev1.PodExecOptions) *request.Response {
	container, err := h.host(c, pod, o.Container)
	if err != nil {
		return &request.Response{Err: err}
	}
	q := streamQuery(o.Stdin, o.Stdout, o.Stderr, o.TTY)
	q["command"] = o.Command
	name := ContainerName{pod.Namespace, pod.Name, container}
	return h.session(c, pod, &request.Session{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, TTY: o.TTY}, "exec", container, q,
		func(t *sim.Task, node string, streams *stdio.Streams) (int, error) {
			return h.Kubelets.Exec(t, node, name, o.Command, streams)
		})
}

// connectAttach finds whose container it is (subresources.go AttachREST).
func (h *Handlers) connectAttach(c *Call, pod *corev1.Pod, o *corev1.PodAttachOptions) *request.Response {
	container, err := h.host(c, pod, o.Container)
	if err != nil {
		return &request.Response{Err: err}
	}
	name := ContainerName{pod.Namespace, pod.Name, container}
	return h.session(c, pod, &request.Session{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, TTY: o.TTY}, "attach", container, streamQuery(o.Stdin, o.Stdout, o.Stderr, o.TTY),
		func(t *sim.Task, node string, streams *stdio.Streams) (int, error) {
			return 0, h.Kubelets.Attach(t, node, name, streams)
		})
}

// session is the answer to exec and attach.
func (h *Handlers) session(c *Call, pod *corev1.Pod, s *request.Session, path, container string, q url.Values, run func(*sim.Task, string, *stdio.Streams) (int, error)) *request.Response {
	node, kubelets := pod.Spec.NodeName, h.Kubelets
	c.Pass(trace.StageStorage, "kubelet of "+node, fmt.Sprintf("The pod is on %s: the connection to the container %s goes by its kubelet.", node, container), nil)
	location := kubeletURL(kubelets.Address(node), path, pod, container, q)
	s.Run = func(t *sim.Task, streams *stdio.Streams) (int, error) {
		code, err := run(t, node, streams)
		return code, unreached(err, location, kubelets.Address(node))
	}
	return &request.Response{Code: 101, Session: s}
}

// connectPorts finds the pod's kubelet (subresources.go PortForwardREST).
func (h *Handlers) connectPorts(c *Call, pod *corev1.Pod, o *corev1.PodPortForwardOptions) *request.Response {
	node, kubelets := pod.Spec.NodeName, h.Kubelets
	if node == "" || kubelets == nil {
		return &request.Response{Err: c.Refuse(trace.StageStorage, "", noHost(pod))}
	}
	q := url.Values{}
	if len(o.Ports) > 0 {
		ports := make([]string, len(o.Ports))
		for i, p := range o.Ports {
			ports[i] = strconv.Itoa(int(p))
		}
		q.Set(core.PortHeader, strings.Join(ports, ","))
	}
	c.Pass(trace.StageStorage, "kubelet of "+node, fmt.Sprintf("The pod is on %s: connections to its ports go by its kubelet.", node), nil)
	namespace, name, location := pod.Namespace, pod.Name, kubeletURL(kubelets.Address(node), "portForward", pod, "", q)
	return &request.Response{Code: 101, Ports: &request.Ports{Pod: name, UID: string(pod.UID), Dial: func(t *sim.Task, port int) (remote.Connection, error) {
		to, err := kubelets.PortForward(t, node, namespace, name, port)
		return to, unreached(err, location, kubelets.Address(node))
	}}}
}

// host is the container that is meant, of a pod that is on a node; what is wrong is told.
func (h *Handlers) host(c *Call, pod *corev1.Pod, name string) (container string, err error) {
	container, err = containerOf(pod, name)
	if err == nil && (pod.Spec.NodeName == "" || h.Kubelets == nil) {
		err = noHost(pod)
	}
	if err != nil {
		return "", c.Refuse(trace.StageStorage, "", err)
	}
	return container, nil
}

func noHost(pod *corev1.Pod) error {
	return apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", pod.Name))
}

// unreached is an error in the words of who could not connect to a kubelet; any other is
// the kubelet's own.
func unreached(err error, location, at string) error {
	if dial, ok := err.(*remote.DialError); ok {
		return fmt.Errorf("error sending request: Post %q: dial tcp %s: %w", location, at, dial)
	}
	return err
}

// kubeletURL is a path of a kubelet's server.
func kubeletURL(at, path string, pod *corev1.Pod, container string, q url.Values) string {
	u := url.URL{Scheme: "https", Host: at, Path: strings.TrimSuffix(fmt.Sprintf("/%s/%s/%s/%s", path, pod.Namespace, pod.Name, container), "/"), RawQuery: q.Encode()}
	return u.String()
}

// streamQuery is pkg/registry/core/pod streamParams.
func streamQuery(stdin, stdout, stderr, tty bool) url.Values {
	q := url.Values{}
	for name, on := range map[string]bool{core.ExecStdinParam: stdin, core.ExecStdoutParam: stdout, core.ExecStderrParam: stderr, core.ExecTTYParam: tty} {
		if on {
			q.Set(name, "1")
		}
	}
	return q
}

// logQuery is that of pkg/registry/core/pod LogLocation.
func logQuery(o *corev1.PodLogOptions) url.Values {
	q := url.Values{}
	for name, on := range map[string]bool{"follow": o.Follow, "previous": o.Previous, "timestamps": o.Timestamps} {
		if on {
			q.Set(name, "true")
		}
	}
	for name, n := range map[string]*int64{"sinceSeconds": o.SinceSeconds, "tailLines": o.TailLines, "limitBytes": o.LimitBytes} {
		if n != nil {
			q.Set(name, strconv.FormatInt(*n, 10))
		}
	}
	if o.SinceTime != nil {
		q.Set("sinceTime", o.SinceTime.Format(time.RFC3339))
	}
	if o.Stream != nil {
		q.Set("stream", *o.Stream)
	}
	return q
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
