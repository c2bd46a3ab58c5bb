package object

import (
	"fmt"
	"sort"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/podmark"
	"kviz/tui/theme"
	"kviz/tui/words"
)

func want(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// field is one thing that is wanted and observed.
type field struct{ name, spec, status string }

func fields(v runtime.Object) []field {
	n := func(x int32) string { return fmt.Sprint(x) }
	switch v := v.(type) {
	case *appsv1.Deployment:
		return []field{
			{"replicas", n(want(v.Spec.Replicas)), n(v.Status.Replicas)},
			{"updated", n(want(v.Spec.Replicas)), n(v.Status.UpdatedReplicas)},
			{"available", n(want(v.Spec.Replicas)), n(v.Status.AvailableReplicas)},
			{"generation", fmt.Sprint(v.Generation), fmt.Sprint(v.Status.ObservedGeneration)},
		}
	case *appsv1.ReplicaSet:
		return []field{
			{"replicas", n(want(v.Spec.Replicas)), n(v.Status.Replicas)},
			{"ready", n(want(v.Spec.Replicas)), n(v.Status.ReadyReplicas)},
			{"generation", fmt.Sprint(v.Generation), fmt.Sprint(v.Status.ObservedGeneration)},
		}
	case *appsv1.StatefulSet:
		return []field{
			{"replicas", n(want(v.Spec.Replicas)), n(v.Status.Replicas)},
			{"ready", n(want(v.Spec.Replicas)), n(v.Status.ReadyReplicas)},
			{"generation", fmt.Sprint(v.Generation), fmt.Sprint(v.Status.ObservedGeneration)},
		}
	case *appsv1.DaemonSet:
		return []field{
			{"scheduled", n(v.Status.DesiredNumberScheduled), n(v.Status.CurrentNumberScheduled)},
			{"ready", n(v.Status.DesiredNumberScheduled), n(v.Status.NumberReady)},
			{"generation", fmt.Sprint(v.Generation), fmt.Sprint(v.Status.ObservedGeneration)},
		}
	case *batchv1.Job:
		return []field{{"completions", n(want(v.Spec.Completions)), n(v.Status.Succeeded)}}
	}
	return nil
}

// drawSpecStatus draws what is wanted beside what is.
func (p *Object) drawSpecStatus(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	list := fields(o.Value)
	if len(list) == 0 {
		return drawPod(s, f, y, o)
	}
	y = s.Heading(y, "wanted and observed", "")
	a := s.Row(y)
	a.Right(18, 0, "spec", theme.Muted)
	a.Right(28, 0, "status", theme.Muted)
	y++
	for _, d := range list {
		mark, st := "=", theme.Good
		if d.spec != d.status {
			mark, st = "≠", theme.Warn|grid.Bold
		}
		a := s.Row(y)
		a.Text(0, 0, d.name, theme.Muted)
		a.Right(18, 0, d.spec, theme.Number)
		a.Text(20, 0, mark, st)
		a.Right(28, 0, d.status, theme.Number)
		y++
	}
	return y
}

func drawPod(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	pod, ok := o.Value.(*corev1.Pod)
	if !ok {
		return y
	}
	m := podmark.Of(pod)
	a := s.Row(y)
	x := a.Text(0, 0, string(m.Glyph)+" "+m.Word+"  ", m.Style)
	where := "no node yet"
	if pod.Spec.NodeName != "" {
		where = "on " + pod.Spec.NodeName
	}
	x = a.Text(x, 0, where+"  ", theme.Text)
	a.Text(x, 0, pod.Status.PodIP, theme.Number)
	y++
	for _, c := range pod.Spec.Containers {
		a := s.Row(y)
		x := a.Text(0, 0, "  "+c.Name+" ", theme.Name)
		x = a.Text(x, 0, c.Image+" ", theme.Muted)
		var req []string
		for name, q := range c.Resources.Requests {
			req = append(req, string(name)+" "+q.String())
		}
		sort.Strings(req)
		if len(req) > 0 {
			a.Fit(x, 0, s.W()-x, "requests "+strings.Join(req, ", "), theme.Muted)
		}
		y++
	}
	return y
}

type condition struct{ kind, status, reason, message string }

func conditions(v runtime.Object) []condition {
	var out []condition
	switch v := v.(type) {
	case *corev1.Pod:
		for _, c := range v.Status.Conditions {
			out = append(out, condition{string(c.Type), string(c.Status), c.Reason, c.Message})
		}
	case *corev1.Node:
		for _, c := range v.Status.Conditions {
			out = append(out, condition{string(c.Type), string(c.Status), c.Reason, c.Message})
		}
	case *appsv1.Deployment:
		for _, c := range v.Status.Conditions {
			out = append(out, condition{string(c.Type), string(c.Status), c.Reason, c.Message})
		}
	case *policyv1.PodDisruptionBudget:
		for _, c := range v.Status.Conditions {
			out = append(out, condition{c.Type, string(c.Status), c.Reason, c.Message})
		}
	case *batchv1.Job:
		for _, c := range v.Status.Conditions {
			out = append(out, condition{string(c.Type), string(c.Status), c.Reason, c.Message})
		}
	case *autoscalingv2.HorizontalPodAutoscaler:
		for _, c := range v.Status.Conditions {
			out = append(out, condition{string(c.Type), string(c.Status), c.Reason, c.Message})
		}
	}
	return out
}

func drawConditions(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	list := conditions(o.Value)
	if len(list) == 0 {
		return y
	}
	y = s.Heading(y, "conditions", "")
	for _, c := range list {
		mark, st := "✓", theme.Good
		bad := strings.HasSuffix(c.kind, "Pressure") || strings.HasSuffix(c.kind, "Unavailable") || c.kind == "Failed" || c.kind == "ReplicaFailure" ||
			c.kind == "ScalingLimited" || c.kind == "ScaledToZero"
		if (c.status == "True") == bad {
			mark, st = "✗", theme.Warn
		}
		a := s.Row(y)
		a.Text(0, 0, mark, st)
		x := a.Text(2, 0, c.kind+" ", theme.Text)
		x = a.Text(x, 0, c.status+" ", theme.Muted)
		text := strings.TrimSpace(c.reason + " " + c.message)
		a.Fit(x, 0, s.W()-x, text, theme.Muted)
		s.Hot(0, y, s.W(), pane.Subject{ID: "cond/" + c.kind, Event: o.Changed, Words: c.kind + " is " + c.status + ". " + text})
		y++
	}
	return y
}

// drawHistory draws the last n writes with the lines they changed.
func (p *Object) drawHistory(s *pane.Sheet, f *pane.Frame, y int, o *view.Object, n int) int {
	all := o.History()
	if len(all) == 0 {
		return y
	}
	y = s.Heading(y, "writes", fmt.Sprintf("%d of %d", min(n, len(all)), o.Version))
	for i := len(all) - 1; i >= 0 && i >= len(all)-n; i-- {
		c := all[i]
		st := theme.Text
		switch c.Type {
		case "ADDED":
			st = theme.Added
		case "DELETED":
			st = theme.Removed
		}
		if f.Fresh(c.Event) {
			st |= grid.Fresh
		}
		s.Line(y, pane.Subject{ID: "write/" + c.Event.String(), Event: c.Event, Kind: trace.StoreCommit, Words: fmt.Sprintf("Revision %d: %s at %s.", c.Revision, c.Type, words.Clock(c.At))},
			grid.Span{Text: "#" + c.Event.String() + " ", Style: theme.Event}, grid.Span{Text: fmt.Sprintf("rev %d %s", c.Revision, c.Type), Style: st})
		first := y
		y++
		if i > 0 && c.Type == "MODIFIED" {
			y = drawDiff(s, y, p.yaml(all[i-1].Value), p.yaml(c.Value), 14)
		}
		s.Mark(grid.Rect{Y: first, W: s.W(), H: y - first}, "write/"+c.Event.String()+"/changes") // for a lesson: the write with all that it changed
	}
	return y
}

// drawDiff draws what changed between two YAML texts, each field with its path.
func drawDiff(s *pane.Sheet, y int, before, after []string, most int) int {
	list := diff(before, after)
	for i, d := range list {
		if i == most {
			s.Row(y).Text(2, 0, fmt.Sprintf("… %d more", len(list)-i), theme.Muted)
			return y + 1
		}
		a := s.Row(y)
		a.Put(2, 0, d.sign, d.style())
		x := a.Text(4, 0, d.path, theme.Name)
		if d.sign == '~' {
			a.Spans(x, 0, grid.Span{Text: ": " + d.old, Style: theme.Removed}, grid.Span{Text: " → ", Style: theme.Muted}, grid.Span{Text: d.now, Style: theme.Added})
		} else {
			a.Spans(x, 0, grid.Span{Text: ": " + d.old + d.now, Style: d.style()})
		}
		y++
	}
	return y
}

// change is a field that came ('+'), went ('-') or got another value ('~').
type change struct {
	sign           rune
	path, old, now string
}

func (c change) style() grid.Style {
	switch c.sign {
	case '+':
		return theme.Added
	case '-':
		return theme.Removed
	}
	return theme.Text
}

// diff lists the fields that changed, by path, leaving out what changes at
// every write.
func diff(before, after []string) []change {
	old, now := paths(unfold(before)), paths(unfold(after))
	at := map[string]int{}
	var out []change
	for _, p := range old.order {
		if !now.has[p] && !noise(p) {
			path, value, _ := strings.Cut(p, ": ")
			at[path] = len(out)
			out = append(out, change{'-', path, value, ""})
		}
	}
	for _, p := range now.order {
		if old.has[p] || noise(p) {
			continue
		}
		path, value, _ := strings.Cut(p, ": ")
		if i, ok := at[path]; ok && out[i].sign == '-' {
			out[i].sign, out[i].now = '~', value
			continue
		}
		out = append(out, change{'+', path, "", value})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].path < out[j].path })
	return out
}

