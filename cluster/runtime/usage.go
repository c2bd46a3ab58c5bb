package runtime

import (
	"hash/fnv"
	"strconv"
	"time"
)

// What containers use is simulated, as they are: a figure that follows from what a
// container asks for and what it does, and that wavers a little from one quarter of a
// minute to the next. The same container uses the same in every run. Where a person has
// set what it has to do, that holds instead, and does not waver (load.go).

// PodUsage is what a pod uses now.
type PodUsage struct {
	Namespace, Name string
	UID             string
	Containers      []ContainerUsage
}

// ContainerUsage is what a running container uses now.
type ContainerUsage struct {
	Name    string
	CPU     int64 // nanocores
	Memory  int64 // bytes, the working set
	Started time.Time
}

// usageStep is how long a figure holds.
const usageStep = 15 * time.Second

const (
	milli = 1_000_000 // nanocores
	mebi  = 1 << 20
)

// What a container uses that says nothing of what it needs, and a node beside its
// pods: the kubelet, the runtime, the system.
const (
	quietCPU, quietMemory       = 2 * milli, 9 * mebi
	systemCPU, systemMemory     = 70 * milli, 410 * mebi
	systemPodCPU, systemPodMemo = 1 * milli, 6 * mebi
)

// Usage is what each pod with running containers uses, and the node as a whole.
func (r *Runtime) Usage() (pods []PodUsage, cpu, memory int64) {
	now := r.k.Now()
	cpu, memory = r.waver(systemCPU, r.cfg.Node, now), systemMemory
	for _, s := range r.sortedSandboxes() {
		p := PodUsage{Namespace: s.Namespace, Name: s.Name, UID: s.PodUID}
		set := r.setOf(s.PodUID)
		for _, c := range r.pod(s.PodUID).containers {
			if c.SandboxID == s.ID && c.State == Running {
				u := r.usageOf(c, s.key(), now)
				if set != nil {
					r.setUsage(&u, c, set)
				}
				p.Containers = append(p.Containers, u)
				cpu, memory = cpu+u.CPU+systemPodCPU, memory+u.Memory+systemPodMemo
			}
		}
		if len(p.Containers) > 0 {
			pods = append(pods, p)
		}
	}
	if most := r.cfg.CPU; most > 0 && cpu > most { // all get less of what there is
		for _, p := range pods {
			for i := range p.Containers {
				p.Containers[i].CPU = ratio(p.Containers[i].CPU, most, cpu)
			}
		}
		cpu = most
	}
	return pods, cpu, memory
}

// usageOf is between a third and two thirds of what the container asks for. One that
// only sleeps uses next to nothing, and one whose use is known, what its requests take; one that will be killed for its memory grows
// towards its limit until then.
func (r *Runtime) usageOf(c *Container, pod string, now time.Time) ContainerUsage {
	key := pod + "/" + c.Name
	share := int64(34 + r.lot(key, 33))
	u := ContainerUsage{Name: c.Name, CPU: quietCPU, Memory: quietMemory + int64(r.lot(key, 8))*mebi, Started: c.StartedAt}
	if c.RequestsCPU > 0 {
		u.CPU = max(c.RequestsCPU*milli*share/100, milli)
	}
	if c.RequestsMemory > 0 {
		u.Memory = c.RequestsMemory * share / 100
	}
	b := &c.run.b
	switch {
	case b.IgnoreTerm && len(b.Serve) == 0: // it sleeps
		u.CPU, u.Memory = milli/10, mebi
	case b.Burn > 0 || c.repository() == resourceConsumer: // it does what requests ask of it, and otherwise nothing
		u.CPU, u.Memory = milli/10, 4*mebi
	}
	u.CPU = r.waver(u.CPU, key, now)
	cpu, memory := c.run.using(now)
	u.CPU, u.Memory = u.CPU+cpu, u.Memory+memory
	if c.LimitsCPU > 0 {
		u.CPU = min(u.CPU, c.LimitsCPU*milli)
	}
	limit := c.LimitsMemory
	if limit > 0 {
		u.Memory = min(u.Memory, limit*95/100)
	}
	if b.OOM && b.After > 0 && limit > u.Memory {
		u.Memory += (limit - u.Memory) * int64(min(now.Sub(c.StartedAt), b.After)/time.Millisecond) / max(int64(b.After/time.Millisecond), 1)
	}
	return u
}

// lot is a number below n that belongs to a name.
func (r *Runtime) lot(name string, n uint32) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // it never fails
	return h.Sum32() % n
}

// waver is a figure as it is in this step of time: up to a tenth more or less.
func (r *Runtime) waver(v int64, name string, now time.Time) int64 {
	step := now.Unix() / int64(usageStep/time.Second)
	return v * int64(90+r.lot(name+"@"+strconv.FormatInt(step, 10), 21)) / 100
}
