// Package kubelet is the agent on every node: it takes the pods that are bound to its
// node from the API server, makes the container runtime run them, and reports their
// status.
//
// It mirrors pkg/kubelet: a sync loop fed by the API server, the pod lifecycle
// event generator (PLEG), probes and timers; one pod worker a pod; a status
// manager; a prober; node status and lease. Containers live in the runtime
// (package runtime), which outlives the kubelet; a restarted kubelet finds them
// there.
//
// Simplified: no cgroups, eviction, static pods, device plugins, or volume plugins other than that of CSI; a pod's token is
// requested when it is first read (token.go). Start reading at sync.go (syncPod), then
// worker.go; DESIGN.md has the whole picture.
package kubelet

import (
	"math/rand/v2"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/informer"
	"kviz/cluster/record"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Nodes, How: simulated.Absent,
	What: "cgroups, eviction, static pods, device plugins, and volume plugins other than that of CSI",
})

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Nodes, How: simulated.Simplified,
	What: "a pod's service account token is requested when it is first read",
})

// Version is the kubelet's version, as Node.status.nodeInfo shows it.
const Version = "v1.37.1"

// Config says what node a kubelet is the agent of. Zero values mean what their
// comments say.
type Config struct {
	Node    string // "node-1"
	Address string // InternalIP: "192.168.0.11"
	PodCIDR string // "10.244.1.0/24"; "" while its Node says none
	// PodCIDRGiven configures the network plugin, once the Node says which addresses its pods
	// have; nil: nothing does.
	PodCIDRGiven func(cidr string)

	CPU    string // capacity; "4"
	Memory string // capacity; "8Gi"
	Pods   int64  // capacity; 110

	Labels map[string]string // added to the usual ones
	Taints []corev1.Taint    // --register-with-taints

	// External leaves the node's addresses, and what else a cloud knows of the machine, to
	// cloud-controller-manager (--cloud-provider=external).
	External bool

	// Storage is the storage driver on the node; nil: there is none.
	Storage NodeService

	// Quiet leaves out the Events that only say that all is well (Pulled,
	// Created, Started …): for nodes by the thousand.
	Quiet bool
}

// What a machine has that a configuration says nothing of.
const (
	MachineCPU    = "4"
	MachineMemory = "8Gi"
)

// How fast a kubelet's clients may send (pkg/kubelet/apis/config/v1beta1 defaults.go:
// kubeAPIQPS, kubeAPIBurst; eventRecordQPS, eventBurst).
var (
	apiLimits   = throttle.Limits{QPS: 50, Burst: 100}
	eventLimits = throttle.Limits{QPS: 50, Burst: 100}
)

// Kubelet is the kubelet of one node.
type Kubelet struct {
	cfg  Config
	p    *sim.Process
	k    *sim.Kernel
	c    client.Interface
	beat client.Interface // for heartbeats: without a rate limit
	rt   *runtime.Runtime
	pods *informer.Informer
	rec  *record.Recorder
	rand *rand.Rand

	started  time.Duration // virtual
	workers  map[string]*worker
	crash    *backoff // restarts, by pod and container
	pull     *backoff // image pulls, by pod and image
	pullErr  map[string]string
	relist   relist
	statuses statusQueue
	node     nodeState
	configs  map[string]*watched // by resource, namespace and name
	volumes  volumeManager
	trust    trust

	certificates podCertificates
}

// Start starts a kubelet as tasks of p, whose lane is {kubelet, node}. Killing p
// is a crash of the kubelet; Start with a new process and the same runtime is
// its restart. Its Events do not wait behind other requests, and its heartbeats wait for
// nothing, so that a busy node is not taken for a dead one (cmd/kubelet/app/server.go run).
func Start(p *sim.Process, c client.Interface, rt *runtime.Runtime, cfg Config) *Kubelet {
	cfg.setDefaults()
	kl := &Kubelet{
		cfg: cfg, p: p, k: p.Kernel(), c: throttle.New(p, p.Lane, c, "kubelet", apiLimits), beat: c, rt: rt,
		rand:    p.Kernel().Rand("kubelet/" + cfg.Node),
		started: p.Kernel().Elapsed(),
		workers: map[string]*worker{},
		configs: map[string]*watched{},
		crash:   newBackoff(crashBase, crashMax),
		pull:    newBackoff(pullBase, pullMax),
		pullErr: map[string]string{},
	}
	kl.rec = record.New(p, throttle.New(p, p.Lane, c, "events", eventLimits), "kubelet")
	kl.relist.init(kl)
	kl.node.init(kl)
	kl.volumes.init(kl)
	kl.trust.init(kl)
	kl.certificates.init(kl)
	rt.OnChange(kl.runtimeChanged)
	rt.OnRead(kl.fill)
	p.Go("node", kl.registerNode)

	kl.pods = informer.New(p, p.Lane, kl.c, client.Pods, "", informer.Options{FieldSelector: "spec.nodeName=" + cfg.Node, Crashed: func(t *sim.Task, pod trace.Ref, broken *sim.PanicError) {
		kl.rec.EventRef(t, pod, corev1.EventTypeWarning, "KubeletPanic", "%s", broken.Note("kubelet", "kubelet"))
	}})
	kl.pods.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj apiruntime.Object, why trace.ID) { kl.podUpdated(obj.(*corev1.Pod), why) },
		Update: func(t *sim.Task, _, obj apiruntime.Object, why trace.ID) { kl.podUpdated(obj.(*corev1.Pod), why) },
		Delete: func(t *sim.Task, obj apiruntime.Object, why trace.ID) { kl.podRemoved(obj.(*corev1.Pod), why) },
	})
	kl.pods.Start()
	p.Go("orphans", kl.killOrphans)
	return kl
}

