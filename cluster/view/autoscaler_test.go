package view_test

import (
	"strings"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/tuitest"
)

// The sum of a run in one line says what the number comes from and what held it where it is.
func TestSumInOneLine(t *testing.T) {
	metric := func(why string, proposed int32) []trace.AutoscaleMetric {
		return []trace.AutoscaleMetric{{Name: "cpu", Why: "4 ready pods use 90%, the target is 60%: " + why, Proposed: proposed}}
	}
	for want, x := range map[string]*trace.Autoscale{
		"4 × 90 / 60 = 6": {Current: 4, Metrics: metric("4 × 90 / 60 = 6", 6), Computed: true, Proposed: 6, Stabilized: 6, Desired: 6},
		"4 × 90 / 60 = 6 → at most 5 (maxReplicas)":  {Current: 4, Metrics: metric("4 × 90 / 60 = 6", 6), Computed: true, Proposed: 6, Stabilized: 6, Max: 5, Desired: 5, Limited: true, Limit: "TooManyReplicas"},
		"4 × 10 / 60 = 1 → at least 2 (minReplicas)": {Current: 4, Metrics: metric("4 × 10 / 60 = 1", 1), Computed: true, Proposed: 1, Stabilized: 1, Desired: 2, Limited: true, Limit: "TooFewReplicas"},
		"6 × 10 / 60 = 1 → 6 (highest of the last 5m)": {
			Current: 6, Metrics: metric("6 × 10 / 60 = 1", 1), Computed: true, Proposed: 1, Stabilized: 6, Window: 5 * time.Minute, Desired: 6,
		},
		"20 / 1 = 20 → at most 8 (behavior.scaleUp)":          {Current: 4, Metrics: metric("20 / 1 = 20", 20), Computed: true, Proposed: 20, Stabilized: 20, Desired: 8, Limited: true, Limit: "ScaleUpLimit", Policy: true},
		"20 / 1 = 20 → at most 8 (twice as many, or 4)":       {Current: 4, Metrics: metric("20 / 1 = 20", 20), Computed: true, Proposed: 20, Stabilized: 20, Desired: 8, Limited: true, Limit: "ScaleUpLimit"},
		"it has 9 → at most 5 (maxReplicas)":                  {Current: 9, Max: 5, Desired: 5},
		"no value of cpu → 4 stay":                            {Current: 4, Metrics: []trace.AutoscaleMetric{{Name: "cpu", Error: "no metrics"}}, Desired: 4},
		"the target has 0 replicas, set by hand → left alone": {},
	} {
		if got := (&view.AutoscalerSum{Autoscale: x}).Line(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Asked why of an autoscaler, one is told the sum, what keeps it from shrinking and for how long, and what changed last.
func TestWhyAnAutoscaler(t *testing.T) {
	s := tuitest.Autoscaling().History().Latest()
	all := s.ReasonsOf(tuitest.Ref("HorizontalPodAutoscaler", "demo", "shop"))
	if len(all) != 1 {
		t.Fatalf("%d answers, want 1", len(all))
	}
	text := all[0].Says
	for _, k := range all[0].From {
		text += "\n" + k.What + ": " + k.Why
	}
	for _, want := range []string{
		"keeps Deployment demo/shop at 5 replicas: 5 × 20 / 60 = 2 → 6 (highest of the last 5m) → at most 5 (maxReplicas)",
		"cpu: 5 ready pods use 20% of what they request, the target is 60%: 5 × 20 / 60 = 2",
		"stabilization: the highest recommendation of the last 5m counts: 6, 30s ago, so for 4m29s more; now it is 2",
		"maxReplicas: at most 5, where 6 would be",
		"last change: 4 to 5, 1m30s ago: 4 × 90 / 60 = 6 → at most 5 (maxReplicas)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// What is set for a workload is told of it and of its pods; what is set nearer goes before, and what is taken away is gone.
func TestLoadOfAPod(t *testing.T) {
	tape := tuitest.Workloads()
	pod, set := tuitest.Ref("Pod", "demo", "db-0"), tuitest.Ref("StatefulSet", "demo", "db")
	load := func(of trace.Ref, p trace.Load) {
		p.Target = of
		tape.Emit(trace.CompSimulation, "", trace.LoadSet, of, &p)
	}
	says := func() string {
		s := tape.History().Latest()
		var all []string
		for _, l := range s.LoadOn(s.ObjectOf(pod)) {
			all = append(all, l.Target()+" "+l.Words()+" "+l.Text(s.At))
		}
		return strings.Join(all, ", ")
	}
	load(set, trace.Load{Figures: []trace.LoadFigure{{What: "cpu", Curve: "900m"}, {What: "memory", Curve: "300Mi"}}})
	if got := says(); got != "statefulset/db cpu 900m, statefulset/db memory 300Mi" {
		t.Error(got)
	}
	load(pod, trace.Load{Figures: []trace.LoadFigure{{What: "cpu", Curve: "1"}}})
	if got := says(); got != "pod/db-0 cpu 1, statefulset/db memory 300Mi" {
		t.Error(got)
	}
	load(pod, trace.Load{Off: true})
	load(set, trace.Load{Figures: []trace.LoadFigure{{What: "memory"}}})
	if got := says(); got != "statefulset/db cpu 900m" {
		t.Error(got)
	}
	load(trace.Ref{}, trace.Load{Off: true})
	if got := says(); got != "" {
		t.Error(got)
	}
}
