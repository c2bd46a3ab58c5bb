package cluster

import (
	"fmt"
	"time"

	"kviz/cluster/client"
	"kviz/cluster/kubelet"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// joining is a machine on its way to becoming a node.
type joining struct {
	bootstrap kubelet.Bootstrap
	asks      string // the CertificateSigningRequest; "" before there is one
	failed    error  // why the last try did not go well; nil while one is under way
}

// What kubeadm waits for a kubelet to have joined, and what systemd waits before it
// starts a kubelet again that has ended itself (RestartSec of kubeadm's unit).
const (
	joinLimit    = 40 * time.Second
	kubeletPause = 10 * time.Second
)

// joinPoll is how often is looked whether it has.
const joinPoll = 100 * time.Millisecond

// bootstrap is what a kubelet does that has no certificate: it asks for one, and
// then goes on as the node that the certificate says it is.
func (n *node) bootstrap(t *sim.Task) {
	j := n.join
	t.SetCauses(n.kubelet.p.Began())
	for {
		name, _, err := j.bootstrap.Certificate(t)
		j.asks, j.failed = name, err
		if err == nil {
			break
		}
		// A kubelet ends itself then, and is started again.
		t.SetCauses(t.Emit(trace.Event{Kind: trace.ReconcileAction, Object: client.Nodes.Ref("", n.name), Payload: &trace.Action{
			Controller: "kubelet", Key: n.name, Verb: "wait", Target: client.CertificateSigningRequests.Ref("", name),
			Why: fmt.Sprintf("%s is no node yet: %v; it tries again in %v", n.name, err, kubeletPause),
		}}))
		t.Sleep(kubeletPause)
	}
	n.join = nil
	causes := t.Causes()
	n.kubelet.start(n.kubelet.p)
	if n.proxy != nil {
		n.proxy.begin(causes, n.name+" has become a node")
	}
}

// Join powers on another machine, as somebody does who runs kubeadm join there.
func (ns *nodes) Join(t *sim.Task, token string) (string, error) {
	if ns.servers.first == nil {
		return "", errNoServer
	}
	n := ns.add(t, token)
	for end := t.Elapsed() + joinLimit; n.join != nil; t.Sleep(joinPoll) {
		if t.Elapsed() < end {
			continue
		}
		if n.join.failed != nil {
			return n.name, fmt.Errorf("%s is no node after %v: %w; its kubelet goes on trying every %v", n.name, joinLimit, n.join.failed, kubeletPause)
		}
		return n.name, fmt.Errorf("%s is no node after %v: its certificate signing request waits for somebody to approve it (kubectl get csr, kubectl certificate approve)", n.name, joinLimit)
	}
	return n.name, nil
}
