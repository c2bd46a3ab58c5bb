package load

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// A curve is what its text says, and its text can be read again.
func TestCurve(t *testing.T) {
	const m = time.Minute
	for _, c := range []struct {
		unit Unit
		text string
		says string // "": as it was written
		at   map[time.Duration]string
	}{
		{CPU, "0.5", "500m", map[time.Duration]string{0: "500m", time.Hour: "500m"}},
		{CPU, "0.2..2/5m", "200m..2/5m", map[time.Duration]string{0: "200m", 150 * time.Second: "1100m", 5 * m: "2", time.Hour: "2"}},
		{CPU, "2..0.2/5m", "2..200m/5m", map[time.Duration]string{0: "2", 150 * time.Second: "1100m", 9 * m: "200m"}},
		{CPU, "0~1/10m", "", map[time.Duration]string{0: "0", 5 * m: "1", 10 * m: "0", 12*m + 30*time.Second: "500m", 15 * m: "1"}},
		{CPU, "1~0/10m", "", map[time.Duration]string{0: "1", 150 * time.Second: "500m", 5 * m: "0", 20 * m: "1"}},
		{Memory, "100Mi, 2m: 200Mi ,10m:1Gi..0/1m", "100Mi, 2m: 200Mi, 10m: 1Gi..0/1m", map[time.Duration]string{
			0: "100Mi", 2*m - 1: "100Mi", 2 * m: "200Mi", 10 * m: "1Gi", 10*m + 30*time.Second: "512Mi", 11 * m: "0",
		}},
		{Metric, "10k", "", map[time.Duration]string{0: "10k"}},
		{Metric, "1500m", "", map[time.Duration]string{m: "1500m"}},
	} {
		curve, err := ParseCurve(c.unit, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if c.says == "" {
			c.says = c.text
		}
		if curve.String() != c.says {
			t.Errorf("%s: its text is %q, want %q", c.text, curve, c.says)
		}
		if again, err := ParseCurve(c.unit, curve.String()); err != nil || again.String() != c.says {
			t.Errorf("%s: read again it is %v, %v", c.text, again, err)
		}
		for at, want := range c.at {
			if got := c.unit.Text(curve.At(at)); got != want {
				t.Errorf("%s after %s: %s, want %s", c.text, at, got, want)
			}
		}
	}
}

// What is not a curve is refused, with what is wrong with it.
func TestCurveRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "want cores such as 0.5 or 500m",
		"much":                            `not "much"`,
		"-1":                              "want from 0 to 100k",
		"1e300":                           "want from 0 to 100k",
		"1e99999":                         "unable to parse quantity",
		"1..2":                            "say how long it takes from one to the other: 1..2/5m",
		"1~2":                             "1~2/5m",
		"1/5m":                            "only what changes takes time: 1, or 0..1/5m",
		"1..2/now":                        "want a time such as 30s, 5m or 2h",
		"1..2/1ms":                        "want a time from 1s",
		"1, 2":                            "say from when on \"2\" holds: 2m: 2",
		"1m: 2":                           "the first part begins at once",
		"1, 5m: 2, 3m: 3":                 "in the order of time",
		strings.Repeat("1", 2000):         "a curve of 2000 characters",
		"0" + strings.Repeat(",1s:0", 40): "comes after",
	} {
		if _, err := ParseCurve(CPU, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	if _, err := ParseCurve(Memory, "200m"); err == nil || !strings.Contains(err.Error(), "less than one byte: M and Mi are millions") {
		t.Errorf("a fifth of a byte: %v", err)
	}
	many := "0"
	for i := range maxParts {
		many += fmt.Sprintf(",%ds:0", i+1)
	}
	if _, err := ParseCurve(CPU, many); err == nil || !strings.Contains(err.Error(), "more than 32 parts") {
		t.Errorf("a curve of many parts: %v", err)
	}
}

// Above finds the first moment at which a curve is above a value: it is so then, to a millisecond, and at no moment before.
func TestAboveIsTheFirstMoment(t *testing.T) {
	figure := rapid.Map(rapid.IntRange(0, 400), func(n int) string { return fmt.Sprintf("%dMi", n) })
	span := rapid.Map(rapid.IntRange(1, 300), func(n int) string { return fmt.Sprintf("%ds", n) })
	steady.Check(t, func(t *rapid.T) {
		one := func() string {
			switch a := figure.Draw(t, "a"); rapid.IntRange(0, 2).Draw(t, "sort") {
			case 1:
				return a + ".." + figure.Draw(t, "b") + "/" + span.Draw(t, "over")
			case 2:
				return a + "~" + figure.Draw(t, "b") + "/" + span.Draw(t, "period")
			default:
				return a
			}
		}
		text, at := one(), 0
		for range rapid.IntRange(0, 3).Draw(t, "more") {
			at += rapid.IntRange(1, 400).Draw(t, "later")
			text += fmt.Sprintf(", %ds: %s", at, one())
		}
		c, err := ParseCurve(Memory, text)
		if err != nil {
			t.Fatal(err)
		}
		from := time.Duration(rapid.IntRange(0, 1000).Draw(t, "from")) * time.Second
		v := int64(rapid.IntRange(0, 400).Draw(t, "v")) << 20
		first, ever := c.Above(from, v)
		if ever && (first < from || c.At(first) <= v) {
			t.Fatalf("%s is %d at %s, not above %d", text, c.At(first), first, v)
		}
		end := from + 30*time.Minute
		if ever {
			end = first - time.Millisecond
		}
		for at := from; at < end; at += 100 * time.Millisecond {
			if c.At(at) > v {
				t.Fatalf("%s is %d at %s, above %d; the first moment is said to be %s (%v)", text, c.At(at), at, v, first, ever)
			}
		}
	})
}

// pods tells a set of pods of a Deployment's ReplicaSet.
func pods(s *Set, ready ...bool) {
	yes := true
	s.Written(trace.Ref{Kind: "ReplicaSet", Namespace: "demo", Name: "web-1"}, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "demo", Name: "web-1", UID: "rs", OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: "web", UID: "d", Controller: &yes}},
	}})
	for i, is := range ready {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "demo", Name: fmt.Sprintf("web-1-%d", i), UID: types.UID(fmt.Sprint(i)),
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-1", UID: "rs", Controller: &yes}},
		}}
		p.Status.Phase = corev1.PodRunning
		if is {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		s.Written(trace.Ref{Kind: "Pod", Namespace: "demo", Name: p.Name}, p)
	}
}

