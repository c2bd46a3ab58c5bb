package resourcequota

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

var errNotListed = errors.New("there is no such object")

// sync counts one quota (syncResourceQuota).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.quotas.Get(run.Key)
	if !ok {
		return nil
	}
	looked := 0
	for _, i := range c.order { // none may be counted before it is known
		i.WaitForSync(run.T)
		looked += len(i.ListNamespace(run.Namespace))
	}
	run.Look(looked)
	q := obj.(*corev1.ResourceQuota)
	hard := quotav1.Add(corev1.ResourceList{}, q.Spec.Hard)
	used := quotav1.Add(corev1.ResourceList{}, q.Status.Used)
	counted, failure := quotav1.CalculateUsage(q.Namespace, q.Spec.Scopes, hard, c.registry, q.Spec.ScopeSelector)
	maps.Copy(used, counted)
	used = quotav1.Mask(used, quotav1.ResourceNames(hard))
	if q.Status.Hard != nil && q.Status.Used != nil && apiequality.Semantic.DeepEqual(q.Spec.Hard, q.Status.Hard) && quotav1.Equals(used, q.Status.Used) {
		return failure
	}
	status := q.DeepCopy()
	status.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: used}
	run.Act("update", client.RefOf(q), spoken(used), spoken(q.Status.Used), "%s", c.why(q, hard, used, looked))
	if _, err := client.UpdateStatus(run.T, c.Client, client.ResourceQuotas, q.Namespace, status); err != nil {
		if apierrors.IsNotFound(err) {
			return failure
		}
		return errors.Join(failure, err)
	}
	return failure
}

// why says what was counted.
func (c *Controller) why(q *corev1.ResourceQuota, hard, used corev1.ResourceList, looked int) string {
	if q.Status.Used == nil {
		return fmt.Sprintf("quota %s has not been counted yet: of %d objects in namespace %s it counts %s", q.Name, looked, q.Namespace, spoken(used))
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(used)) {
		was, is, most := q.Status.Used[name], used[name], hard[name]
		if was.Cmp(is) != 0 {
			parts = append(parts, fmt.Sprintf("%s is %s of %s, not %s", name, is.String(), most.String(), was.String()))
		}
	}
	if len(parts) == 0 {
		return fmt.Sprintf("quota %s now allows %s", q.Name, spoken(hard))
	}
	return fmt.Sprintf("counted what quota %s counts in namespace %s: %s", q.Name, q.Namespace, strings.Join(parts, "; "))
}

// spoken is a list of resources in words: "pods=2, requests.cpu=300m".
func spoken(list corev1.ResourceList) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		parts = append(parts, string(name)+"="+q.String())
	}
	return strings.Join(parts, ", ")
}
