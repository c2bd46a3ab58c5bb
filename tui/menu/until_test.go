package menu

import (
	"testing"

	"kviz/cluster/expr"
	"kviz/tui/tuitest"
)

// Of a workload of each kind there are sentences in the way of its kind, each an expression that does not hold yet.
func TestSentencesAboutWorkloads(t *testing.T) {
	s := tuitest.Workloads().History().Latest()
	for kind, want := range map[string]struct {
		name string
		says []string
	}{
		"Deployment":  {"shop", []string{"Deployment demo/shop has more pods than it may have, or fewer available than it must"}},
		"StatefulSet": {"db", []string{"StatefulSet demo/db is rolled out", "StatefulSet demo/db has fewer pods available than it must"}},
		"DaemonSet":   {"log", []string{"DaemonSet demo/log is rolled out"}},
		"Job":         {"pi", []string{"Job demo/pi is over", "another index of Job demo/pi has failed for good", "another pod of Job demo/pi has failed"}},
		"CronJob":     {"report", []string{"CronJob demo/report makes its next Job"}},
	} {
		seen := map[string]bool{}
		for _, offer := range Sentences(s, tuitest.Ref(kind, "demo", want.name)) {
			seen[offer.Says] = true
			p, err := expr.Compile(offer.Expr)
			if err != nil {
				t.Errorf("%s: %v", offer.Says, err)
				continue
			}
			if holds, err := p.Eval(s, s.Event); err != nil || holds {
				t.Errorf("%s: it holds already (%t), or cannot be evaluated: %v", offer.Says, holds, err)
			}
		}
		for _, says := range want.says {
			if !seen[says] {
				t.Errorf("of %s nobody offers %q", kind, says)
			}
		}
	}
}