func apply(t *testing.T, s *Set, p trace.Load) {
	t.Helper()
	if err := s.Check(&p); err != nil {
		t.Fatal(err)
	}
	s.Apply(&p, 0, trace.ID{})
}

func web(kind string, figures ...trace.LoadFigure) trace.Load {
	return trace.Load{Target: trace.Ref{Kind: kind, Namespace: "demo", Name: map[string]string{"Pod": "web-1-0", "Deployment": "web", "ReplicaSet": "web-1"}[kind]}, Figures: figures}
}

// says is what is set for each pod, in cores.
func says(s *Set) string {
	var all []string
	for _, p := range s.Pods() {
		text := p.Name
		for _, part := range p.Parts {
			text += " " + part.Words() + part.Container + "=" + part.Curve.unit.Text(part.At(time.Minute))
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// A workload's load is shared among its Ready pods, whichever they are; what is set for each pod is not, and what is nearer
// goes before.
func TestShared(t *testing.T) {
	s := NewSet()
	cpu := trace.LoadFigure{What: OfCPU, Curve: "0.6"}
	apply(t, s, web("Deployment", cpu)) // before there are pods
	pods(s, true, true, false)
	check := func(want string) {
		t.Helper()
		if got := says(s); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	check("web-1-0 cpu=300m, web-1-1 cpu=300m")
	pods(s, true, true, true)
	check("web-1-0 cpu=200m, web-1-1 cpu=200m, web-1-2 cpu=200m")
	if n := s.Sharing("Deployment", "demo", "web"); n != 3 {
		t.Errorf("%d share it, want 3", n)
	}
	apply(t, s, web("Pod", trace.LoadFigure{What: OfCPU, Curve: "1"}, trace.LoadFigure{What: OfMetric, Name: "hits", Curve: "7"}))
	check("web-1-0 cpu=1 hits=7, web-1-1 cpu=200m, web-1-2 cpu=200m")
	each := web("ReplicaSet", trace.LoadFigure{What: OfCPU, Curve: "50m"})
	each.Each = true
	apply(t, s, each)
	check("web-1-0 cpu=1 hits=7, web-1-1 cpu=50m, web-1-2 cpu=50m")
	apply(t, s, trace.Load{Target: each.Target, Off: true})
	s.Written(trace.Ref{Kind: "Pod", Namespace: "demo", Name: "web-1-1"}, nil)
	check("web-1-0 cpu=1 hits=7, web-1-2 cpu=300m")
	apply(t, s, web("Deployment", trace.LoadFigure{What: OfCPU}))
	check("web-1-0 cpu=1 hits=7")
	apply(t, s, trace.Load{Off: true})
	check("")
}

// What makes no sense is refused before anything is set.
func TestRefused(t *testing.T) {
	s := NewSet()
	pods(s, true)
	service := trace.Ref{Kind: "Service", Namespace: "demo", Name: "web"}
	for _, c := range []struct {
		p    trace.Load
		want string
	}{
		{web("Deployment"), "say what to set"},
		{web("Deployment", trace.LoadFigure{What: OfCPU}), "cpu is not set there"},
		{web("Deployment", trace.LoadFigure{What: "disk", Curve: "1"}), "no load called \"disk\""},
		{web("Deployment", trace.LoadFigure{What: OfMetric, Name: "a/b", Curve: "1"}), "cannot be called \"a/b\""},
		{trace.Load{Target: service, Figures: []trace.LoadFigure{{What: OfCPU, Curve: "1"}}}, "service/web is neither"},
		{trace.Load{Target: service, Each: true, Figures: []trace.LoadFigure{{What: OfMetric, Name: "hits", Curve: "1"}}}, "--each is for the pods of a workload"},
		{trace.Load{Target: service, Off: true}, "nothing is set for service/web"},
		{trace.Load{Figures: []trace.LoadFigure{{What: OfExternal, Name: "queue", Labels: "a b", Curve: "1"}}}, "want KEY=VALUE"},
		{trace.Load{Figures: []trace.LoadFigure{{What: OfMetric, Name: "hits", Curve: "1"}}}, "name what the metric is about"},
	} {
		if err := s.Check(&c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.p, err, c.want)
		}
	}
	for i := range MaxFigures {
		apply(t, s, web("Deployment", trace.LoadFigure{What: OfMetric, Name: fmt.Sprint("m", i), Curve: "1"}))
	}
	p := web("Deployment", trace.LoadFigure{What: OfCPU, Curve: "1"})
	if err := s.Check(&p); err == nil || !strings.Contains(err.Error(), "at most 256") {
		t.Errorf("one too many: %v", err)
	}
}