func noise(p string) bool {
	return strings.HasSuffix(p, ": null") || strings.HasPrefix(p, "metadata.resourceVersion") || strings.HasPrefix(p, "metadata.managedFields")
}

type pathSet struct {
	order []string
	has   map[string]bool
}

// paths turns YAML lines into "a.b.c: value" lines.
func paths(lines []string) pathSet {
	set := pathSet{has: map[string]bool{}}
	var stack []string
	var depths []int
	item := map[string]int{}
	for _, l := range lines {
		body := strings.TrimLeft(l, " ")
		depth := len(l) - len(body)
		dash := strings.HasPrefix(body, "- ")
		for len(depths) > 0 && (depths[len(depths)-1] > depth || depths[len(depths)-1] == depth && !dash) {
			depths, stack = depths[:len(depths)-1], stack[:len(stack)-1]
		}
		if dash {
			for len(depths) > 0 && depths[len(depths)-1] == depth && strings.HasPrefix(stack[len(stack)-1], "[") {
				depths, stack = depths[:len(depths)-1], stack[:len(stack)-1]
			}
			at := strings.Join(stack, ".")
			stack, depths = append(stack, fmt.Sprintf("[%d]", item[at])), append(depths, depth)
			item[at]++
			body = body[2:]
			depth += 2
		}
		name, value, found := cutField(body)
		switch {
		case found:
			set.add(strings.Join(append(append([]string(nil), stack...), name), ".") + ": " + value)
		case opens(body):
			stack, depths = append(stack, strings.TrimSuffix(body, ":")), append(depths, depth)
		default:
			set.add(strings.Join(stack, ".") + ": " + body)
		}
	}
	return set
}

func (s *pathSet) add(p string) {
	p = strings.ReplaceAll(p, ".[", "[")
	if !s.has[p] {
		s.has[p] = true
		s.order = append(s.order, p)
	}
}
