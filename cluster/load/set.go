package load

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/trace"
)

// Set is all that is set, and the pods that it can be for. It gets to know pods and their owners
// from what is written to the store, as a person at the screen does.
type Set struct {
	figures map[Key]*Figure
	pods    map[string]*corev1.Pod           // by namespace/name
	owners  map[types.UID]*metav1.ObjectMeta // ReplicaSets and Jobs that others may control
	names   map[string]types.UID             // of owners, by kind/namespace/name
	loaded  map[types.UID]*Pod               // nil: to be found out again
}

// NewSet makes an empty one.
func NewSet() *Set {
	return &Set{
		figures: map[Key]*Figure{}, pods: map[string]*corev1.Pod{}, owners: map[types.UID]*metav1.ObjectMeta{}, names: map[string]types.UID{},
	}
}

// Check says why something cannot be set.
func (s *Set) Check(p *trace.Load) error {
	if p.Off {
		if p.Target != (trace.Ref{}) && !s.any(p.Target, p.Container) {
			return fmt.Errorf("nothing is set for %s/%s; kviz load lists what is", strings.ToLower(p.Target.Kind), p.Target.Name)
		}
		return nil
	}
	all, err := Figures(p, 0, trace.ID{})
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("say what to set: --cpu, --memory or --metric")
	}
	more := 0
	for _, f := range all {
		_, there := s.figures[f.Key]
		switch {
		case f.Curve == nil && !there:
			return fmt.Errorf("%s is not set there; kviz load lists what is", f.Words())
		case f.Curve != nil && !there:
			more++
		}
	}
	if len(s.figures)+more > MaxFigures {
		return fmt.Errorf("%d figures are set already, and at most %d can be: take some away with --off", len(s.figures), MaxFigures)
	}
	return nil
}

func (s *Set) any(t trace.Ref, container string) bool {
	for k := range s.figures {
		if k.of(t, container) {
			return true
		}
	}
	return false
}

// of reports whether a key is of a target; without a container, of any of its.
func (k Key) of(t trace.Ref, container string) bool {
	return k.Kind == t.Kind && k.Namespace == t.Namespace && k.Name == t.Name && (container == "" || k.Container == container)
}

// Apply sets what has been checked.
func (s *Set) Apply(p *trace.Load, now time.Duration, event trace.ID) {
	s.loaded = nil
	if p.Off {
		for k := range s.figures {
			if p.Target == (trace.Ref{}) || k.of(p.Target, p.Container) {
				delete(s.figures, k)
			}
		}
		return
	}
	all, err := Figures(p, now, event)
	if err != nil {
		return // Check said so
	}
	for i := range all {
		f := &all[i]
		if f.Curve == nil {
			delete(s.figures, f.Key)
		} else {
			s.figures[f.Key] = f
		}
	}
}

// List is all that is set, in order.
func (s *Set) List() []*Figure {
	all := make([]*Figure, 0, len(s.figures))
	for _, f := range s.figures {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *Figure) int { return a.Compare(b.Key) })
	return all
}

// Figure is the one of a key, or nil.
func (s *Set) Figure(k Key) *Figure { return s.figures[k] }

// Empty reports whether nothing is set.
func (s *Set) Empty() bool { return len(s.figures) == 0 }

// Written tells of an object that was written; obj is nil where it was deleted. It reports whether
// what holds for a pod may have changed with it.
func (s *Set) Written(of trace.Ref, obj runtime.Object) bool {
	switch of.Kind {
	case "Pod":
		key := of.Namespace + "/" + of.Name
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			delete(s.pods, key)
		} else {
			s.pods[key] = pod
		}
	case "ReplicaSet", "Job":
		key := of.Kind + "/" + of.Namespace + "/" + of.Name
		m, ok := obj.(metav1.ObjectMetaAccessor)
		if !ok {
			delete(s.owners, s.names[key])
			delete(s.names, key)
			break
		}
		o := m.GetObjectMeta()
		if metav1.GetControllerOfNoCopy(o) == nil && s.owners[o.GetUID()] == nil {
			return false // the chain ends with it
		}
		s.names[key] = o.GetUID()
		s.owners[o.GetUID()] = &metav1.ObjectMeta{Name: o.GetName(), Namespace: o.GetNamespace(), OwnerReferences: o.GetOwnerReferences()}
	default:
		return false
	}
	s.loaded = nil
	return len(s.figures) > 0
}

// target is one of those whose load a pod carries.
type target struct{ kind, namespace, name string }

