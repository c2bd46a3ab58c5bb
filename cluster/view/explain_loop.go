package view

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"kviz/cluster/trace"
)

func init() {
	say(trace.InformerSync, func(e *trace.Event, p *trace.Informer) string {
		missed := ""
		if p.Tombstones > 0 {
			missed = fmt.Sprintf("; %s not in the list any more: told as deleted, with the last state known (a tombstone)", count(p.Tombstones, one(p.Resource)))
		}
		return fmt.Sprintf("the cache of %s holds all %s at revision %d: from now on it may be trusted%s", p.Informer, count(p.Items, one(p.Resource)), p.Revision, missed)
	})
	say(trace.InformerRelist, func(e *trace.Event, p *trace.Informer) string {
		return fmt.Sprintf("the cache of %s lists %s%s", p.Informer, p.Resource, tail(": ", p.Reason))
	})
	say(trace.InformerResync, func(e *trace.Event, p *trace.Informer) string {
		return fmt.Sprintf("the cache of %s tells of all %s again, as it does %s", p.Informer, count(p.Items, one(p.Resource)), p.Reason)
	})
	say(trace.QueueAdd, func(e *trace.Event, p *trace.QueueItem) string {
		if p.Merged {
			return fmt.Sprintf("%s is in queue %s already: this change is merged into it", p.Key, p.Queue)
		}
		return fmt.Sprintf("%s enters queue %s (%d ready)", p.Key, p.Queue, p.Ready)
	})
	say(trace.QueueDelay, func(e *trace.Event, p *trace.QueueItem) string {
		if p.Retries > 0 {
			return fmt.Sprintf("%s has failed %s and enters queue %s again in %s", p.Key, times(p.Retries), p.Queue, took(p.After))
		}
		return fmt.Sprintf("%s enters queue %s in %s", p.Key, p.Queue, took(p.After))
	})
	say(trace.QueueGet, func(e *trace.Event, p *trace.QueueItem) string {
		if n := len(e.Causes); n > 1 {
			return fmt.Sprintf("a worker takes %s from queue %s: %s, one run", p.Key, p.Queue, count(n, "change"))
		}
		return fmt.Sprintf("a worker takes %s from queue %s", p.Key, p.Queue)
	})
	say(trace.QueueDone, func(e *trace.Event, p *trace.QueueItem) string {
		if p.Requeued {
			return fmt.Sprintf("%s is done but has changed meanwhile: it goes round again in queue %s", p.Key, p.Queue)
		}
		return fmt.Sprintf("%s is done in queue %s", p.Key, p.Queue)
	})
	say(trace.ReconcileStart, func(e *trace.Event, p *trace.Reconcile) string {
		return fmt.Sprintf("%s compares what is wanted with what is, for %s", p.Controller, p.Key)
	})
	say(trace.ReconcileAction, func(e *trace.Event, p *trace.Action) string {
		return fmt.Sprintf("%s will %s %s%s", p.Controller, p.Verb, orElse(target(p.Target), p.Key), tail(", because ", p.Why))
	})
	say(trace.ReconcileEnd, func(e *trace.Event, p *trace.Reconcile) string {
		switch {
		case p.Error != "":
			return fmt.Sprintf("%s failed on %s: %s", p.Controller, p.Key, p.Error)
		case p.Waits != "":
			return fmt.Sprintf("%s has done what it can for %s: %s", p.Controller, p.Key, p.Waits)
		case p.RequeueIn > 0:
			return fmt.Sprintf("%s has done what it can for %s and looks again in %s", p.Controller, p.Key, took(p.RequeueIn))
		}
		return fmt.Sprintf("%s has nothing more to do for %s", p.Controller, p.Key)
	})
	say(trace.ClientLimited, func(e *trace.Event, p *trace.ClientLimit) string {
		who, limit := whose(e.Lane.String(), p.Client), fmt.Sprintf("%v requests a second and %d at once after a rest", p.QPS, p.Burst)
		switch {
		case p.Verb == "":
			return fmt.Sprintf("a client of %s is ready: its rate limit is %s", who, limit)
		case p.Delay == 0:
			return fmt.Sprintf("%s may send %d more at once: the rate limit of its client is %s", who, p.Left(0), limit)
		}
		others := ""
		if n := p.Waiting(0) - 1; n > 0 {
			others = fmt.Sprintf(", and %s first", count(n, "other"))
		}
		return fmt.Sprintf("%s waits %s to %s %s: the rate limit of its client, %s, is used up%s", who, took(p.Delay), p.Verb, p.Resource, limit, others)
	})
	explains[trace.Converged] = func(e *trace.Event) string {
		return fmt.Sprintf("%s is what its spec asks for", orElse(e.Object.String(), "the object"))
	}
	say(trace.LeaderElected, func(e *trace.Event, p *trace.Election) string {
		if !p.Won {
			return fmt.Sprintf("%s has lost the lease %s and stops working", p.Holder, p.Lease)
		}
		return fmt.Sprintf("%s holds the lease %s: it is the active one%s", p.Holder, p.Lease, tail(", after ", p.Previous))
	})

	say(trace.SchedConfigured, func(e *trace.Event, p *trace.SchedConfiguration) string {
		var names []string
		for _, profile := range p.Profiles {
			names = append(names, profile.Name)
		}
		from := "a configuration file"
		if !p.File {
			from = "the default configuration"
		}
		who := "kube-scheduler"
		if in := inPod(e.Lane); in != "" {
			who = "the kube-scheduler in the pod " + in
		}
		return fmt.Sprintf("%s gets %s, which serves schedulerName %s", who, from, joined(names))
	})
	say(trace.SchedQueue, explainSchedQueue)
	say(trace.SchedStay, func(_ *trace.Event, p *trace.SchedQueueStay) string {
		return fmt.Sprintf("%s stays unschedulable, %s", p.Pod, NotMoved(p))
	})
	say(trace.SchedCycle, func(e *trace.Event, p *trace.SchedCycleStart) string {
		if in := inPod(e.Lane); in != "" {
			return fmt.Sprintf("the scheduler in the pod %s takes up %s, attempt %d, with %s to choose from", in, p.Pod, p.Attempt, count(p.Nodes, "node"))
		}
		return fmt.Sprintf("the scheduler takes up %s, attempt %d, with %s to choose from", p.Pod, p.Attempt, count(p.Nodes, "node"))
	})
	say(trace.SchedPoint, func(e *trace.Event, p *trace.ExtensionPoint) string {
		return fmt.Sprintf("%s for %s: %s ran%s", p.Point, p.Pod, orElse(some(p.Plugins, 4), "no plugin"), tail("; ", p.Note))
	})
	say(trace.SchedFilter, func(e *trace.Event, p *trace.FilterVerdict) string {
		if p.By == "" {
			return fmt.Sprintf("%s could run %s", p.Node, p.Pod)
		}
		return fmt.Sprintf("%s rejected by %s%s", p.Node, p.By, tail(": ", strings.Join(p.Reasons, ", ")))
	})
	say(trace.SchedScore, func(e *trace.Event, p *trace.NodeScore) string {
		parts := make([]string, 0, len(p.Scores))
		for _, s := range p.Scores {
			parts = append(parts, fmt.Sprint(s.Weighted))
		}
		return fmt.Sprintf("%s scores %d for %s%s", p.Node, p.Total, p.Pod, tail(" = ", strings.Join(parts, " + ")))
	})
	say(trace.SchedDecision, explainDecision)
	say(trace.SchedPermit, explainPermit)
	say(trace.SchedBind, func(e *trace.Event, p *trace.Decision) string {
		if p.Message != "" {
			return fmt.Sprintf("%s could not be bound to %s: %s", p.Pod, p.Node, p.Message)
		}
		return fmt.Sprintf("%s is bound to %s: the API server has set spec.nodeName", p.Pod, p.Node)
	})
}

