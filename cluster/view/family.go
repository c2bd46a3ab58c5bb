package view

import (
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/trace"
)

// Stage is how far an object that another one owns has come.
type Stage uint8

// The stages, of pods, Jobs and claims; every other object is There.
const (
	There       Stage = iota
	Waiting           // a pod without a node, a claim that is not bound
	Starting          // a pod with a node whose containers do not all run yet
	Unready           // a pod that runs and is not ready
	Ready             // a pod that is ready, a claim that is bound
	Running           // a Job that is not finished
	Suspended         // a Job that is to wait
	Succeeded         // a pod or a Job
	Failed            // a pod or a Job
	Terminating       // has a deletionTimestamp
	stages
)

var stageNames = [stages]string{"there", "waiting", "starting", "not ready", "ready", "running", "suspended", "succeeded", "failed", "terminating"}

// String is the stage in a word or two.
func (s Stage) String() string {
	if s < stages {
		return stageNames[s]
	}
	return "?"
}

// Stages lists the stages in the order in which they are told.
func Stages() []Stage {
	return []Stage{There, Ready, Running, Unready, Starting, Waiting, Suspended, Terminating, Failed, Succeeded}
}

// StageOf is the stage of an object.
func StageOf(v runtime.Object) Stage {
	if m, err := meta.Accessor(v); err == nil && m.GetDeletionTimestamp() != nil {
		return Terminating
	}
	switch v := v.(type) {
	case *corev1.Pod:
		return stageOfPod(v)
	case *batchv1.Job:
		return stageOfJob(v)
	case *corev1.PersistentVolumeClaim:
		if v.Status.Phase == corev1.ClaimBound {
			return Ready
		}
		return Waiting
	}
	return There
}

func stageOfPod(p *corev1.Pod) Stage {
	switch p.Status.Phase {
	case corev1.PodSucceeded:
		return Succeeded
	case corev1.PodFailed:
		return Failed
	case corev1.PodRunning:
		if podReady(p) {
			return Ready
		}
		return Unready
	}
	if p.Spec.NodeName == "" {
		return Waiting
	}
	return Starting
}

func stageOfJob(j *batchv1.Job) Stage {
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			return Succeeded
		case batchv1.JobFailed:
			return Failed
		}
	}
	if j.Spec.Suspend != nil && *j.Spec.Suspend {
		return Suspended
	}
	return Running
}

// Family is how many objects of a resource one owner has, and how far they are. It is counted as the
// objects are written, so that nobody has to walk over a thousand pods to know it.
type Family struct {
	gen
	Resource string
	Total    int
	Lost     *Loss // the last that was Ready and is not any more, until all are again; nil for none

	of [stages]int
}

func (f *Family) seal() {}

// In is how many are in a stage.
func (f *Family) In(s Stage) int {
	if f == nil || s >= stages {
		return 0
	}
	return f.of[s]
}

// Active is how many a controller counts: those that are not terminating and not over
// (upstream's IsPodActive).
func (f *Family) Active() int {
	if f == nil {
		return 0
	}
	return f.Total - f.of[Terminating] - f.of[Failed] - f.of[Succeeded]
}

// Loss is a pod that was Ready, and is not any more.
type Loss struct {
	Pod   trace.Ref
	Node  string
	Event trace.ID // the write that made it so
	At    time.Duration
	To    Stage  // what it became; There if it is gone
	By    string // the client that wrote it; "" where that is not known
}

// Families lists what an object owns, by resource.
func (s *State) Families(uid string) []*Family {
	if uid == "" {
		return nil
	}
	var out []*Family
	prefix := uid + "\x00"
	s.families.from(prefix, func(k string, f *Family) bool {
		if !strings.HasPrefix(k, prefix) {
			return false
		}
		if f.Total > 0 {
			out = append(out, f)
		}
		return true
	})
	return out
}

// Family is what an object owns of a resource; an empty one if nothing.
func (s *State) Family(uid, resource string) *Family {
	if f, ok := s.families.get(uid + "\x00" + resource); ok {
		return f
	}
	return &Family{Resource: resource}
}

// ChildrenOf lists the first n objects of a resource that an owner has, by namespace and name.
func (s *State) ChildrenOf(uid, resource string, n int) []*Object {
	return s.first(s.owned, uid+"\x00"+resource+"\x00", n)
}

