package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/aggregator"
	"kviz/cluster/kubelet"
	"kviz/cluster/sim"
)

// kubelets are the servers of the nodes' kubelets, as an API server reaches them.
type kubelets struct{ nodes *nodes }

// kubeletPort is where they listen.
const kubeletPort = ":10250"

// dialTimeout is how long an API server waits for a machine that says nothing
// (net.Dialer in pkg/kubelet/client).
const dialTimeout = 30 * time.Second

// Address is apiserver.Kubelets.
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
		return nil, &aggregator.DialError{TimedOut: true}
	case !n.link.Reach(t, dialTimeout):
		return nil, &aggregator.DialError{TimedOut: true}
	case !n.kubelet.up() || n.agent == nil:
		return nil, &aggregator.DialError{Reason: "connection refused"}
	}
	return n.agent, nil
}

// Logs is apiserver.Kubelets.
func (k kubelets) Logs(t *sim.Task, node string, c apiserver.ContainerName, opts *corev1.PodLogOptions) (apiserver.LogStream, error) {
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

// Exec is apiserver.Kubelets.
func (k kubelets) Exec(t *sim.Task, node string, c apiserver.ContainerName, argv []string, stdin func(*sim.Task) string) (apiserver.ExecResult, error) {
	kl, err := k.dial(t, node)
	if err != nil {
		return apiserver.ExecResult{}, err
	}
	res, err := kl.Exec(t, kubelet.Container(c), argv, stdin)
	return apiserver.ExecResult(res), err
}
