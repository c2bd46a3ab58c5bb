package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/kubelet"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/stdio"
)

// kubelets are the servers of the nodes' kubelets, as an API server reaches them.
type kubelets struct{ nodes *nodes }

// kubeletPort is where they listen.
const kubeletPort = ":10250"

// dialTimeout is how long an API server waits for a machine that says nothing
// (net.Dialer in pkg/kubelet/client).
const dialTimeout = 30 * time.Second

// Address is handlers.Kubelets.
func (k kubelets) Address(name string) string {
	n := k.nodes.find(name)
	if n == nil {
		return ""
	}
	return n.net.Address + kubeletPort
}

// dial gives the kubelet of a node.
func (k kubelets) dial(t *sim.Task, name string) (*kubelet.Kubelet, error) {
	n := k.nodes.find(name)
	switch {
	case n == nil || !n.runtime.Powered():
		t.Sleep(dialTimeout)
		return nil, &remote.DialError{TimedOut: true}
	case !n.link.Reach(t, dialTimeout):
		return nil, &remote.DialError{TimedOut: true}
	case !n.kubelet.up() || n.agent == nil:
		return nil, &remote.DialError{Reason: "connection refused"}
	}
	return n.agent, nil
}

// Logs is handlers.Kubelets.
func (k kubelets) Logs(t *sim.Task, node string, c handlers.ContainerName, opts *corev1.PodLogOptions) (request.LogStream, error) {
	kl, err := k.dial(t, node)
	if err != nil {
		return nil, err
	}
	log, err := kl.ContainerLogs(t, kubelet.Container(c), opts)
	if err != nil {
		return nil, err
	}
	return log, nil
}

// Exec is handlers.Kubelets.
func (k kubelets) Exec(t *sim.Task, node string, c handlers.ContainerName, argv []string, streams *stdio.Streams) (int, error) {
	kl, err := k.dial(t, node)
	if err != nil {
		return 0, err
	}
	return kl.Exec(t, kubelet.Container(c), argv, streams)
}

// Attach is handlers.Kubelets.
func (k kubelets) Attach(t *sim.Task, node string, c handlers.ContainerName, streams *stdio.Streams) error {
	kl, err := k.dial(t, node)
	if err != nil {
		return err
	}
	return kl.Attach(t, kubelet.Container(c), streams)
}

// PortForward is handlers.Kubelets.
func (k kubelets) PortForward(t *sim.Task, node, namespace, pod string, port int) (remote.Connection, error) {
	kl, err := k.dial(t, node)
	if err != nil {
		return nil, err
	}
	return kl.PortForward(t, namespace, pod, port)
}
