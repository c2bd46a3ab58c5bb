package trail

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/podmark"
)

// patience is for how long a command may stand at a stop before it counts as held there.
const patience = 2 * time.Second

// held says in a few words what holds a command that has been at its last stop since a moment:
// "" where nothing does, or nothing that is known.
func (w *walk) held(s *view.State, to uint64, since time.Duration) string {
	if s.At-since < patience {
		return ""
	}
	if why := w.inside(s); why != "" {
		return why
	}
	pods := 0
	for _, t := range w.objects {
		if t.at >= to || t.object.Kind != "Pod" {
			continue
		}
		if o := s.ObjectOf(t.object); o != nil {
			if pod, ok := o.Value.(*corev1.Pod); ok {
				pods++
				if why := podHeld(s, pod); why != "" {
					return why
				}
			}
		}
	}
	if pods == 0 && w.works(to) {
		if why := stands(s, trace.CompKCM, "controllers"); why != "" {
			return why
		}
		if why := w.unattended(s, to); why != "" {
			return why
		}
	}
	if why := w.queued(s, to); why != "" {
		return why
	}
	return w.untold(s, to)
}

// inside is what holds a request of the command in the API server.
func (w *walk) inside(s *view.State) string {
	for _, r := range s.ActiveRequests() {
		if r.Request == nil || r.Verb == "watch" || !w.path.Has(r.Received) {
			continue
		}
		switch q := s.Reach(); {
		case s.Stands(r) == trace.StageStorage && q.Total > 0 && !q.OK():
			return "no quorum"
		case s.Stands(r) == trace.StageStorage:
			return "waits for the store"
		}
		next := slices.Index(trace.Stages(), r.Reached) + 1
		if next >= len(trace.Stages()) {
			continue
		}
		// Each webhook ends a stage of admission once more, and validation takes no time: a request that stands
		// behind one waits for the next.
		why := w.webhook(s, r.Received)
		switch stage := trace.Stages()[next]; {
		case stage == trace.StageMutatingAdmission, stage == trace.StageValidation, stage == trace.StageValidatingAdmission, stage == trace.StageStorage && why != "":
			return "admission" + why
		default:
			return "in " + stage
		}
	}
	return ""
}

// webhook is the first webhook server that something is wrong with and that has not answered a
// request yet, as it stands behind "admission".
func (w *walk) webhook(s *view.State, request trace.ID) string {
	answered := func(name string) bool {
		return slices.ContainsFunc(s.Webhooks(), func(x *view.Webhook) bool {
			return x.Name == name && x.Event.Compare(request) > 0 && w.path.Has(x.Event)
		})
	}
	for _, f := range s.Faults() {
		if name, ok := strings.CutPrefix(f.Target, "webhook/"); ok && !answered(name) {
			return ": " + name
		}
	}
	return ""
}

// queued is the work queue that was made slow and has a key of what was changed.
func (w *walk) queued(s *view.State, to uint64) string {
	for _, f := range s.Faults() {
		name, ok := strings.CutPrefix(f.Target, "queue/")
		q := s.Queue(name)
		if !ok || q == nil {
			continue
		}
		for _, t := range w.objects {
			if k := q.Key(t.object.Key()); k != nil && t.at < to && (k.Waiting || k.Processing) {
				return "queue " + strings.TrimSuffix(name, "_controller") + " slow"
			}
		}
	}
	return ""
}

// unattended is the controller that a fault has ended or slowed and that has to work on what was changed.
func (w *walk) unattended(s *view.State, to uint64) string {
	for _, t := range w.objects {
		if t.at >= to {
			continue
		}
		for _, name := range s.Attendants(t.object) {
			of := strings.TrimSuffix(name, "-controller") + " controller "
			switch st := s.Standing(name); {
			case len(s.FaultsOn("controller/"+name)) == 0:
			case !st.Works:
				return of + "down"
			case has(s, name, t.object.Key()):
				return of + "slow"
			}
		}
	}
	return ""
}

// has reports whether a key waits for a controller, or is at work.
func has(s *view.State, controller, key string) bool {
	return slices.ContainsFunc(s.Queues(), func(q *view.Queue) bool {
		k := q.Key(key)
		return q.Lane == controller && k != nil && (k.Waiting || k.Processing)
	})
}

// works reports whether a controller has to work on what was changed.
func (w *walk) works(to uint64) bool {
	return slices.ContainsFunc(w.objects, func(t touched) bool {
		switch t.object.Kind {
		case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicationController", "Service":
			return t.at < to
		}
		return false
	})
}

// stands says that a process does not work: it is down, or has lost its Lease.
func stands(s *view.State, process, name string) string {
	if p := s.Process(process); p != nil && !p.Up {
		return name + " down"
	}
	if s.Floors().Leases[process] {
		return name + ": no Lease"
	}
	return ""
}

// podHeld is what holds a pod before it is ready.
func podHeld(s *view.State, pod *corev1.Pod) string {
	node := pod.Spec.NodeName
	mark := podmark.Of(pod)
	switch {
	case mark.Glyph == '●' || mark.Glyph == '✓':
		return ""
	case node == "":
		return unplaced(s, pod.Namespace+"/"+pod.Name)
	}
	for _, f := range slices.Concat(s.FaultsOn("node/"+node), s.FaultsOn("instance/"+node)) {
		switch f.Fault.Fault {
		case "stop", "crash", "shut-down", "delete":
			return node + " is off"
		case "cut":
			return node + " is cut off"
		case "break-cni":
			return "no network plugin"
		}
	}
	if why := stands(s, "kubelet/"+node, "kubelet"); why != "" {
		return why
	}
	if len(s.FaultsOn("runtime/"+node)) > 0 {
		return "runtime down"
	}
	if p := s.NodePod(pod.Namespace + "/" + pod.Name); p != nil && p.Admitted == "refused" {
		return "refused: " + p.Reason
	}
	if strings.Contains(mark.Word, "Image") && len(s.FaultsOn("registry")) > 0 {
		return "registry down"
	}
	switch mark.Glyph {
	case '✗':
		return mark.Word
	case '◑':
		return "not ready"
	}
	return ""
}

// unplaced is what keeps a pod from getting a node.
func unplaced(s *view.State, pod string) string {
	if why := stands(s, trace.CompScheduler, "scheduler"); why != "" {
		return why
	}
	if c := s.Scheduler.CycleOf(pod); c != nil && c.Decision != nil && c.Decision.Node == "" {
		fits := 0
		for _, f := range c.Filters() {
			if f.Feasible() {
				fits++
			}
		}
		return nodes(fits, c.NodeCount)
	}
	return ""
}

// untold is who has not been told of what was changed, because its watch is held.
func (w *walk) untold(s *view.State, to uint64) string {
	for _, watcher := range s.Watchers() {
		for _, h := range watcher.Held() {
			for _, t := range w.objects {
				if t.at < to && t.object.Kind == h.Object.Kind && t.object.Key() == h.Object.Key() {
					return short(watcher.Client) + " not told"
				}
			}
		}
	}
	return ""
}
