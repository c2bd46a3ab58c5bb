// Package runtime is the container runtime of a node: what containerd is to a
// real kubelet, at the other end of the CRI, with the CNI plugin it calls.
//
// The calls, their order, their errors and their state are the CRI's. Below
// that boundary containers are simulated: a container is a [Behaviour] that
// listens on ports, answers, crashes or exits after some virtual time, chosen
// by image, command and annotation (behaviour.go has the catalogue), or a small
// shell script that really runs (script.go). A runtime belongs to a node, not
// to a kubelet: it goes on when its kubelet dies, and containers go on when the
// runtime itself is stopped.
//
// Every call is an event in the runtime's lane. Start reading at sandbox.go
// (RunPodSandbox) and container.go.
package runtime

import (
	"math/rand/v2"
	"time"

	"kviz/cluster/folder"
	"kviz/cluster/registry"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Containers, How: simulated.Simulated,
	What: "a container is a behaviour that listens, answers, crashes or exits after some virtual time, chosen by image, command or the annotation kviz.dev/behaviour, or a small shell script that runs",
	Seen: "kubectl exec: \"kviz does not simulate\" a program that the image has; as a probe or a hook such a program is assumed to succeed",
})

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Containers, How: simulated.Simulated,
	What: "what containers use is a share of what they request, which depends on their name and the time, unless kviz load sets it",
	Seen: "kubectl top",
})

// Config says what node a runtime is on.
type Config struct {
	Node    string // "node-1"
	PodCIDR string // addresses CNI hands out: "10.244.1.0/24"
	// What the machine has: nanocores and bytes; 0 is no end of it.
	CPU, Memory int64
	// Images are in the node's store from the start, as on a node whose image
	// was built with them.
	Images []string
}

// Version is the runtime's name and version, as in Node.status.nodeInfo.
const Version = "containerd://2.1.4"

// Runtime is the container runtime of one node. Calls with a task take virtual
// time; those without look or break things at once.
type Runtime struct {
	cfg  Config
	k    *sim.Kernel
	reg  *registry.Registry
	lane trace.Lane
	rand *rand.Rand

	off  bool    // the node has no power
	down bool    // the runtime's socket does not answer
	slow float64 // factor on every call

	cni     *cni
	images  map[string]*storedImage // by normalized name
	pulling map[string]*pull

	sandboxes  map[string]*Sandbox   // by id
	containers map[string]*Container // by id
	pods       map[string]*podRecord // by pod UID
	byIP       map[string]*Sandbox
	volumes    map[string]map[string]map[string]string // files, by pod UID, volume and path
	empty      map[string]map[string]*folder.Folder    // volumes that containers write to, by pod UID and name
	host       *folder.Folder                          // the node's own disk, as far as pods have written to it
	made       map[string]bool                         // folders that pods have made on it

	changed func(podUID string, cause trace.ID)
	loads   Loads
	dialer  Dialer
	api     API

	programs map[string]StartProgram                                  // by repository of the image
	fill     func(t *sim.Task, podUID string, f File) (string, error) // see OnRead
}

// podRecord is what the runtime holds of one pod, oldest first.
type podRecord struct {
	sandboxes  []*Sandbox
	containers []*Container
}

// New makes the runtime of a node, running. Its network becomes ready a moment
// later, as on a node that boots: CNI's configuration is written by a DaemonSet.
func New(k *sim.Kernel, reg *registry.Registry, cfg Config) *Runtime {
	r := &Runtime{
		cfg: cfg, k: k, reg: reg, slow: 1,
		lane:       trace.Lane{Component: trace.CompRuntime, Instance: cfg.Node},
		rand:       k.Rand("runtime/" + cfg.Node),
		images:     map[string]*storedImage{},
		pulling:    map[string]*pull{},
		sandboxes:  map[string]*Sandbox{},
		containers: map[string]*Container{},
		pods:       map[string]*podRecord{},
		byIP:       map[string]*Sandbox{},
		volumes:    map[string]map[string]map[string]string{},
		empty:      map[string]map[string]*folder.Folder{},
		host:       folder.New(),
		made:       map[string]bool{},
	}
	r.cni = newCNI(cfg.PodCIDR)
	r.preload()
	k.After(cniBoot+time.Duration(r.rand.Int64N(int64(cniBoot))), func() { r.SetNetworkReady(true) })
	return r
}

// cniBoot is the least time after boot at which the network plugin is there.
const cniBoot = 300 * time.Millisecond

const pauseImage = "registry.k8s.io/pause:3.10.1"

// Node is the name of the runtime's node.
func (r *Runtime) Node() string { return r.cfg.Node }

// Now is the time on the node.
func (r *Runtime) Now() time.Time { return r.k.Now() }

// OnChange sets the function that is called when a pod's containers change: the kubelet's pod
// lifecycle event generator. A new kubelet replaces the old one. cause is the
// event of the change.
func (r *Runtime) OnChange(fn func(podUID string, cause trace.ID)) { r.changed = fn }

func (r *Runtime) notify(podUID string, cause trace.ID) {
	if r.changed != nil {
		r.changed(podUID, cause)
	}
}

// Stop stops the runtime, not the containers: calls fail until [Runtime.Start].
func (r *Runtime) Stop() { r.down = true }