func (c *Config) setDefaults() {
	if c.CPU == "" {
		c.CPU = MachineCPU
	}
	if c.Memory == "" {
		c.Memory = MachineMemory
	}
	if c.Pods == 0 {
		c.Pods = 110
	}
}

// Node is the name of the kubelet's node.
func (kl *Kubelet) Node() string { return kl.cfg.Node }

// podUpdated is a pod ADDED or MODIFIED on this node.
func (kl *Kubelet) podUpdated(pod *corev1.Pod, why trace.ID) {
	w := kl.workers[string(pod.UID)]
	if w == nil {
		w = newWorker(kl, pod)
		kl.workers[string(pod.UID)] = w
		kl.certificates.track(pod, why)
	}
	w.update(pod, why)
}

// podRemoved is a pod DELETED from the API server: the end after a graceful
// termination, or a force delete.
func (kl *Kubelet) podRemoved(pod *corev1.Pod, why trace.ID) {
	kl.certificates.forget(string(pod.UID))
	if w := kl.workers[string(pod.UID)]; w != nil {
		w.removed(pod, why)
	}
}

// housekeepingPeriod is kubelet.go's.
const housekeepingPeriod = 2 * time.Second

// killOrphans ends what the runtime runs for pods the API server does not have,
// once the first list is in and the runtime answers (kubelet_pods.go
// HandlePodCleanups). Later ones cannot come about: a kubelet that runs knows all its pods.
func (kl *Kubelet) killOrphans(t *sim.Task) {
	kl.pods.WaitForSync(t)
	running, err := kl.rt.Pods()
	if err != nil {
		kl.after(housekeepingPeriod, "orphans", kl.killOrphans)
		return
	}
	for _, s := range running {
		if kl.workers[s.PodUID] != nil {
			continue
		}
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name, pod.UID = s.Namespace, s.Name, apiUID(s.PodUID)
		pod.Spec.NodeName = kl.cfg.Node
		w := newWorker(kl, pod)
		kl.workers[s.PodUID] = w
		w.removed(pod, kl.p.Began())
	}
	kl.volumes.left(t)
}

// after runs fn as a task of the kubelet when d has passed, if the kubelet still
// lives. A timer and a short task cost less than a task that sleeps.
func (kl *Kubelet) after(d time.Duration, name string, fn func(*sim.Task)) *sim.Timer {
	return kl.k.After(d, func() {
		if kl.p.Alive() {
			kl.p.Go(name, fn)
		}
	})
}

// contain runs what the kubelet does about one pod, and gives back a panic in it: the pod is named in a
// Warning, and the other pods go on (pod_workers.go managePodLoop, whose callers have runtime.HandleCrash).
func (kl *Kubelet) contain(t *sim.Task, pod *corev1.Pod, doing string, fn func()) *sim.PanicError {
	broken := t.HandleCrashOn(client.RefOf(pod), doing, fn)
	if broken != nil {
		kl.event(t, pod, corev1.EventTypeWarning, "KubeletPanic", "%s", broken.Note("kubelet", "kubelet"))
	}
	return broken
}

// jitter is d and up to factor of it more (apimachinery wait.Jitter).
func (kl *Kubelet) jitter(d time.Duration, factor float64) time.Duration {
	return d + time.Duration(kl.rand.Float64()*factor*float64(d))
}

func (kl *Kubelet) sortedWorkers() []*worker {
	ws := make([]*worker, 0, len(kl.workers))
	for _, w := range kl.workers {
		ws = append(ws, w)
	}
	sort.Slice(ws, func(i, j int) bool { return ws[i].key()+ws[i].uid < ws[j].key()+ws[j].uid })
	return ws
}

// event records a Kubernetes Event about a pod.
func (kl *Kubelet) event(t *sim.Task, pod *corev1.Pod, eventtype, reason, format string, args ...any) {
	kl.eventAt(t, pod, "", eventtype, reason, format, args...)
}

// containerEvent records one about a container of the pod (kuberuntime
// recordContainerEvent).
func (kl *Kubelet) containerEvent(t *sim.Task, pod *corev1.Pod, container, eventtype, reason, format string, args ...any) {
	kl.eventAt(t, pod, fieldPath(pod, container), eventtype, reason, format, args...)
}

func (kl *Kubelet) eventAt(t *sim.Task, pod *corev1.Pod, path, eventtype, reason, format string, args ...any) {
	if kl.cfg.Quiet && eventtype == corev1.EventTypeNormal {
		return
	}
	kl.rec.EventAt(t, pod, path, eventtype, reason, format, args...)
}

// fieldPath is where a container stands in its pod (pkg/kubelet/container ref.go).
func fieldPath(pod *corev1.Pod, container string) string {
	for _, c := range pod.Spec.InitContainers {
		if c.Name == container {
			return "spec.initContainers{" + container + "}"
		}
	}
	for _, c := range pod.Spec.EphemeralContainers {
		if c.Name == container {
			return "spec.ephemeralContainers{" + container + "}"
		}
	}
	return "spec.containers{" + container + "}"
}
