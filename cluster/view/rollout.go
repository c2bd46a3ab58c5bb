package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/controller/daemon/util"

	"kviz/cluster/trace"
)

// Rollout is how a Deployment, StatefulSet or DaemonSet stands between its templates: how many pods there
// may be, how many there must be, and how many there are.
type Rollout struct {
	Of       trace.Ref
	Strategy string // RollingUpdate, Recreate, OnDelete
	Paused   bool

	Wanted      int
	Surge       int    // pods above those wanted that there may be
	SurgeAs     string // as the spec has it: "25%"
	Missing     int    // pods that may be unavailable
	MissingAs   string
	Partition   int // of a StatefulSet: ordinals below it keep the old template
	Total       int // pods that are there and not on their way out
	Available   int
	Updated     int // pods of the newest template
	Terminating int // pods on their way out: they count as neither
	Misplaced   int // pods of a DaemonSet on nodes that would get none now, such as a lost one: they count as neither
	Revisions   []Revision
	Older       int // further revisions, without pods
	Lost        *Loss
	Stalled     string // what the condition Progressing says when it is False

	latest []Revision // the newest three, with or without pods
}

// Revision is one template of a workload, with its pods.
type Revision struct {
	Ref     trace.Ref
	Number  int64
	Current bool // the newest template
	Desired int
	Total   int
	Ready   int
	Changed trace.ID
}

// Most is how many pods there may be.
func (r *Rollout) Most() int { return r.Wanted + r.Surge }

// Least is how many pods must be available.
func (r *Rollout) Least() int { return max(r.Wanted-r.Missing, 0) }

// UnderMost reports whether there are no more pods than there may be.
func (r *Rollout) UnderMost() bool { return r.Total <= r.Most() }

// OverLeast reports whether as many pods are available as must be.
func (r *Rollout) OverLeast() bool { return r.Available >= r.Least() }

// Held reports whether the invariant holds: total ≤ replicas + maxSurge, and available ≥ replicas − maxUnavailable.
func (r *Rollout) Held() bool { return r.UnderMost() && r.OverLeast() }

// Done reports whether every pod is of the newest template and available. Below the partition of a StatefulSet
// the old template is what is wanted.
func (r *Rollout) Done() bool {
	return r.Updated >= r.Wanted-min(r.Partition, r.Wanted) && r.Available >= r.Wanted && r.Total == r.Wanted
}

// Says tells how the invariant stands, and whether that is good. The controller never breaks it itself; what others take away
// is named.
func (r *Rollout) Says() (text string, good bool) {
	switch {
	case r.Strategy != string(appsv1.RollingUpdateDeploymentStrategyType):
		return r.promises()
	case !r.UnderMost():
		which := "them"
		if r.Total-r.Most() == 1 {
			which = "it"
		}
		return fmt.Sprintf("%s more than may be: the controller deletes %s", count(r.Total-r.Most(), "pod"), which), false
	case r.OverLeast():
		text = fmt.Sprintf("held: at most %d are there, at least %d are available", r.Most(), r.Least())
		if r.Lost != nil {
			text = "held, though " + r.Lost.Says()
		}
		return text, true
	case r.Lost != nil:
		return "broken, not by the rollout: " + r.Lost.Says(), false
	}
	return fmt.Sprintf("not reached yet: %s still to become available", count(r.Least()-r.Available, "pod")), false
}

// promises is what a strategy other than RollingUpdate keeps to.
func (r *Rollout) promises() (string, bool) {
	if r.Strategy == string(appsv1.OnDeleteStatefulSetStrategyType) {
		return "OnDelete: a pod gets the newest template when somebody deletes it", true
	}
	return r.Strategy + ": every old pod goes before a new one is made", true
}

// Says tells what became of the pod, and by whose doing.
func (l *Loss) Says() string {
	switch {
	case slices.Contains(byNode, l.By):
		return fmt.Sprintf("%s was lost with %s (%s)", l.Pod.Name, l.Node, l.By)
	case l.To == Terminating || l.To == There:
		return fmt.Sprintf("%s was deleted by %s", l.Pod.Name, l.By)
	case l.To == Failed:
		return fmt.Sprintf("%s failed on %s", l.Pod.Name, l.Node)
	}
	return fmt.Sprintf("%s is not ready any more on %s", l.Pod.Name, l.Node)
}

// byRollout are the clients that delete pods because a rollout or a scale says so, byNode those that do for a node that
// is lost.
var (
	byRollout = []string{"replicaset-controller", "statefulset-controller", "daemonset-controller", "job-controller"}
	byNode    = []string{"node-lifecycle-controller", "taint-eviction-controller", "pod-garbage-collector-controller"}
)

