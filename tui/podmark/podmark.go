// Package podmark decides how a pod looks as a cell: a letter for its
// workload, a shape and a style for its phase, and the word that kubectl would
// print in its STATUS column.
//
// Start reading at [Of].
package podmark

import (
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Mark is the look of a pod's phase.
type Mark struct {
	Glyph rune
	Style grid.Style
	Word  string // "Running", "ContainerCreating", "CrashLoopBackOff" …
}

// Of is the mark of a pod object.
func Of(p *corev1.Pod) Mark {
	word := Status(p)
	switch {
	case p.DeletionTimestamp != nil:
		return Mark{'◌', theme.Warn, "Terminating"}
	case word == "Unknown":
		return Mark{'?', theme.Muted, word}
	case p.Status.Phase == corev1.PodSucceeded:
		return Mark{'✓', theme.Muted, word}
	case p.Status.Phase == corev1.PodFailed || strings.Contains(word, "BackOff") || strings.Contains(word, "Err") || word == "Error" || word == "OOMKilled":
		return Mark{'✗', theme.Bad, word}
	case p.Spec.NodeName == "":
		return Mark{'○', theme.Warn, word}
	case p.Status.Phase == corev1.PodRunning && ready(p):
		return Mark{'●', theme.Good, word}
	case p.Status.Phase == corev1.PodRunning:
		return Mark{'◑', theme.Warn, word + ", not ready"}
	}
	return Mark{'◐', theme.Busy, word}
}

// Room is the mark of a pod on the node where room is being made for it (status.nominatedNodeName).
var Room = Mark{'◇', theme.Warn, "room is made"}

// Legend explains the marks.
var Legend = [][2]string{
	{"●", "ready"},
	{"◑", "running, not ready"},
	{"◐", "starting"},
	{"○", "pending, no node yet"},
	{"◌", "terminating"},
	{"◇", "room is being made for it"},
	{"✗", "failed or crashing"},
	{"✓", "completed"},
	{"?", "unknown"},
}

func ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Status is what kubectl prints in the STATUS column, in short.
// (pkg/printers/internalversion/printers.go printPod)
func Status(p *corev1.Pod) string {
	word := string(p.Status.Phase)
	if p.Status.Reason != "" {
		word = p.Status.Reason
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Waiting != nil && c.State.Waiting.Reason != "" {
			word = c.State.Waiting.Reason
		} else if c.State.Terminated != nil && p.Status.Phase != corev1.PodSucceeded && c.State.Terminated.Reason != "" {
			word = c.State.Terminated.Reason
		}
	}
	if word == "" {
		word = "Pending"
	}
	return word
}

// Top is what the pod belongs to in the end: the owner that has none; the pod itself where it has none.
func Top(s *view.State, o *view.Object) *view.Object {
	for range 6 {
		up := s.Owner(o)
		if up == nil {
			break
		}
		o = up
	}
	return o
}

// Workload is the name of what the pod belongs to: its top owner's name.
func Workload(s *view.State, o *view.Object) string {
	top := Top(s, o)
	if top == o {
		if m := o.Meta(); m != nil {
			for _, r := range m.GetOwnerReferences() {
				return r.Name
			}
		}
	}
	return top.Name()
}

// Letter is the letter of a workload; workloads of kube-system have small ones.
func Letter(namespace, workload string) rune {
	for _, r := range strings.TrimPrefix(workload, "kube-") {
		if unicode.IsLetter(r) && r < 0x80 {
			if namespace == "kube-system" {
				return unicode.ToLower(r)
			}
			return unicode.ToUpper(r)
		}
	}
	return '#'
}

// Restarts is how often containers of the pod were started again.
func Restarts(p *corev1.Pod) int {
	n := 0
	for _, c := range p.Status.ContainerStatuses {
		n += int(c.RestartCount)
	}
	return n
}

// Endpoints counts the endpoints in the slices of a Service.
func Endpoints(s *view.State, svc *view.Object) (ready, all int) {
	s.EachObject("endpointslices", svc.Namespace(), func(o *view.Object) bool {
		sl, ok := o.Value.(*discoveryv1.EndpointSlice)
		if !ok || sl.Labels[discoveryv1.LabelServiceName] != svc.Name() {
			return true
		}
		for _, e := range sl.Endpoints {
			all++
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				ready++
			}
		}
		return true
	})
	return ready, all
}
