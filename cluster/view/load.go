package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/load"
	"kviz/cluster/trace"
)

// Load is a figure that a person has set with kviz load.
type Load struct {
	gen
	load.Figure
}

func (l *Load) seal() {}

func init() {
	on(trace.LoadSet, func(b *Builder, e *trace.Event, p *trace.Load) {
		if p.Off {
			for key, l := range entries(b.s.loads) {
				if p.Target == (trace.Ref{}) || l.Kind == p.Target.Kind && l.Namespace == p.Target.Namespace && l.Name == p.Target.Name && (p.Container == "" || l.Container == p.Container) {
					b.s.loads.delete(key)
				}
			}
			return
		}
		figures, err := load.Figures(p, e.At, e.ID)
		if err != nil {
			return // a newer kviz wrote it
		}
		for _, f := range figures {
			if f.Curve == nil {
				b.s.loads.delete(loadKey(f.Key))
			} else {
				b.s.loads.set(loadKey(f.Key), &Load{Figure: f})
			}
		}
	})
	say(trace.LoadSet, func(_ *trace.Event, p *trace.Load) string { return loadText(p) })
}

func loadKey(k load.Key) string {
	return strings.Join([]string{k.Namespace, k.Kind, k.Name, k.Container, k.What, k.Metric, k.Labels}, "\x00")
}

// loadText is what was set, in a sentence.
func loadText(p *trace.Load) string {
	whose := strings.ToLower(p.Target.Kind) + " " + p.Target.Key()
	switch {
	case p.Off && p.Target == (trace.Ref{}):
		return "no load is set any more"
	case p.Off:
		return "the load of " + whose + " is not set any more"
	case p.Target.Kind == "":
		whose = "an external metric"
	case p.Container != "":
		whose = "container " + p.Container + " of " + whose
	}
	var says []string
	for _, g := range p.Figures {
		name := g.What
		if g.Name != "" {
			name = g.Name + tail(" of ", g.Labels)
		}
		if g.Curve == "" {
			says = append(says, name+" not set any more")
		} else {
			says = append(says, name+" "+g.Curve)
		}
	}
	how := ""
	if load.Workload(p.Target.Kind) {
		how = ", shared among its Ready pods"
		if p.Each {
			how = ", for each pod"
		}
	}
	return fmt.Sprintf("load of %s: %s%s", whose, strings.Join(says, "; "), how)
}

// Loads are the figures that are set, by namespace, kind and name.
func (s *State) Loads() []*Load { return s.loads.values() }

// LoadsOf are those of one object, by itself.
func (s *State) LoadsOf(ref trace.Ref) []*Load {
	var out []*Load
	prefix := strings.Join([]string{ref.Namespace, ref.Kind, ref.Name}, "\x00") + "\x00"
	s.loads.from(prefix, func(k string, l *Load) bool {
		if !strings.HasPrefix(k, prefix) {
			return false
		}
		out = append(out, l)
		return true
	})
	return out
}

// LoadOn are the figures that hold for an object: its own, and for a pod those of what controls it, where it has none
// of the same kind itself.
func (s *State) LoadOn(o *Object) (all []*Load) {
	for depth := 0; o != nil && depth < 4; depth++ {
		for _, l := range s.LoadsOf(o.Ref) {
			nearer := slices.ContainsFunc(all, func(m *Load) bool {
				return m.What == l.What && m.Metric == l.Metric && m.Container == l.Container
			})
			if !nearer {
				all = append(all, l)
			}
		}
		if depth == 0 && o.Ref.Kind != "Pod" {
			break
		}
		o = s.Owner(o)
	}
	return all
}

// LoadPoint is the value of a figure at a moment of virtual time.
type LoadPoint struct {
	At    time.Duration
	Value int64
}

// Over are n values of the figure, from one moment to another.
func (l *Load) Over(from, to time.Duration, n int) []LoadPoint {
	out := make([]LoadPoint, 0, max(n, 0))
	for i := range n {
		at := from
		if n > 1 {
			at += (to - from) * time.Duration(i) / time.Duration(n-1)
		}
		out = append(out, LoadPoint{at, l.At(at)})
	}
	return out
}

// Sharing is how many pods share what is set for a workload: those that its status says are Ready.
func Sharing(o *Object) int {
	switch v := o.Value.(type) {
	case *appsv1.Deployment:
		return int(v.Status.ReadyReplicas)
	case *appsv1.ReplicaSet:
		return int(v.Status.ReadyReplicas)
	case *corev1.ReplicationController:
		return int(v.Status.ReadyReplicas)
	case *appsv1.StatefulSet:
		return int(v.Status.ReadyReplicas)
	case *appsv1.DaemonSet:
		return int(v.Status.NumberReady)
	case *batchv1.Job:
		if v.Status.Ready != nil {
			return int(*v.Status.Ready)
		}
	}
	return 0
}

// Part is what a pod has of a figure now, and among how many it is shared: 1 where it is not. A pod that is not Ready
// has nothing of what is shared.
func (s *State) Part(l *Load, pod *Object) (text string, among int) {
	if !l.Shared() {
		return l.Text(s.At), 1
	}
	among = 0
	if owner := s.Object(l.Kind, l.Namespace, l.Name); owner != nil {
		among = Sharing(owner)
	}
	if pod.stage != Ready || among == 0 {
		return "nothing", among
	}
	return l.Curve.Unit().Text(l.At(s.At) / int64(among)), among
}
