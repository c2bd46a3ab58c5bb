// Package kubelet is the agent on every node: it takes the pods that are bound
// to its node from the API server, makes the container runtime run them, and
// reports what became of them.
//
// It mirrors pkg/kubelet: a sync loop, one pod worker a pod, status manager,
// prober, node status and lease. Containers live in the runtime (package
// runtime), which outlives the kubelet; a restarted kubelet finds them there.
// Start reading at sync.go (syncPod), then worker.go.
package kubelet

import (
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
)

// Config says what node a kubelet is the agent of. Zero values mean what their
// comments say.
type Config struct {
	Node    string // "node-1"
	Address string // InternalIP: "192.168.0.11"
	PodCIDR string // "10.244.1.0/24"

	CPU    string // capacity; "4"
	Memory string // capacity; "8Gi"
	Pods   int64  // capacity; 110

	Labels map[string]string // added to the usual ones
	Taints []corev1.Taint    // --register-with-taints
}

// Kubelet is the kubelet of one node.
type Kubelet struct {
	cfg Config
	p   *sim.Process
	c   client.Interface
	rt  *runtime.Runtime
}

// Start starts a kubelet as tasks of p, whose lane is {kubelet, node}. Killing p
// is a crash of the kubelet; Start with a new process and the same runtime is
// its restart.
func Start(p *sim.Process, c client.Interface, rt *runtime.Runtime, cfg Config) *Kubelet {
	return &Kubelet{cfg: cfg, p: p, c: c, rt: rt}
}
