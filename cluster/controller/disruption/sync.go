package disruption

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kviz/cluster/client"
	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
)

// sync counts the pods of one budget.
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.budgets.Get(run.Key)
	if !ok {
		run.Gone()
		return nil
	}
	b := obj.(*policyv1.PodDisruptionBudget)
	err := c.trySync(run, b)
	if err == nil || apierrors.IsConflict(err) {
		return err // of a conflict: the newer budget is on its way
	}
	return c.failSafe(run, b, err)
}

func (c *Controller) trySync(run *reconcile.Run, b *policyv1.PodDisruptionBudget) error {
	counted, err := c.podsOf(b)
	if err != nil {
		c.Events.Event(run.T, b, corev1.EventTypeWarning, "NoPods", "Failed to get pods: %v", err)
		return err
	}
	run.Look(len(counted))
	if len(counted) == 0 {
		c.Events.Event(run.T, b, corev1.EventTypeNormal, "NoPods", "No matching pods found")
	}
	want, err := desired(b, counted, func() (int32, int, error) { return c.owners.scale(run.T, counted) })
	if err != nil {
		c.Events.Event(run.T, b, corev1.EventTypeWarning, "CalculateExpectedPodCountFailed", "Failed to calculate the number of expected pods: %v", err)
		return err
	}
	if want.unmanaged > 0 {
		c.Events.Event(run.T, b, corev1.EventTypeWarning, "UnmanagedPods", "Pods selected by this PodDisruptionBudget (selector: %v) were found "+
			"to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. "+
			"To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.", b.Spec.Selector)
	}
	now := run.T.Now()
	noted, overdue, recheck := disrupted(counted, b.Status.DisruptedPods, now)
	for _, pod := range overdue {
		// That the namespace stands where the name belongs is upstream's.
		c.Events.Event(run.T, pod, corev1.EventTypeWarning, "NotDeleted", "Pod was expected by PDB %s/%s to be deleted but it wasn't", b.Namespace, b.Namespace)
	}
	st := statusOf(b, want, countHealthy(counted, noted, now), noted)
	if err := c.write(run, b, st, want.how); err != nil {
		return err
	}
	if recheck > 0 {
		c.recheck.AddAfter(run.T, run.Key, recheck)
	}
	return nil
}

// podsOf are the pods that a budget selects (getPodsForPdb).
func (c *Controller) podsOf(b *policyv1.PodDisruptionBudget) ([]*corev1.Pod, error) {
	sel, err := c.selectors.of(b)
	if err != nil {
		return nil, err
	}
	var out []*corev1.Pod
	for _, obj := range c.pods.ListNamespace(b.Namespace) {
		if pod := obj.(*corev1.Pod); sel.Matches(labels.Set(pod.Labels)) {
			out = append(out, pod)
		}
	}
	return out, nil
}

// wanted is what a budget asks for.
type wanted struct {
	expected, healthy int32
	unmanaged         int    // pods without a controller
	how               string // healthy was computed
}

// desired is how many of a budget's pods are to be healthy (getExpectedPodCount). scale
// tells what the pods' owners ask for, and how many pods have none.
func desired(b *policyv1.PodDisruptionBudget, counted []*corev1.Pod, scale func() (int32, int, error)) (w wanted, err error) {
	switch most, least := b.Spec.MaxUnavailable, b.Spec.MinAvailable; {
	case most != nil:
		if w.expected, w.unmanaged, err = scale(); err != nil {
			return w, err
		}
		n, err := intstr.GetScaledValueFromIntOrPercent(most, int(w.expected), true)
		if err != nil {
			return w, err
		}
		w.healthy = max(w.expected-int32(n), 0)
		w.how = fmt.Sprintf("maxUnavailable is %s%s and the pods' owners ask for %d, so %d - %d = %d must be healthy", most, rounded(most, n), w.expected, w.expected, n, w.expected-int32(n))
		if w.expected < int32(n) {
			w.how += ", which is 0"
		}
	case least != nil && least.Type == intstr.Int:
		w.healthy, w.expected = least.IntVal, int32(len(counted))
		w.how = fmt.Sprintf("minAvailable is %s, so %d must be healthy", least, w.healthy)
	case least != nil:
		if w.expected, w.unmanaged, err = scale(); err != nil {
			return w, err
		}
		n, err := intstr.GetScaledValueFromIntOrPercent(least, int(w.expected), true)
		if err != nil {
			return w, err
		}
		w.healthy = int32(n)
		w.how = fmt.Sprintf("minAvailable is %s of the %d that the pods' owners ask for, so %d must be healthy", least, w.expected, n)
	default:
		w.how = "the budget asks for nothing"
	}
	return w, nil
}

// rounded says what a percentage comes to.
func rounded(v *intstr.IntOrString, n int) string {
	if v.Type == intstr.Int {
		return ""
	}
	return fmt.Sprintf(" (%d)", n)
}

// countHealthy counts the pods that are ready and not about to go (countHealthyPods).
func countHealthy(counted []*corev1.Pod, noted map[string]metav1.Time, now time.Time) (n int32) {
	for _, pod := range counted {
		at, going := noted[pod.Name]
		if pod.DeletionTimestamp == nil && !(going && at.Add(DeletionTimeout).After(now)) && pods.Ready(pod) {
			n++
		}
	}
	return n
}

