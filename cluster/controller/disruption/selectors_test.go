package disruption

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// A budget's selector is parsed again when it has changed, or the budget is another one, and not when
// its status has.
func TestSelectorsAreParsedOnce(t *testing.T) {
	budget := func(uid string, generation int64, app string) *policyv1.PodDisruptionBudget {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "b", Generation: generation}}
		b.UID = "1"
		if uid != "" {
			b.UID = "2"
		}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
		return b
	}
	s := selectors{}
	for _, c := range []struct {
		budget *policyv1.PodDisruptionBudget
		app    string // that it selects
	}{
		{budget("", 1, "a"), "a"},
		{budget("", 1, "as before: not parsed again"), "a"},
		{budget("", 2, "b"), "b"},
		{budget("2", 2, "c"), "c"},
	} {
		sel, err := s.of(c.budget)
		if err != nil || !sel.Matches(labels.Set{"app": c.app}) {
			t.Errorf("the selector of %v is %v (%v)", c.budget, sel, err)
		}
	}
	if len(s) != 1 {
		t.Errorf("selectors of %d budgets are remembered", len(s))
	}
}
