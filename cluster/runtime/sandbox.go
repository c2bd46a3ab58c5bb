package runtime

import (
	"sort"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// SandboxConfig is what the kubelet asks a sandbox to be.
type SandboxConfig struct {
	PodUID      string
	Namespace   string
	Name        string
	Attempt     uint32
	Hostname    string
	HostNetwork bool
	HostIP      string // the address of a pod on the host's network
	// ServiceAccount is who the pod's programs are to the API server.
	ServiceAccount string
}

// Sandbox is a pod's sandbox: the pause container that holds its namespaces,
// and so its address.
type Sandbox struct {
	ID string
	SandboxConfig
	Ready     bool
	IP        string
	CreatedAt time.Time

	netGone bool
}

func (s *Sandbox) key() string { return s.Namespace + "/" + s.Name }

// Modelled times of the CRI calls.
const (
	sandboxTime = 130 * time.Millisecond
	createTime  = 45 * time.Millisecond
	startTime   = 55 * time.Millisecond
	removeTime  = 25 * time.Millisecond
	stopTime    = 40 * time.Millisecond
)

// RunPodSandbox is the CRI call: it makes and starts the sandbox and joins it to
// the network by CNI ADD. The pause image is on the node.
func (r *Runtime) RunPodSandbox(t *sim.Task, cfg SandboxConfig) (string, error) {
	var s *Sandbox
	id, err := r.call(t, trace.RuntimeCall{Pod: cfg.Namespace + "/" + cfg.Name, Call: "RunPodSandbox"}, sandboxTime, func() (string, error) {
		s = &Sandbox{ID: r.newID(), SandboxConfig: cfg, CreatedAt: t.Now()}
		if cfg.HostNetwork {
			s.IP = cfg.HostIP
		} else if err := r.setupNetwork(t, s); err != nil {
			return "", &Error{Code: "Unknown", Desc: err.Error()}
		}
		s.Ready = true
		r.sandboxes[s.ID] = s
		p := r.pod(cfg.PodUID)
		p.sandboxes = append(p.sandboxes, s)
		return s.ID[:12] + " " + s.IP, nil
	})
	if err != nil {
		return "", err
	}
	r.notify(cfg.PodUID, id)
	return s.ID, nil
}

func (r *Runtime) pod(uid string) *podRecord {
	p := r.pods[uid]
	if p == nil {
		p = &podRecord{}
		r.pods[uid] = p
	}
	return p
}

// StopPodSandbox is the CRI call: it kills what still runs in the sandbox and
// takes it off the network by CNI DEL. Stopping twice does nothing.
func (r *Runtime) StopPodSandbox(t *sim.Task, sandboxID string) error {
	s := r.sandboxes[sandboxID]
	if s == nil {
		return nil
	}
	id, err := r.call(t, trace.RuntimeCall{Pod: s.key(), Call: "StopPodSandbox", Arg: short(sandboxID)}, stopTime, func() (string, error) {
		for _, c := range r.pod(s.PodUID).containers {
			if c.SandboxID == s.ID && c.State == Running {
				r.end(c, 137, "Error", "", t.Causes(), false)
			}
		}
		s.Ready = false
		r.teardownNetwork(t, s)
		return "", nil
	})
	if err == nil {
		r.notify(s.PodUID, id)
	}
	return err
}

// RemovePodSandbox is the CRI call: it forgets the sandbox and its containers.
func (r *Runtime) RemovePodSandbox(t *sim.Task, sandboxID string) error {
	s := r.sandboxes[sandboxID]
	if s == nil {
		return nil
	}
	_, err := r.call(t, trace.RuntimeCall{Pod: s.key(), Call: "RemovePodSandbox", Arg: short(sandboxID)}, removeTime, func() (string, error) {
		p := r.pod(s.PodUID)
		for _, c := range append([]*Container(nil), p.containers...) {
			if c.SandboxID == s.ID {
				r.forget(c)
			}
		}
		r.stopSandbox(s)
		delete(r.sandboxes, s.ID)
		for i, o := range p.sandboxes {
			if o == s {
				p.sandboxes = append(p.sandboxes[:i:i], p.sandboxes[i+1:]...)
				break
			}
		}
		if len(p.sandboxes) == 0 && len(p.containers) == 0 {
			delete(r.pods, s.PodUID)
		}
		return "", nil
	})
	return err
}

// stopSandbox is the sandbox dying without a call.
func (r *Runtime) stopSandbox(s *Sandbox) {
	s.Ready = false
	r.dropNetwork(s)
}

// KillSandbox kills a pod's sandbox from outside, as a crash of its pause
// container does: the kubelet starts the whole pod again, with a new address. It
// reports whether there was one.
func (r *Runtime) KillSandbox(namespace, name string, causes ...trace.ID) bool {
	for _, s := range r.sortedSandboxes() {
		if s.Namespace != namespace || s.Name != name || !s.Ready {
			continue
		}
		for _, c := range r.pod(s.PodUID).containers {
			if c.SandboxID == s.ID && c.State == Running {
				r.end(c, 137, "Error", "", causes, false)
			}
		}
		r.stopSandbox(s)
		var cause trace.ID
		if len(causes) > 0 {
			cause = causes[0]
		}
		r.notify(s.PodUID, cause)
		return true
	}
	return false
}

// PodStatus is what the runtime knows of a pod: the answers of ListPodSandbox
// and ListContainers with their statuses, newest first. The values are copies.
type PodStatus struct {
	Sandboxes  []Sandbox
	Containers []Container
}

// PodStatus asks for a pod by UID. Like upstream's relisting it is too frequent
// to be an event of its own.
func (r *Runtime) PodStatus(podUID string) (PodStatus, error) {
	if r.down {
		return PodStatus{}, r.unavailable()
	}
	var st PodStatus
	p := r.pods[podUID]
	if p == nil {
		return st, nil
	}
	for i := len(p.sandboxes) - 1; i >= 0; i-- {
		st.Sandboxes = append(st.Sandboxes, *p.sandboxes[i])
	}
	for i := len(p.containers) - 1; i >= 0; i-- {
		st.Containers = append(st.Containers, *p.containers[i])
	}
	return st, nil
}

// Pods lists the pods the runtime knows: their newest sandbox, sorted by
// namespace, name and age.
func (r *Runtime) Pods() ([]Sandbox, error) {
	if r.down {
		return nil, r.unavailable()
	}
	var out []Sandbox
	for _, s := range r.sortedSandboxes() {
		if p := r.pods[s.PodUID]; p.sandboxes[len(p.sandboxes)-1] == s {
			out = append(out, *s)
		}
	}
	return out, nil
}

func (r *Runtime) sortedSandboxes() []*Sandbox {
	all := make([]*Sandbox, 0, len(r.sandboxes))
	for _, s := range r.sandboxes {
		all = append(all, s)
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		if a.key() != b.key() {
			return a.key() < b.key()
		}
		if !a.CreatedAt.Equal(b.CreatedAt) {
			return a.CreatedAt.Before(b.CreatedAt)
		}
		return a.ID < b.ID
	})
	return all
}

func short(id string) string {
	if len(id) > 12 {
		return id[:12]
	}
	return id
}
