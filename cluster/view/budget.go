package view

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kviz/cluster/trace"
)

// Budget is how a PodDisruptionBudget stands, by what its controller has written: how many pods are to be
// healthy, how many are, and how many may be evicted.
type Budget struct {
	Of      trace.Ref
	Changed trace.ID

	Rule   string // "minAvailable 50%"
	Sum    string // how Desired comes of it: "50% of 5 = 2.5, rounded up 3"
	Policy string // about pods that are not ready

	Expected int // pods, by what their owners ask for
	Desired  int // that must be healthy
	Healthy  int // that are, those not counted for which an eviction was granted
	Allowed  int // disruptions
	Noted    int // evictions granted whose deletion the controller has not seen yet

	Behind bool   // the controller has not looked at its spec yet
	Failed string // why it could not count the pods; "" where it could
	Says   string // all of it in a sentence

	pods []*Object
}

// Budgets are the PodDisruptionBudgets of a namespace, or of all, by name.
func (s *State) Budgets(namespace string) (all []*Budget) {
	s.EachObject("poddisruptionbudgets", namespace, func(o *Object) bool {
		if b := s.Budget(o); b != nil {
			all = append(all, b)
		}
		return true
	})
	return all
}

// BudgetsOf are those that count a pod.
func (s *State) BudgetsOf(pod *corev1.Pod) (all []*Budget) {
	s.EachObject("poddisruptionbudgets", pod.Namespace, func(o *Object) bool {
		if v, ok := o.Value.(*policyv1.PodDisruptionBudget); ok && counts(v, pod) {
			all = append(all, s.Budget(o))
		}
		return true
	})
	return all
}

// counts reports whether a budget selects a pod.
func counts(b *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	sel, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	return err == nil && sel.Matches(labels.Set(pod.Labels))
}

// Budget is a PodDisruptionBudget as it stands; nil of what is none.
func (s *State) Budget(o *Object) *Budget {
	v, ok := o.Value.(*policyv1.PodDisruptionBudget)
	if !ok || o.Deleted {
		return nil
	}
	st := &v.Status
	b := &Budget{
		Of: o.Ref, Changed: o.Changed, Policy: string(policyv1.IfHealthyBudget), Expected: int(st.ExpectedPods), Desired: int(st.DesiredHealthy),
		Healthy: int(st.CurrentHealthy), Allowed: int(st.DisruptionsAllowed), Noted: len(st.DisruptedPods), Behind: st.ObservedGeneration < v.Generation,
	}
	if p := v.Spec.UnhealthyPodEvictionPolicy; p != nil {
		b.Policy = string(*p)
	}
	if c := meta.FindStatusCondition(st.Conditions, policyv1.DisruptionAllowedCondition); c != nil && c.Reason == policyv1.SyncFailedReason {
		b.Failed = c.Message
	}
	b.Rule, b.Sum = ruleOf(v)
	s.EachObject("pods", o.Namespace(), func(p *Object) bool {
		if pod, ok := p.Value.(*corev1.Pod); ok && counts(v, pod) {
			b.pods = append(b.pods, p)
		}
		return true
	})
	b.Says = b.says()
	return b
}

// ruleOf is what a budget asks for, and how that becomes a number of pods: percentages are
// rounded up, of minAvailable and of maxUnavailable alike (intstr.GetScaledValueFromIntOrPercent).
func ruleOf(v *policyv1.PodDisruptionBudget) (rule, sum string) {
	expected := int(v.Status.ExpectedPods)
	scaled := func(x *intstr.IntOrString) (int, string) {
		n, err := intstr.GetScaledValueFromIntOrPercent(x, expected, true)
		if err != nil || x.Type == intstr.Int {
			return n, x.String()
		}
		text := fmt.Sprintf("%s of %d = %d", x.String(), expected, n)
		var percent int
		if _, err := fmt.Sscanf(x.StrVal, "%d%%", &percent); err == nil && percent*expected%100 != 0 {
			text = fmt.Sprintf("%s of %d = %.4g, rounded up %d", x.String(), expected, float64(percent*expected)/100, n)
		}
		return n, text
	}
	switch most, least := v.Spec.MaxUnavailable, v.Spec.MinAvailable; {
	case most != nil:
		n, text := scaled(most)
		if most.Type == intstr.String {
			text = "(" + text + ")"
		}
		sum = fmt.Sprintf("%d − %s = %d", expected, text, max(expected-n, 0))
		return "maxUnavailable " + most.String(), sum
	case least != nil:
		_, text := scaled(least)
		return "minAvailable " + least.String(), text
	}
	return "neither minAvailable nor maxUnavailable", "0"
}

