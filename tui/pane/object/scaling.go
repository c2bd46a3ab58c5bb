package object

import (
	"fmt"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// usualWindow is how long recommendations keep a target from shrinking, unless the behavior says.
const usualWindow = 5 * time.Minute

// drawScaling draws how an autoscaler stands: its metrics beside their targets, the sum of the last run, the recommendations that count, and how
// many replicas there were.
func drawScaling(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	hpa, ok := o.Value.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok {
		return y
	}
	target, ref := f.S.ScaleTarget(o)
	least := int32(1)
	if hpa.Spec.MinReplicas != nil {
		least = *hpa.Spec.MinReplicas
	}
	y = s.Heading(y, "scaling", fmt.Sprintf("%s/%s · %d to %d replicas", strings.ToLower(ref.Kind), ref.Name, least, hpa.Spec.MaxReplicas))
	if target == nil {
		y = line(s, y, o, "scaling/target", "✗ ", "there is no "+ref.Kind+" "+ref.Name+" in namespace "+ref.Namespace, theme.Bad)
	}
	a := f.S.Autoscaler(o)
	var sum *view.AutoscalerSum
	if a != nil {
		sum = a.Last()
	}
	y = drawMetrics(s, y, o, hpa, sum)
	if sum == nil {
		return line(s, y, o, "scaling/sum", "… ", "the controller has not worked it out yet", theme.Muted)
	}
	y = drawSum(s, f, y, o, sum)
	y = drawRecommendations(s, f, y, o, hpa, a, sum)
	return drawReplicas(s, f, y, a)
}

// drawMetrics draws each metric: what it is, what it should be, and what number comes of it.
func drawMetrics(s *pane.Sheet, y int, o *view.Object, hpa *autoscalingv2.HorizontalPodAutoscaler, sum *view.AutoscalerSum) int {
	nameW := 8
	for _, m := range view.MetricsNow(hpa) {
		nameW = max(nameW, min(grid.Width(m.Name), s.W()/4))
	}
	for i, m := range view.MetricsNow(hpa) {
		mark, st, says, event := "· ", theme.Muted, "", o.Changed
		if sum != nil && i < len(sum.Metrics) {
			last := &sum.Metrics[i]
			mark, st, says, event = "= ", theme.Good, sum.Arithmetic(last), sum.Event
			switch {
			case last.Error != "":
				mark, st, says = "✗ ", theme.Bad, last.Error
			case last.Proposed > sum.Current:
				mark, st = "▲ ", theme.Busy
			case last.Proposed < sum.Current:
				mark, st = "▼ ", theme.Busy
			}
		}
		current := theme.Number | grid.Bold
		if m.Current == "<unknown>" {
			current = theme.Warn
		}
		s.Line(y, pane.Subject{
			ID: fmt.Sprintf("scaling/metric/%d", i), Event: event, Kind: trace.ReconcileAction, Copy: m.Current,
			Words: fmt.Sprintf("%s metric %s of %s is %s, the target is %s. %s.", m.Type, m.Name, o.Ref, m.Current, m.Target, says),
		},
			grid.Span{Text: mark, Style: st}, grid.Span{Text: grid.Pad(grid.Cut(m.Name, nameW), nameW) + " ", Style: theme.Name},
			grid.Span{Text: grid.PadLeft(m.Current, 9), Style: current}, grid.Span{Text: " of ", Style: theme.Muted}, grid.Span{Text: grid.Pad(m.Target, 8), Style: theme.Number},
			grid.Span{Text: "  " + says, Style: st})
		y++
	}
	return y
}

// drawSum draws what comes of the metrics' numbers.
func drawSum(s *pane.Sheet, f *pane.Frame, y int, o *view.Object, sum *view.AutoscalerSum) int {
	mark, st, end := "= ", theme.Text, fmt.Sprintf("  stays at %d", sum.Desired)
	if sum.Rescale != "" {
		mark, st, end = "⇒ ", theme.Accent|grid.Bold, fmt.Sprintf("  from %d to %d", sum.Current, sum.Desired)
	}
	if f.Fresh(sum.Event) {
		st |= grid.Fresh
	}
	s.Line(y, pane.Subject{
		ID: "scaling/sum", Event: sum.Event, Kind: trace.ReconcileAction, Ref: sum.Target, Copy: sum.Line(),
		Words: fmt.Sprintf("The last run, %s ago: %s.", words.Dur(f.S.At-sum.At), sum.Why),
	}, grid.Span{Text: mark, Style: st}, grid.Span{Text: sum.Line(), Style: st}, grid.Span{Text: end, Style: theme.Muted}, grid.Span{Text: "  " + words.Dur(f.S.At-sum.At) + " ago", Style: theme.Muted})
	return y + 1
}

// drawRecommendations draws what the runs of the stabilization window proposed, and which of them counts.
func drawRecommendations(s *pane.Sheet, f *pane.Frame, y int, o *view.Object, hpa *autoscalingv2.HorizontalPodAutoscaler, a *view.Autoscaler, sum *view.AutoscalerSum) int {
	window := usualWindow
	if b := hpa.Spec.Behavior; b != nil && b.ScaleDown != nil && b.ScaleDown.StabilizationWindowSeconds != nil {
		window = time.Duration(*b.ScaleDown.StabilizationWindowSeconds) * time.Second
	}
	list := f.S.Recommendations(a, window)
	if len(list) == 0 || window == 0 {
		return y
	}
	values := make([]int, 0, len(list))
	most := list[0]
	for _, r := range list {
		values = append(values, int(r.Proposed))
		if r.Proposed >= most.Proposed {
			most = r
		}
	}
	says, st := fmt.Sprintf("highest %d, %s ago", most.Proposed, words.Dur(f.S.At-most.At)), theme.Muted
	if sum.Computed && sum.Stabilized != sum.Proposed {
		st = theme.Warn
		if left := most.At + window - f.S.At; left > 0 && sum.Stabilized > sum.Proposed {
			says += fmt.Sprintf(": it counts for %s more, now it is %d", words.Dur(left), sum.Proposed)
		}
	}
	return drawStrip(s, y, "recommended", "of "+words.Dur(window), values, says, st, pane.Subject{
		ID: "scaling/window", Event: most.Event, Kind: trace.ReconcileAction,
		Words: fmt.Sprintf("What the runs of the last %s proposed for %s, oldest first: %s. The target shrinks to the highest of them only.", words.Dur(window), o.Ref, numbers(values)),
	})
}

// drawReplicas draws how many replicas the target was to have, run by run.
func drawReplicas(s *pane.Sheet, f *pane.Frame, y int, a *view.Autoscaler) int {
	sums := a.Sums()
	values := make([]int, 0, len(sums))
	says := fmt.Sprintf("%d so far", sums[len(sums)-1].Desired)
	event := sums[0].Event
	for _, sum := range sums {
		values = append(values, int(sum.Desired))
		if sum.Rescale != "" {
			says, event = fmt.Sprintf("%d → %d, %s ago", sum.Current, sum.Desired, words.Dur(f.S.At-sum.At)), sum.Event
		}
	}
	return drawStrip(s, y, "replicas", "of "+words.Dur(f.S.At-sums[0].At), values, says, theme.Muted, pane.Subject{
		ID: "scaling/replicas", Event: event, Kind: trace.ReconcileAction,
		Words: fmt.Sprintf("How many replicas each of the last %s asked for, oldest first: %s. The last change: %s.", words.Count(len(values), "run"), numbers(values), says),
	})
}

// drawStrip draws numbers as blocks, the newest at the right.
func drawStrip(s *pane.Sheet, y int, name, note string, values []int, says string, st grid.Style, on pane.Subject) int {
	area := s.Row(y)
	x := area.Text(0, 0, grid.Pad(name, 12), theme.Muted)
	w := min(max(s.W()/4, 10), 40)
	if len(values) > w {
		values = values[len(values)-w:]
	}
	area.Spark(x, 0, len(values), values, theme.Accent)
	x = area.Text(x+len(values)+1, 0, note+"  ", theme.Muted)
	area.Fit(x, 0, s.W()-x, says, st)
	s.Hot(0, y, s.W(), on)
	return y + 1
}

// numbers lists the last of some numbers.
func numbers(values []int) string {
	const most = 24
	text := ""
	if len(values) > most {
		values, text = values[len(values)-most:], "… "
	}
	return text + strings.Trim(fmt.Sprint(values), "[]")
}
