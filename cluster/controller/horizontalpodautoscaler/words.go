package horizontalpodautoscaler

import (
	"fmt"
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"kviz/cluster/controller/pods"
	"kviz/cluster/trace"
)

// What a metric proposes, and by which sum, is also a sentence: it begins with the metric's name,
// and has a part for each step.

// words are how values are written: as percentages of requests, or as quantities.
type words struct {
	percent bool
	target  string
	value   func(int64) string
}

func inPercent(target int32) words {
	return words{percent: true, target: percent(target)}
}

func inQuantities(name corev1.ResourceName, target int64) words {
	value := func(v int64) string { q := quantity(name, v); return q.String() }
	return words{target: value(target), value: value}
}

func percent(n int32) string { return fmt.Sprintf("%d%%", n) }

// quantity is a value as a status has it (buildQuantity).
func quantity(name corev1.ResourceName, value int64) resource.Quantity {
	if name == corev1.ResourceMemory { // as metrics-server writes it
		return *resource.NewMilliQuantity(value, resource.BinarySI)
	}
	return *resource.NewMilliQuantity(value, resource.DecimalSI)
}

// sentence is one as it is written.
type sentence struct {
	words
	m *trace.AutoscaleMetric
}

func (s sentence) add(format string, args ...any) { s.m.Why += fmt.Sprintf(format, args...) }

// begin tells of values of pods.
func (w words) begin(m *trace.AutoscaleMetric, name corev1.ResourceName, is measured) sentence {
	s := sentence{w, m}
	ready := pods.Count(int32(m.Ready))
	if name == corev1.ResourceCPU {
		ready = plural(m.Ready, "ready pod")
	}
	if m.Target = w.target; w.percent {
		m.Current = percent(is.percent)
		s.add("%s %s %s of what %s, the target is %s", ready, verb(m.Ready, "uses", "use"), m.Current, verb(m.Ready, "it requests", "they request"), w.target)
	} else {
		m.Current = w.value(is.usage)
		s.add("%s %s %s%s, the target is %s", ready, verb(m.Ready, "has", "have"), m.Current, verb(m.Ready, "", " on average"), w.target)
	}
	if m.Ignored > 0 {
		s.add("; %s about to go, or failed, %s not count", plural(m.Ignored, "pod"), verb(m.Ignored, "does", "do"))
	}
	if m.Unready > 0 && m.Ratio <= 1 {
		s.add("; %s not ready %s not count", plural(m.Unready, "pod"), verb(m.Unready, "does", "do"))
	}
	return s
}

// of tells of one value.
func (w words) of(m *trace.AutoscaleMetric, value int64) sentence {
	m.Current, m.Target = w.value(value), w.target
	s := sentence{w, m}
	s.add("it is %s, the target is %s", m.Current, w.target)
	return s
}

// each tells of a value that pods share.
func (w words) each(m *trace.AutoscaleMetric, sum int64, n int32) sentence {
	m.Current, m.Target = w.value(sum), w.target
	s := sentence{w, m}
	if n > 0 {
		m.Current = w.value(int64(math.Ceil(float64(sum) / float64(n))))
		s.add("it is %s for %s, %s each, the target is %s each", w.value(sum), pods.Count(n), m.Current, w.target)
	} else {
		s.add("it is %s, the target is %s for each pod", w.value(sum), w.target)
	}
	return s
}

// near ends a sentence about a ratio that is near enough to 1.
func (s sentence) near(ratio float64) {
	within := s.m.Up
	if ratio < 1 {
		within = s.m.Down
	}
	s.add(": the ratio %s is within %s of 1, no change", number(ratio), number(within))
}

// product ends one with the multiplication. again is true where the ratio is not that of the
// values in the sentence.
func (s sentence) product(ratio float64, again bool) {
	n, product := s.m.By, ratio*float64(s.m.By)
	if again {
		s.add(": %d × %s%s", n, number(ratio), equals(product))
		return
	}
	is, target := s.m.Current, s.target
	if s.percent {
		is, target = is[:len(is)-1], target[:len(target)-1]
	}
	s.add(": %d × %s / %s%s", n, is, target, equals(product))
}

// filled tells of pods that count without a value.
func (s sentence) filled(ratio, now float64, full string) {
	m := s.m
	if m.Unready > 0 && ratio > 1 {
		s.add("; %s not ready %s as 0", plural(m.Unready, "pod"), verb(m.Unready, "counts", "count"))
	}
	if m.Missing > 0 {
		as := "as 0"
		if ratio < 1 {
			as = full
		}
		if ratio == 1 {
			as = "as nothing"
		}
		s.add("; %s without a value %s %s", plural(m.Missing, "pod"), verb(m.Missing, "counts", "count"), as)
	}
	s.add(", which makes the ratio %s instead of %s", number(now), number(ratio))
}

func (s sentence) turned() { s.add(": on the other side of 1, no change") }

func (s sentence) against(current int32) {
	s.add(", against the direction of the ratio: the %d stay", current)
}

func (s sentence) fromZero(ratio float64) {
	s.add(": from 0 pods the number is the ratio itself%s", equals(ratio))
}

func (s sentence) times(ratio float64, ready int) {
	s.add(": %s × %s / %s%s", plural(ready, "ready pod"), s.m.Current, s.target, equals(ratio*float64(ready)))
}

func (s sentence) quotient(sum, target int64) {
	s.add(": %s / %s%s", s.value(sum), s.target, equals(float64(sum)/float64(target)))
}

// equals is the end of an equation, whose result is rounded up.
func equals(x float64) string {
	if up := math.Ceil(x); up != x {
		return fmt.Sprintf(" = %s, rounded up to %.0f", number(x), up)
	}
	return fmt.Sprintf(" = %.0f", x)
}

// number is a number with two decimals at most, but with all where it would look whole and is not.
func number(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "(nothing to divide by)"
	}
	short := math.Round(x*100) / 100
	if short == math.Trunc(short) && short != x {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(short, 'f', -1, 64)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