// chain is the pod, what controls it, what controls that.
func (s *Set) chain(p *corev1.Pod) []target {
	all := []target{{"Pod", p.Namespace, p.Name}}
	ref := metav1.GetControllerOfNoCopy(p)
	for depth := 0; ref != nil && depth < 4; depth++ {
		all = append(all, target{ref.Kind, p.Namespace, ref.Name})
		o := s.owners[ref.UID]
		if o == nil {
			break
		}
		ref = metav1.GetControllerOfNoCopy(o)
	}
	return all
}

// Pod is what is set for one pod.
type Pod struct {
	Namespace, Name, Node string
	UID                   types.UID
	Parts                 []Part // of CPU and memory, and of metrics
}

// Part is a pod's part of a figure.
type Part struct {
	*Figure
	By int64 // among how many pods it is shared
}

// At is its value at a moment.
func (p Part) At(now time.Duration) int64 { return p.Figure.At(now) / p.By }

// Above is the first moment, from one on, at which the part is more than v.
func (p Part) Above(now time.Duration, v int64) (time.Duration, bool) {
	if v >= 1<<55/p.By { // more than any figure
		return 0, false
	}
	at, ok := p.Curve.Above(now-p.Since, (v+1)*p.By-1)
	return at + p.Since, ok
}

// Part is what holds of one kind for a container of the pod, "" for the pod as a whole; false if nothing is set.
func (p *Pod) Part(what, container, metric string) (Part, bool) {
	if p == nil {
		return Part{}, false
	}
	for _, part := range p.Parts {
		if part.What == what && part.Container == container && part.Metric == metric {
			return part, true
		}
	}
	return Part{}, false
}

// Pod is what is set for a pod now, or nil.
func (s *Set) Pod(uid string) *Pod {
	if len(s.figures) == 0 {
		return nil
	}
	s.find()
	return s.loaded[types.UID(uid)]
}

// Pods are those for which something is set, in order.
func (s *Set) Pods() []*Pod {
	if len(s.figures) == 0 {
		return nil
	}
	s.find()
	all := make([]*Pod, 0, len(s.loaded))
	for _, p := range s.loaded {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name+"/"+string(a.UID), b.Namespace+"/"+b.Name+"/"+string(b.UID))
	})
	return all
}

// Sharing is how many pods share the load of a target now.
func (s *Set) Sharing(kind, namespace, name string) (n int) {
	for _, p := range s.pods {
		if p.Namespace == namespace && serves(p) && slices.Contains(s.chain(p), target{kind, namespace, name}) {
			n++
		}
	}
	return n
}

// serves reports whether requests would be sent to a pod: it is Ready and not on its way out.
func serves(p *corev1.Pod) bool {
	if p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning {
		return false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// find works out what holds for each pod, if that may have changed.
func (s *Set) find() {
	if s.loaded != nil {
		return
	}
	s.loaded = map[types.UID]*Pod{}
	of := map[target][]*Figure{}
	for _, f := range s.List() {
		if f.Kind != "" {
			t := target{f.Kind, f.Namespace, f.Name}
			of[t] = append(of[t], f)
		}
	}
	type carrier struct {
		pod   *corev1.Pod
		chain []target
	}
	var carriers []carrier
	sharing := map[target]int64{}
	for _, p := range s.pods {
		chain := s.chain(p)
		if !slices.ContainsFunc(chain, func(t target) bool { return of[t] != nil }) {
			continue
		}
		carriers = append(carriers, carrier{p, chain})
		for _, t := range chain {
			if of[t] != nil && serves(p) {
				sharing[t]++
			}
		}
	}
	for _, c := range carriers {
		p := &Pod{Namespace: c.pod.Namespace, Name: c.pod.Name, Node: c.pod.Spec.NodeName, UID: c.pod.UID}
		for _, t := range c.chain {
			for _, f := range of[t] {
				if _, nearer := p.Part(f.What, f.Container, f.Metric); nearer {
					continue
				}
				switch {
				case !f.Shared():
					p.Parts = append(p.Parts, Part{f, 1})
				case serves(c.pod):
					p.Parts = append(p.Parts, Part{f, sharing[t]})
				}
			}
		}
		if len(p.Parts) > 0 {
			s.loaded[p.UID] = p
		}
	}
}

// Fills reports whether something is set of the pod's memory.
func (p *Pod) Fills() bool {
	return slices.ContainsFunc(p.Parts, func(part Part) bool { return part.What == OfMemory })
}
