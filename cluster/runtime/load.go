package runtime

import (
	"math/bits"
	"time"

	"kviz/cluster/load"
	"kviz/cluster/trace"
)

// Loads is what people have set that pods have to do.
type Loads interface {
	// Pod is what is set for a pod now; nil if nothing is.
	Pod(uid string) *load.Pod
	// Started says that a container has started, for which something may be set.
	Started()
}

// SetLoads sets where the runtime finds what its containers have to do.
func (r *Runtime) SetLoads(l Loads) { r.loads = l }

func (r *Runtime) setOf(uid string) *load.Pod {
	if r.loads == nil {
		return nil
	}
	return r.loads.Pod(uid)
}

// setUsage puts what is set in place of what a container would use. CPU is throttled at the
// container's limit; memory at its limit ends the container, as [Runtime.Squeeze] says.
func (r *Runtime) setUsage(u *ContainerUsage, c *Container, set *load.Pod) {
	now := r.k.Elapsed()
	if p, ok := r.partOf(c, set, load.OfCPU); ok {
		u.CPU = p.at(now)
		for _, limit := range []int64{c.LimitsCPU * milli, r.cfg.CPU} {
			if limit > 0 {
				u.CPU = min(u.CPU, limit)
			}
		}
	}
	if p, ok := r.partOf(c, set, load.OfMemory); ok {
		u.Memory = p.at(now)
		if limit := r.most(c); limit > 0 {
			u.Memory = min(u.Memory, limit)
		}
	}
}

// most is what a container can have of memory: its limit, or what the machine has.
func (r *Runtime) most(c *Container) int64 {
	if c.LimitsMemory > 0 {
		return c.LimitsMemory
	}
	return r.cfg.Memory
}

// ownPart is a container's part of what is set for its pod: num of den.
type ownPart struct {
	load.Part
	num, den int64
}

func (p ownPart) at(now time.Duration) int64 { return ratio(p.Part.At(now), p.num, p.den) }

// partOf is what is set for a container by its name, else its part of what is set for the pod. The
// containers share that as they ask for it, and evenly if one of them asks for nothing. Init
// containers have no part in it, sidecars among them.
func (r *Runtime) partOf(c *Container, set *load.Pod, what string) (ownPart, bool) {
	if c.Init {
		return ownPart{}, false
	}
	if p, ok := set.Part(what, c.Name, ""); ok {
		return ownPart{p, 1, 1}, true
	}
	p, ok := set.Part(what, "", "")
	if !ok {
		return ownPart{}, false
	}
	asked := func(o *Container) int64 {
		if what == load.OfCPU {
			return o.RequestsCPU
		}
		return o.RequestsMemory
	}
	seen, all, own, even := map[string]bool{}, int64(0), int64(0), false
	containers := r.pod(c.PodUID).containers
	for i := len(containers) - 1; i >= 0; i-- { // the newest of each name
		o := containers[i]
		if o.SandboxID != c.SandboxID || o.Init || seen[o.Name] {
			continue
		}
		if _, its := set.Part(what, o.Name, ""); its {
			continue
		}
		seen[o.Name] = true
		all += asked(o)
		even = even || asked(o) == 0
	}
	if own = asked(c); even {
		own, all = 1, int64(len(seen))
	}
	return ownPart{p, own, all}, all > 0
}

// ratio is v * num / den without overflow on the way, for num up to den.
func ratio(v, num, den int64) int64 {
	hi, lo := bits.Mul64(uint64(v), uint64(num))
	q, _ := bits.Div64(hi, lo, uint64(den))
	return int64(q)
}

// fillTime is how long a program takes to fill its memory once it has started.
const fillTime = time.Second

// Squeeze has the kernel's OOM killer end the containers of a pod whose memory, as it is
// set, is above what they can have, and says when the next one will be; false for never.
func (r *Runtime) Squeeze(uid string) (next time.Duration, any bool) {
	set, now, record := r.setOf(uid), r.k.Elapsed(), r.pods[uid]
	if set == nil || record == nil || r.off {
		return 0, false
	}
	for _, c := range append([]*Container(nil), record.containers...) {
		if c.State != Running {
			continue
		}
		p, ok := r.partOf(c, set, load.OfMemory)
		limit := r.most(c)
		if !ok || limit <= 0 || p.num == 0 {
			continue
		}
		full := c.StartedAt.Sub(r.k.Epoch()) + fillTime
		// num of den parts of v are above the limit where v is above limit * den / num.
		above := limit
		if p.num != p.den {
			hi, lo := bits.Mul64(uint64(limit), uint64(p.den))
			if hi >= uint64(p.num) {
				continue
			}
			q, _ := bits.Div64(hi, lo, uint64(p.num))
			above = int64(min(q, 1<<62))
		}
		at, ever := p.Above(max(now, full), above)
		switch {
		case !ever:
		case at > now:
			if !any || at < next {
				next, any = at, true
			}
		default:
			r.end(c, oomStatus, "OOMKilled", "", []trace.ID{c.StartedBy, p.Event}, false)
		}
	}
	return next, any
}

// oomStatus is the exit status of what SIGKILL has ended.
const oomStatus = 137