// lossIn is the loss of a family that no rollout made. Of a deletion whose client is not known that cannot be said.
func lossIn(f *Family) *Loss {
	l := f.Lost
	if l == nil || slices.Contains(byRollout, l.By) || l.By == "" && (l.To == Terminating || l.To == There) {
		return nil
	}
	return l
}

// podsWanted is how many pods an object wants by itself; 0 for what wants none.
func podsWanted(v runtime.Object) int {
	switch v := v.(type) {
	case *appsv1.Deployment:
		return int(orOne(v.Spec.Replicas))
	case *appsv1.ReplicaSet:
		return int(orOne(v.Spec.Replicas))
	case *corev1.ReplicationController:
		return int(orOne(v.Spec.Replicas))
	case *appsv1.StatefulSet:
		return int(orOne(v.Spec.Replicas))
	case *appsv1.DaemonSet:
		return int(v.Status.DesiredNumberScheduled)
	}
	return 0
}

func orOne(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// Rollout is that of a Deployment, StatefulSet or DaemonSet; nil for every other object.
func (s *State) Rollout(o *Object) *Rollout {
	if o == nil || o.Deleted {
		return nil
	}
	switch v := o.Value.(type) {
	case *appsv1.Deployment:
		return s.rolloutOfDeployment(o, v)
	case *appsv1.StatefulSet:
		return s.rolloutOfStatefulSet(o, v)
	case *appsv1.DaemonSet:
		return s.rolloutOfDaemonSet(o, v)
	}
	return nil
}

// fenceposts is how far surge and unavailable go: a share of surge is rounded up, one of unavailable down; where
// both come out as 0, one pod may be unavailable, or nothing could ever move (upstream's ResolveFenceposts).
func fenceposts(surge, missing *intstr.IntOrString, wanted int) (most, least int) {
	zero := intstr.FromInt32(0)
	most, _ = intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(surge, zero), wanted, true)
	least, _ = intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(missing, zero), wanted, false)
	if most == 0 && least == 0 {
		least = 1
	}
	return most, least
}

func asWritten(x *intstr.IntOrString, without string) string {
	if x == nil {
		return without
	}
	return x.String()
}

// revisions at most are listed of a rollout.
const revisions = 16

func (s *State) rolloutOfDeployment(o *Object, d *appsv1.Deployment) *Rollout {
	r := &Rollout{Of: o.Ref, Strategy: string(d.Spec.Strategy.Type), Wanted: podsWanted(d), Paused: d.Spec.Paused}
	if r.Strategy == "" {
		r.Strategy = string(appsv1.RollingUpdateDeploymentStrategyType)
	}
	if ru := d.Spec.Strategy.RollingUpdate; r.Strategy == string(appsv1.RollingUpdateDeploymentStrategyType) {
		if ru == nil {
			ru = &appsv1.RollingUpdateDeployment{}
		}
		r.Surge, r.Missing = fenceposts(ru.MaxSurge, ru.MaxUnavailable, r.Wanted)
		r.SurgeAs, r.MissingAs = asWritten(ru.MaxSurge, "0"), asWritten(ru.MaxUnavailable, "0")
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse {
			r.Stalled = c.Reason + ": " + c.Message
		}
	}
	var late int32
	for _, c := range s.ChildrenOf(o.UID, "replicasets", 1000) {
		rs, ok := c.Value.(*appsv1.ReplicaSet)
		if !ok {
			continue
		}
		f := s.Family(c.UID, "pods")
		rev := Revision{
			Ref: c.Ref, Desired: podsWanted(rs), Total: f.Active(), Ready: f.In(Ready), Changed: c.Changed,
			Current: rs.Annotations[revisionOf] == d.Annotations[revisionOf],
		}
		rev.Number, _ = strconv.ParseInt(rs.Annotations[revisionOf], 10, 64)
		r.Total += rev.Total
		r.Available += f.In(Ready)
		r.Terminating += f.In(Terminating)
		late += max(rs.Status.ReadyReplicas-rs.Status.AvailableReplicas, 0)
		if rev.Current {
			r.Updated += rev.Total
		}
		if l := lossIn(f); l != nil && rev.Ready < rev.Desired && (r.Lost == nil || l.At > r.Lost.At) {
			r.Lost = l
		}
		r.Revisions = append(r.Revisions, rev)
	}
	if d.Spec.MinReadySeconds > 0 { // ready is not available yet
		r.Available = max(r.Available-int(late), 0)
	}
	r.sorted()
	return r
}

// sorted has the newest first, and of those without pods only the newest.
func (r *Rollout) sorted() {
	slices.SortStableFunc(r.Revisions, func(a, b Revision) int { return cmp.Compare(b.Number, a.Number) })
	r.latest = r.Revisions[:min(len(r.Revisions), 3)]
	kept := r.Revisions[:0:0]
	for _, rev := range r.Revisions {
		if rev.Current || rev.Desired > 0 || rev.Total > 0 {
			if len(kept) < revisions {
				kept = append(kept, rev)
				continue
			}
		}
		r.Older++
	}
	r.Revisions = kept
}

