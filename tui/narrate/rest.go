package narrate

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/view"
	"kviz/tui/podmark"
	"kviz/tui/words"
)

// looked is how many pods are looked at for what the cluster waits for.
const looked = 512

// Rest is what a cluster waits for in which nothing is news: "" for nothing.
func Rest(s *view.State) string {
	if q := s.Reach(); q.Total > 0 && !q.OK() {
		return fmt.Sprintf("waits for a quorum: %d of %d members are there, %d are needed; nothing can be written, pods run on", q.Have, q.Total, q.Need)
	}
	if q := s.Store.Quorum(); q.Total > 0 && s.Store.Leader == "" {
		return "waits for a leader: nobody leads, so nothing can be written"
	}
	if said := broken(s); said != "" {
		return said
	}
	for _, n := range s.Nodes() {
		if age, ok := s.LeaseAge(n.Name); ok && age >= view.NodeGrace {
			return fmt.Sprintf("%s has not renewed its Lease for %s; its pods are evicted 5m after it counts as lost", n.Name, words.Dur(age))
		}
	}
	said, n := "", 0
	s.EachObject("pods", "", func(o *view.Object) bool {
		if pod, ok := o.Value.(*corev1.Pod); ok {
			said = waitsOf(o.Ref.Key(), pod)
		}
		n++
		return said == "" && n < looked
	})
	return said
}

// broken names what was broken on purpose and is not mended; the newest first, where there is room for some.
func broken(s *view.State) string {
	const named = 3
	var all []string
	faults := s.Faults()
	for i := len(faults) - 1; i >= 0; i-- {
		f := faults[i]
		all = append(all, strings.TrimSpace(f.Fault.Fault+" "+f.Target+" "+f.Detail))
	}
	switch n := len(all); {
	case n == 0:
		return ""
	case n > named:
		return fmt.Sprintf("still broken: %s, and %d more", strings.Join(all[:named], ", "), n-named)
	}
	return "still broken: " + strings.Join(all, ", ")
}

// waitsOf is what a pod waits for.
func waitsOf(name string, p *corev1.Pod) string {
	mark := podmark.Of(p)
	switch {
	case p.DeletionTimestamp != nil && len(p.Finalizers) > 0:
		return fmt.Sprintf("%s is deleted as soon as nobody holds it any more: finalizer %s", name, p.Finalizers[0])
	case p.DeletionTimestamp != nil:
		return fmt.Sprintf("%s is ending: its containers have until the end of their grace period", name)
	case p.Spec.NodeName == "" && p.Status.Phase == corev1.PodPending:
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Message != "" {
				return fmt.Sprintf("%s waits for a node: %s", name, c.Message)
			}
		}
		return name + " waits for the scheduler"
	case mark.Word == "ContainerCreating" || mark.Word == "PodInitializing":
		return fmt.Sprintf("%s waits for its image and its containers on %s", name, p.Spec.NodeName)
	case mark.Glyph == '✗' && p.Status.Phase != corev1.PodFailed:
		return fmt.Sprintf("%s on %s: %s; its kubelet waits before it tries again", name, p.Spec.NodeName, mark.Word)
	case mark.Glyph == '◑':
		return fmt.Sprintf("%s runs on %s and is not Ready yet: its readiness probe has not succeeded", name, p.Spec.NodeName)
	}
	return ""
}