// unmanaged reports whether none of its pods has a controller.
func (b *Budget) unmanaged() bool {
	managed := func(p *Object) bool { return metav1.GetControllerOf(p.Meta()) != nil }
	return len(b.pods) > 0 && !slices.ContainsFunc(b.pods, managed)
}

// Never reports whether the budget allows no disruption even when all its pods are healthy.
func (b *Budget) Never() bool { return b.Expected > 0 && b.Desired >= b.Expected }

// says puts the budget into a sentence without its name.
func (b *Budget) says() string {
	switch {
	case b.Failed != "":
		return "it allows no eviction, because its controller could not count its pods: " + b.Failed
	case b.Behind:
		return "its controller has not counted its pods since it was written, and until then no eviction is allowed"
	case b.Expected <= 0 && b.unmanaged():
		return "it allows no eviction: its pods have no controller that says how many there should be, and without that only minAvailable as a number can count them"
	case b.Expected <= 0 && len(b.pods) > 0:
		return "it allows no eviction: the owners of its pods ask for none"
	case b.Expected <= 0:
		return "it selects no pods, and where none is expected none may be evicted"
	}
	of := fmt.Sprintf("%d of %d healthy, and %s must be (%s", b.Healthy, b.Expected, fmt.Sprint(b.Desired), b.Rule)
	if b.Sum != fmt.Sprint(b.Desired) {
		of += ": " + b.Sum
	}
	of += ")"
	if b.Noted > 0 {
		of += fmt.Sprintf("; %s granted whose deletion is still to be seen", count(b.Noted, "eviction"))
	}
	switch {
	case b.Never():
		return "it never allows an eviction: even with all of its pods healthy none is left over; " + of
	case b.Allowed > 0:
		return fmt.Sprintf("it allows %s: %s", count(b.Allowed, "eviction"), of)
	}
	return "it allows no eviction: " + of
}

// Pods are those that a budget counts, each with what it does for the budget.
func (b *Budget) Pods(s *State) (from []Keeper) {
	o := s.ObjectOf(b.Of)
	if o == nil {
		return nil
	}
	v := o.Value.(*policyv1.PodDisruptionBudget)
	for _, p := range b.pods {
		pod := p.Value.(*corev1.Pod)
		also := ""
		at, noted := v.Status.DisruptedPods[pod.Name]
		if noted && pod.DeletionTimestamp == nil {
			also = fmt.Sprintf("not counted: its eviction was granted %s ago", seconds(s.Now().Sub(at.Time)))
		} else if pod.DeletionTimestamp == nil && !podReady(pod) {
			also = b.unhealthy(pod)
		}
		if n := len(s.BudgetsOf(pod)); n > 1 {
			also += tail("; ", fmt.Sprintf("%d budgets count it, so its eviction is refused", n))
		}
		k := s.podLine(p, pod, also)
		if r := s.RefusalsOf(p); r != nil && pod.DeletionTimestamp == nil {
			k.Why += "; its eviction was " + r.Says(s)
			k.Event = r.Last.Event
		}
		k.Good = k.Good && !noted
		from = append(from, k)
	}
	return from
}

// unhealthy says whether a pod that is not ready may be evicted.
func (b *Budget) unhealthy(pod *corev1.Pod) string {
	switch {
	case pod.Status.Phase != corev1.PodRunning:
		return "may be evicted: it does not run"
	case b.Policy == string(policyv1.AlwaysAllow):
		return "may be evicted: unhealthyPodEvictionPolicy is AlwaysAllow"
	case b.Desired > 0 && b.Healthy >= b.Desired:
		return fmt.Sprintf("may be evicted: enough others are healthy (%s)", b.Policy)
	}
	return fmt.Sprintf("may not be evicted either: too few others are healthy (%s)", b.Policy)
}

// Refused is how many evictions of its pods were refused lately, and when the last.
func (b *Budget) Refused(s *State) (n int, at time.Duration) {
	for _, p := range b.pods {
		if r := s.RefusalsOf(p); r != nil {
			n += r.N
			at = max(at, r.Last.At)
		}
	}
	return n, at
}

// budget says what a PodDisruptionBudget allows, and why.
func (s *State) budget(o *Object) *Reason {
	v, ok := o.Value.(*policyv1.PodDisruptionBudget)
	if !ok || o.Deleting() || s.unseen(v.Generation, v.Status.ObservedGeneration) {
		return nil
	}
	b := s.Budget(o)
	a := &Reason{Says: fmt.Sprintf("%s: %s", o.Ref, b.Says), From: told(b.Pods(s))}
	if b.Behind {
		return s.idle(a, "disruption")
	}
	return a
}
