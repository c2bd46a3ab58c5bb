package object

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawBudget draws what a PodDisruptionBudget asks for and allows: how many pods are healthy, how many must be, and how
// that number comes about; and what each of its pods counts for.
func drawBudget(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	b := f.S.Budget(o)
	if b == nil {
		return y
	}
	y = s.Heading(y, "budget", b.Rule+" · "+b.Policy)
	healthy := gauge{
		name: "healthy", n: b.Healthy, whole: max(b.Expected, b.Healthy, b.Desired, 1), limit: b.Desired, st: theme.Number,
		parts: []part{{b.Healthy, '▇', theme.Good}}, says: "≥ " + sumOf(b), also: fmt.Sprintf("of %d expected", b.Expected),
	}
	if b.Noted > 0 {
		healthy.also += fmt.Sprintf(", %d granted and not seen yet", b.Noted)
	}
	if b.Healthy < b.Desired {
		healthy.st = theme.Bad | grid.Bold
	}
	on := pane.Subject{ID: "budget/healthy", Ref: o.Ref, Event: o.Changed, Copy: fmt.Sprint(b.Healthy), Words: fmt.Sprintf("%d of the %d pods expected are healthy, and at least %s must be.", b.Healthy, b.Expected, sumOf(b))}
	y = healthy.draw(s, y, on)
	mark, st := "✗ ", theme.Bad
	if b.Allowed > 0 {
		mark, st = "✓ ", theme.Good
	}
	allows := fmt.Sprintf("allows %s = %d − %d", words.Count(b.Allowed, "eviction"), b.Healthy, b.Desired)
	switch {
	case b.Failed != "":
		allows = "allows none, because its pods cannot be counted: " + b.Failed
	case b.Behind:
		allows, mark, st = "allows none before its controller has counted its pods", "… ", theme.Warn
	case b.Expected <= 0:
		allows = "allows none, because no pod is expected"
	case b.Never():
		allows = "never allows an eviction: with all its pods healthy none is left over"
	case b.Allowed == 0:
		allows = fmt.Sprintf("allows no eviction: %d − %d = %d", b.Healthy, b.Desired, b.Healthy-b.Desired)
	}
	spans := []grid.Span{{Text: mark, Style: st | grid.Bold}, {Text: allows, Style: st}}
	if n, at := b.Refused(f.S); n > 0 {
		spans = append(spans, grid.Span{Text: fmt.Sprintf("  refused %s, last %s ago", words.Count(n, "eviction"), words.Dur(f.S.At-at)), Style: theme.Warn})
	}
	s.Line(y, pane.Subject{ID: "budget/allowed", Ref: o.Ref, Event: o.Changed, Copy: fmt.Sprint(b.Allowed), Words: o.Ref.String() + ": " + b.Says + "."}, spans...)
	return drawList(s, f, y+1, folded(b.Pods(f.S), f))
}

// sumOf is how many pods must be healthy, and how that comes about.
func sumOf(b *view.Budget) string {
	if n := fmt.Sprint(b.Desired); b.Sum == n {
		return n
	}
	return b.Sum
}

// folded cuts a list to what there is room for, those first that stand in the way.
func folded(list []view.Keeper, f *pane.Frame) []view.Keeper {
	most := max(f.Rows/3, 4)
	if len(list) <= most {
		return list
	}
	var bad, good []view.Keeper
	for _, k := range list {
		if k.Good {
			good = append(good, k)
		} else {
			bad = append(bad, k)
		}
	}
	all := append(bad, good...)
	return append(all[:most:most], view.Keeper{What: fmt.Sprintf("and %d more", len(all)-most), Good: len(bad) <= most})
}

// drawGuards draws the budgets that count a pod, and what became of its last evictions.
func drawGuards(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	pod, ok := o.Value.(*corev1.Pod)
	if !ok || o.Deleted {
		return y
	}
	var list []view.Keeper
	for _, b := range f.S.BudgetsOf(pod) {
		list = append(list, view.Keeper{What: b.Of.Name, Why: b.Says, Good: b.Allowed > 0, Ref: b.Of, Event: b.Changed})
	}
	if r := f.S.RefusalsOf(o); r != nil && !o.Deleting() {
		list = append(list, view.Keeper{What: "eviction", Why: r.Says(f.S), Ref: o.Ref, Event: r.Last.Event})
	}
	if len(list) == 0 {
		return y
	}
	return drawList(s, f, s.Heading(y, "budgets", "that an eviction of it asks"), list)
}