// target is what an action is about; an object that is yet to get its name is
// named by its kind alone.
func target(r trace.Ref) string {
	switch {
	case r.Kind != "" && r.Name == "" && r.Namespace != "":
		return "a " + r.Kind + " in " + r.Namespace
	case r.Kind != "" && r.Name == "":
		return "a " + r.Kind
	}
	return r.String()
}

// one takes the plural s from a resource.
func one(resource string) string { return strings.TrimSuffix(resource, "s") }

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

func explainSchedQueue(e *trace.Event, p *trace.SchedQueueMove) string {
	why := tail(" (", closed(p.Event))
	if p.Plugin != "" {
		why = ", moved by " + MovedBy(p)
	} else if len(p.Rejected) > 0 {
		why = " (" + closed("rejected by "+joined(p.Rejected))
	}
	switch p.To {
	case "active":
		return fmt.Sprintf("%s is ready to be scheduled%s", p.Pod, why)
	case "backoff":
		return fmt.Sprintf("%s waits a little before the scheduler tries it again%s", p.Pod, why)
	case "unschedulable":
		return fmt.Sprintf("%s fits nowhere; it waits until something changes that could help%s", p.Pod, why)
	case "gated":
		return fmt.Sprintf("%s is gated: the scheduler does not look at it yet%s", p.Pod, why)
	case "":
		return fmt.Sprintf("%s leaves the scheduler's queues%s", p.Pod, why)
	}
	return fmt.Sprintf("%s moves to the scheduler's queue %s%s", p.Pod, p.To, why)
}