// disrupted gives what stays of the pods that evictions have noted in a budget: those
// that are there and not being deleted; those overdue, whose deletion was to be seen by
// now; and how long until the first of the others is (buildDisruptedPodMap).
func disrupted(counted []*corev1.Pod, was map[string]metav1.Time, now time.Time) (noted map[string]metav1.Time, overdue []*corev1.Pod, recheck time.Duration) {
	noted = map[string]metav1.Time{}
	for _, pod := range counted {
		at, ok := was[pod.Name]
		if !ok || pod.DeletionTimestamp != nil {
			continue
		}
		left := at.Add(DeletionTimeout).Sub(now)
		if left < 0 {
			overdue = append(overdue, pod)
			continue
		}
		noted[pod.Name] = at
		if left = max(left, 1); recheck == 0 || left < recheck {
			recheck = left
		}
	}
	return noted, overdue, recheck
}

// statusOf is a budget's new status (updatePdbStatus).
func statusOf(b *policyv1.PodDisruptionBudget, w wanted, healthy int32, noted map[string]metav1.Time) policyv1.PodDisruptionBudgetStatus {
	st := policyv1.PodDisruptionBudgetStatus{
		CurrentHealthy: healthy, DesiredHealthy: w.healthy, ExpectedPods: w.expected, DisruptionsAllowed: max(healthy-w.healthy, 0),
		DisruptedPods: noted, ObservedGeneration: b.Generation, Conditions: b.DeepCopy().Status.Conditions,
	}
	if w.expected <= 0 {
		// So that its first pods are safe before they are counted.
		st.DisruptionsAllowed = 0
	}
	return st
}

// write writes the status, if it says anything new.
func (c *Controller) write(run *reconcile.Run, b *policyv1.PodDisruptionBudget, st policyv1.PodDisruptionBudgetStatus, how string) error {
	if same(&b.Status, &st) && upToDate(b) {
		return nil
	}
	b = b.DeepCopy()
	was := b.Status.DisruptionsAllowed
	b.Status = st
	tellAllowed(b, client.Now(run.T))
	run.Act("update", client.RefOf(b), st.DisruptionsAllowed, was, "%s", how+"; "+allowed(&st)+": write the status")
	_, err := client.UpdateStatus(run.T, c.Client, client.PodDisruptionBudgets, b.Namespace, b)
	return err
}

// allowed says how many pods may be disrupted, and why.
func allowed(st *policyv1.PodDisruptionBudgetStatus) string {
	s := fmt.Sprintf("%d of %s are", st.CurrentHealthy, pods.Count(st.ExpectedPods))
	if n := len(st.DisruptedPods); n > 0 {
		s += fmt.Sprintf(" (without %d that evictions have noted)", n)
	}
	switch {
	case st.ExpectedPods <= 0:
		return s + ", and where none is expected none may be disrupted"
	case st.CurrentHealthy <= st.DesiredHealthy:
		return fmt.Sprintf("%s, so none may be disrupted", s)
	}
	return fmt.Sprintf("%s, so %d - %d = %d may be disrupted", s, st.CurrentHealthy, st.DesiredHealthy, st.DisruptionsAllowed)
}

func same(a, b *policyv1.PodDisruptionBudgetStatus) bool {
	return a.CurrentHealthy == b.CurrentHealthy && a.DesiredHealthy == b.DesiredHealthy && a.ExpectedPods == b.ExpectedPods &&
		a.DisruptionsAllowed == b.DisruptionsAllowed && equality.Semantic.DeepEqual(a.DisruptedPods, b.DisruptedPods) &&
		a.ObservedGeneration == b.ObservedGeneration
}

// upToDate reports whether the condition DisruptionAllowed says what the status does
// (component-helpers ConditionsAreUpToDate).
func upToDate(b *policyv1.PodDisruptionBudget) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition)
	if c == nil || b.Status.ObservedGeneration != b.Generation {
		return false
	}
	if b.Status.DisruptionsAllowed > 0 {
		return c.Status == metav1.ConditionTrue && c.Reason == policyv1.SufficientPodsReason
	}
	return c.Status == metav1.ConditionFalse && c.Reason == policyv1.InsufficientPodsReason
}

// tellAllowed has the condition DisruptionAllowed say what the status does
// (component-helpers UpdateDisruptionAllowedCondition, which reads the clock).
func tellAllowed(b *policyv1.PodDisruptionBudget, now metav1.Time) {
	c := metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason,
		ObservedGeneration: b.Status.ObservedGeneration, LastTransitionTime: now,
	}
	if b.Status.DisruptionsAllowed > 0 {
		c.Status, c.Reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
	}
	meta.SetStatusCondition(&b.Status.Conditions, c)
}

// failSafe allows no disruption of pods that could not be counted.
func (c *Controller) failSafe(run *reconcile.Run, b *policyv1.PodDisruptionBudget, why error) error {
	b = b.DeepCopy()
	was := b.Status.DisruptionsAllowed
	b.Status.DisruptionsAllowed = 0
	meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason, Message: why.Error(),
		ObservedGeneration: b.Status.ObservedGeneration, LastTransitionTime: client.Now(run.T),
	})
	run.Act("update", client.RefOf(b), 0, was, "the pods cannot be counted (%v), and an eviction might be one too many: allow none", why)
	_, err := client.UpdateStatus(run.T, c.Client, client.PodDisruptionBudgets, b.Namespace, b)
	return err
}