func (s *State) rolloutOfStatefulSet(o *Object, v *appsv1.StatefulSet) *Rollout {
	r := &Rollout{Of: o.Ref, Strategy: string(v.Spec.UpdateStrategy.Type), Wanted: podsWanted(v)}
	if r.Strategy == "" {
		r.Strategy = string(appsv1.RollingUpdateStatefulSetStrategyType)
	}
	if r.Strategy == string(appsv1.RollingUpdateStatefulSetStrategyType) {
		r.Missing, r.MissingAs = 1, "1"
		if ru := v.Spec.UpdateStrategy.RollingUpdate; ru != nil {
			if ru.Partition != nil {
				r.Partition = int(*ru.Partition)
			}
			if ru.MaxUnavailable != nil { // getStatefulSetMaxUnavailable
				n, _ := intstr.GetScaledValueFromIntOrPercent(ru.MaxUnavailable, r.Wanted, false)
				r.Missing, r.MissingAs = max(n, 1), ru.MaxUnavailable.String()
			}
		}
	}
	s.ofPods(r, o, v.Status.UpdateRevision, int(v.Status.UpdatedReplicas), v.Spec.MinReadySeconds > 0, int(v.Status.ReadyReplicas-v.Status.AvailableReplicas))
	return r
}

func (s *State) rolloutOfDaemonSet(o *Object, v *appsv1.DaemonSet) *Rollout {
	r := &Rollout{Of: o.Ref, Strategy: string(v.Spec.UpdateStrategy.Type), Wanted: podsWanted(v)}
	if r.Strategy == "" {
		r.Strategy = string(appsv1.RollingUpdateDaemonSetStrategyType)
	}
	if ru := v.Spec.UpdateStrategy.RollingUpdate; ru != nil && r.Strategy == string(appsv1.RollingUpdateDaemonSetStrategyType) {
		r.Surge, _ = util.SurgeCount(v, r.Wanted) // both are rounded up
		r.Missing, _ = util.UnavailableCount(v, r.Wanted)
		r.SurgeAs, r.MissingAs = asWritten(ru.MaxSurge, "0"), asWritten(ru.MaxUnavailable, "0")
	}
	newest := ""
	if all := s.controllerRevisions(o); len(all) > 0 {
		newest = all[0].Name
	}
	late := 0
	if v.Spec.MinReadySeconds > 0 {
		late = int(v.Status.NumberReady - v.Status.NumberAvailable)
	}
	s.ofPods(r, o, newest, int(v.Status.UpdatedNumberScheduled), late > 0, late)
	if r.Misplaced = min(int(v.Status.NumberMisscheduled), r.Total); r.Misplaced > 0 {
		r.Total -= r.Misplaced
		r.Available = min(r.Available, int(v.Status.NumberAvailable)) // which counts none of them
		if r.Available >= r.Wanted {
			r.Lost = nil
		}
	}
	return r
}

// ofPods fills in what a workload that owns its pods itself has of them. late is how many are ready and do not count
// as available yet.
func (s *State) ofPods(r *Rollout, o *Object, newest string, updated int, counts bool, late int) {
	f := s.Family(o.UID, "pods")
	r.Total, r.Available, r.Terminating, r.Updated, r.Lost = f.Active(), f.In(Ready), f.In(Terminating), updated, lossIn(f)
	if r.Available >= r.Wanted {
		r.Lost = nil
	}
	if counts {
		r.Available = max(r.Available-late, 0)
	}
	for _, c := range s.controllerRevisions(o) {
		rev := Revision{Ref: trace.Ref{APIVersion: "apps/v1", Kind: "ControllerRevision", Namespace: c.Namespace, Name: c.Name}, Number: c.Revision, Current: c.Name == newest}
		if x := s.ObjectOf(rev.Ref); x != nil {
			rev.Changed = x.Changed
		}
		rev.Total = r.Total - updated
		if rev.Current {
			rev.Total = updated
		}
		r.Revisions = append(r.Revisions, rev)
		if len(r.Revisions) == 2 {
			r.Older = s.Family(o.UID, "controllerrevisions").Total - 2
			break
		}
	}
}

// controllerRevisions are the templates that a StatefulSet or DaemonSet has had, the newest first.
func (s *State) controllerRevisions(o *Object) (all []*appsv1.ControllerRevision) {
	for _, c := range s.ChildrenOf(o.UID, "controllerrevisions", 1000) {
		if v, ok := c.Value.(*appsv1.ControllerRevision); ok {
			all = append(all, v)
		}
	}
	slices.SortStableFunc(all, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(b.Revision, a.Revision) })
	return all
}