func explainPermit(e *trace.Event, p *trace.PermitWait) string {
	switch p.State {
	case trace.PermitRejected:
		return fmt.Sprintf("%s is rejected at Permit%s: %s; its place on %s is free again", p.Pod, tail(" by ", p.By), p.Message, p.Node)
	case trace.PermitPreempted:
		return fmt.Sprintf("%s gives up its place on %s to a pod of higher priority, and is tried again", p.Pod, p.Node)
	case trace.PermitAllowed:
		if len(p.Pending) == 0 {
			return fmt.Sprintf("%s allows %s, which is bound to %s next", p.By, p.Pod, p.Node)
		}
		return fmt.Sprintf("%s allows %s, which still waits at Permit for %s", p.By, p.Pod, waitsFor(p, e.At))
	}
	return fmt.Sprintf("%s has its place on %s, and waits at Permit for %s", p.Pod, p.Node, waitsFor(p, e.At))
}

// waitsFor are the plugins that a pod waits for at Permit, with the time that each has left.
func waitsFor(p *trace.PermitWait, now time.Duration) string {
	var plugins []string
	for _, pl := range p.Pending {
		plugins = append(plugins, fmt.Sprintf("%s (%s left)", pl.Plugin, took(max(pl.Until-now, 0))))
	}
	return joined(plugins)
}

func explainDecision(e *trace.Event, p *trace.Decision) string {
	switch {
	case p.Node == "" && p.Message != "":
		return fmt.Sprintf("%s stays pending: %s", p.Pod, p.Message)
	case p.Node == "":
		reasons := make([]string, 0, len(p.Reasons))
		for r, n := range p.Reasons {
			reasons = append(reasons, fmt.Sprintf("%d %s", n, r))
		}
		sort.Strings(reasons)
		return fmt.Sprintf("%s stays pending: none of %s fits%s", p.Pod, count(p.Evaluated, "node"), tail(": ", strings.Join(reasons, ", ")))
	case p.Like != "":
		return fmt.Sprintf("%s goes to %s: as %s before it, which is alike: next best of that cycle", p.Pod, p.Node, p.Like)
	case p.Skipped:
		return fmt.Sprintf("%s goes to %s, the only node that fits%s", p.Pod, p.Node, devicesOf(p))
	case len(p.TiedWith) > 0:
		return fmt.Sprintf("%s goes to %s with %d points, drawn by lot against %s%s", p.Pod, p.Node, p.Total, some(p.TiedWith, 3), devicesOf(p))
	}
	return fmt.Sprintf("%s goes to %s: %d points, the most of %s that fit%s", p.Pod, p.Node, p.Total, count(p.Feasible, "node"), devicesOf(p))
}

// devicesOf says which devices the pod's claims get with the decision.
func devicesOf(p *trace.Decision) string {
	var of []string
	for _, d := range p.Devices {
		of = append(of, deviceName(d))
	}
	return tail("; its claims get ", some(of, 3))
}

// deviceName is a device as people call it: where it is, and whose driver's.
func deviceName(d trace.ClaimedDevice) string {
	return fmt.Sprintf("%s/%s of %s", d.Pool, d.Device, d.Driver)
}