// Unsettled lists up to n of the objects of a resource that are on their way in an owner's family: pods that are not Ready (of a
// Job: that have not succeeded), Jobs that are not over, claims that are not bound; by stage, then by namespace and name.
func (s *State) Unsettled(uid, resource string, n int) []*Object {
	return s.first(s.unsettled, uid+"\x00"+resource+"\x00", n)
}

// UnsettledIn is [State.Unsettled] of one stage.
func (s *State) UnsettledIn(uid, resource string, in Stage, n int) []*Object {
	return s.first(s.unsettled, unsettledPrefix(uid, resource, in), n)
}

func (s *State) first(t table[string, string], prefix string, n int) (out []*Object) {
	t.from(prefix, func(k, key string) bool {
		if len(out) == n || !strings.HasPrefix(k, prefix) {
			return false
		}
		if o, ok := s.objects.get(key); ok {
			out = append(out, o)
		}
		return true
	})
	return out
}

func unsettledPrefix(uid, resource string, in Stage) string {
	return uid + "\x00" + resource + "\x00" + string(rune('a'+in)) + "\x00"
}

// settled reports whether an object stays as it is if nothing happens.
func settled(owner *metav1.OwnerReference, in Stage) bool {
	switch in {
	case There, Succeeded:
		return true
	case Ready:
		return owner.Kind != "Job" // its pods are to end
	case Failed:
		return owner.Kind == "CronJob"
	}
	return false
}

// join counts an object in its owners' families.
func (b *Builder) join(o *Object, key string) {
	for i := range o.owners {
		r := &o.owners[i]
		f := edit(b, b.s.families, string(r.UID)+"\x00"+o.Resource)
		f.Resource = o.Resource
		f.Total++
		f.of[o.stage]++
		if !settled(r, o.stage) {
			b.s.unsettled.set(unsettledPrefix(string(r.UID), o.Resource, o.stage)+key, key)
		}
		if o.stage == Ready && f.Lost != nil && f.of[Ready] >= b.s.wantedBy(string(r.UID)) {
			f.Lost = nil
		}
	}
}

// part takes it out again.
func (b *Builder) part(o *Object, key string) {
	for i := range o.owners {
		r := &o.owners[i]
		uid := string(r.UID)
		f := edit(b, b.s.families, uid+"\x00"+o.Resource)
		f.Total--
		f.of[o.stage]--
		if !settled(r, o.stage) {
			b.s.unsettled.delete(unsettledPrefix(uid, o.Resource, o.stage) + key)
		}
		if _, there := b.s.uids.get(uid); f.Total == 0 && !there {
			b.s.families.delete(uid + "\x00" + o.Resource)
		}
	}
}

// restage counts an object in another stage.
func (b *Builder) restage(e *trace.Event, o *Object, key string, to Stage) {
	if to == o.stage {
		return
	}
	was := o.stage
	b.part(o, key)
	o.stage = to
	b.join(o, key)
	if was == Ready && to != Succeeded {
		b.lost(e, o, to)
	}
}

// lost remembers that a pod is not Ready any more, with its owners.
func (b *Builder) lost(e *trace.Event, o *Object, to Stage) {
	pod, ok := o.Value.(*corev1.Pod)
	if !ok {
		return
	}
	l := &Loss{Pod: o.Ref, Node: pod.Spec.NodeName, Event: e.ID, At: e.At, To: to, By: b.writer(e)}
	for _, r := range o.owners {
		if _, there := b.s.uids.get(string(r.UID)); there {
			edit(b, b.s.families, string(r.UID)+"\x00"+o.Resource).Lost = l
		}
	}
}

// writer is the client whose request led to a commit, "" if it is not known.
func (b *Builder) writer(e *trace.Event) string {
	if r := b.requestOf(e); r != nil {
		return r.Client
	}
	return ""
}

// wantedBy is how many pods an owner wants by itself.
func (s *State) wantedBy(uid string) int {
	if o := s.ObjectByUID(uid); o != nil {
		return podsWanted(o.Value)
	}
	return 0
}

// forget lets an owner's empty families go with it.
func (b *Builder) forget(uid string) {
	if uid == "" {
		return
	}
	prefix := uid + "\x00"
	var empty []string
	b.s.families.from(prefix, func(k string, f *Family) bool {
		if !strings.HasPrefix(k, prefix) {
			return false
		}
		if f.Total == 0 {
			empty = append(empty, k)
		}
		return true
	})
	for _, k := range empty {
		b.s.families.delete(k)
	}
}