// Start starts the runtime again.
func (r *Runtime) Start() { r.down = false }

// Running reports whether the runtime answers.
func (r *Runtime) Running() bool { return !r.down }

// SetSlow makes every call take factor times as long; 1 is normal.
func (r *Runtime) SetSlow(factor float64) { r.slow = max(factor, 0) }

// SetNetworkReady takes CNI's configuration away or puts it there: without it
// no sandbox gets a network and the node is not ready.
func (r *Runtime) SetNetworkReady(ok bool) {
	r.cni.ready = ok
	r.notify("", trace.ID{})
}

// NetworkReady reports whether CNI is configured.
func (r *Runtime) NetworkReady() bool { return r.cni.ready && r.cni.prefix.IsValid() }

// SetPodCIDR configures the network plugin with the addresses that it hands out, as a plugin
// does that reads the Node's podCIDR (flannel's subnet.env, containerd's conf_template).
func (r *Runtime) SetPodCIDR(podCIDR string) {
	ready := r.cni.ready
	r.cfg.PodCIDR, r.cni = podCIDR, newCNI(podCIDR)
	r.cni.ready = ready
}

// PowerOff is the node losing power: all containers and sandboxes are dead
// when it comes back, and nobody is notified. The image store stays.
func (r *Runtime) PowerOff() {
	r.down, r.off = true, true
	for _, s := range r.sortedSandboxes() {
		for _, c := range r.pods[s.PodUID].containers {
			if c.State == Running {
				r.end(c, 255, "Unknown", "", nil, true)
			}
		}
		r.stopSandbox(s)
	}
}

// Wipe has the node's disk be an empty one when the node, which has no power, is powered on again:
// nothing is left of its pods and the images that it pulled.
func (r *Runtime) Wipe() {
	clear(r.sandboxes)
	clear(r.containers)
	clear(r.pods)
	clear(r.byIP)
	clear(r.volumes)
	clear(r.empty)
	clear(r.images)
	r.host = folder.New()
	r.preload()
}

// preload puts the images into the store that the node's own image was built with.
func (r *Runtime) preload() {
	for _, ref := range append([]string{pauseImage}, r.cfg.Images...) {
		if img, err := r.reg.Resolve(ref); err == nil {
			r.images[img.Name] = &storedImage{Image: img}
		}
	}
}

// PowerOn starts the node again.
func (r *Runtime) PowerOn() { r.down, r.off = false, false }

// Powered reports whether the node has power: without it no packet arrives.
func (r *Runtime) Powered() bool { return !r.off }

// Status is the CRI's Status call.
type Status struct {
	NetworkReady   bool
	NetworkReason  string
	NetworkMessage string
}

// Status is the CRI call Status. It takes no virtual time: the kubelet asks
// every few seconds.
func (r *Runtime) Status() (Status, error) {
	if r.down {
		return Status{}, r.unavailable()
	}
	if !r.NetworkReady() {
		return Status{NetworkReason: "NetworkPluginNotReady", NetworkMessage: "Network plugin returns error: cni plugin not initialized"}, nil
	}
	return Status{NetworkReady: true}, nil
}

func (r *Runtime) unavailable() error {
	return &Error{Code: "Unavailable", Desc: `connection error: desc = "transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused"`}
}

// Error is a CRI error as gRPC prints it.
type Error struct {
	Code string
	Desc string
}

// Error is gRPC's text.
func (e *Error) Error() string { return "rpc error: code = " + e.Code + " desc = " + e.Desc }

// call is one CRI call: it takes base time (varied by the seed and the faults),
// runs do, and emits the event. do gives the result's text. What the caller does
// next follows from the answer: the call becomes the task's cause.
func (r *Runtime) call(t *sim.Task, e trace.RuntimeCall, base time.Duration, do func() (string, error)) (trace.ID, error) {
	began := t.Elapsed()
	e.Node = r.cfg.Node
	var err error
	if r.down {
		err = r.unavailable()
	} else {
		if base > 0 {
			r.take(t, base)
		}
		if r.down {
			err = r.unavailable()
		} else {
			e.Result, err = do()
		}
	}
	if err != nil {
		e.Error = err.Error()
	}
	e.Took = t.Elapsed() - began
	id := t.Emit(trace.Event{Kind: trace.CRICall, Lane: r.lane, Object: podRef(e.Pod), Payload: &e})
	t.SetCauses(id)
	return id, err
}

// take lets about base of virtual time pass.
func (r *Runtime) take(t *sim.Task, base time.Duration) {
	t.Sleep(time.Duration(float64(base) * (0.7 + 0.6*r.rand.Float64()) * r.slow))
}

// podRef names a pod by its "namespace/name".
func podRef(key string) trace.Ref {
	for i := range key {
		if key[i] == '/' {
			return trace.Ref{APIVersion: "v1", Kind: "Pod", Namespace: key[:i], Name: key[i+1:]}
		}
	}
	return trace.Ref{}
}

// newID is a container or sandbox id: 64 hexadecimal digits.
func (r *Runtime) newID() string {
	const digits = "0123456789abcdef"
	b := make([]byte, 64)
	for i := 0; i < len(b); i += 16 {
		v := r.rand.Uint64()
		for j := range 16 {
			b[i+j] = digits[v&15]
			v >>= 4
		}
	}
	return string(b)
}
