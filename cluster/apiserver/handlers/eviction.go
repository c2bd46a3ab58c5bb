package handlers

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// evict is pods/eviction: a deletion that asks nicely. It is refused with 429 if
// a PodDisruptionBudget would be violated; else the budget is charged first, so
// that two evictions at a time do not spend the same disruption
// (pkg/registry/core/pod/storage/eviction.go).
func (h *Handlers) evict(c *Call, e *policyv1.Eviction) (runtime.Object, error) {
	if e.Name != "" && e.Name != c.Req.Name {
		return nil, c.Refuse(trace.StageValidation, "", apierrors.NewBadRequest("name in URL does not match name in Eviction object"))
	}
	opts := &metav1.DeleteOptions{}
	if e.DeleteOptions != nil {
		opts = e.DeleteOptions
	}
	if u := opts.IgnoreStoreReadErrorWithClusterBreakingPotential; u != nil && *u {
		errs := field.ErrorList{field.Invalid(field.NewPath("deleteOptions").Child("ignoreStoreReadErrorWithClusterBreakingPotential"), true, "can not be set for pod eviction, try after removing the option")}
		return nil, c.Refuse(trace.StageValidation, "", apierrors.NewInvalid(schema.GroupKind{Group: "policy", Kind: "Eviction"}, c.Req.Name, errs))
	}
	c.Req.DryRun = c.Req.DryRun || len(opts.DryRun) > 0
	var d *disruption
	err := h.repeat(c, func(live bool) error {
		old, err := h.Store.Current(&c.Scope, c.At(), live)
		if err != nil {
			return c.Refuse(trace.StageStorage, "", err)
		}
		p := old.Object.(*corev1.Pod)
		use := opts.DeepCopy()
		if d == nil && !harmless(p) {
			found, err := h.disrupt(c, p)
			if err != nil {
				return c.Refuse(trace.StageValidation, byBudget, err)
			}
			if found.many {
				return errManyBudgets
			}
			d = found
		}
		if d != nil && d.unready != "" && (use.Preconditions == nil || use.Preconditions.ResourceVersion == nil) {
			if use.Preconditions == nil {
				use.Preconditions = &metav1.Preconditions{}
			}
			use.Preconditions.ResourceVersion = &d.unready
		}
		a := h.Attributes(c, admission.Delete, nil, old)
		a.Sent, a.Evicting = e, true
		_, err = h.deleteOnce(c, a, old, use)
		if d != nil && d.unready != "" && apierrors.IsConflict(err) && (opts.Preconditions == nil || opts.Preconditions.ResourceVersion == nil) {
			return beingProcessed(d.budget)
		}
		return err
	})
	if err == errManyBudgets {
		const many = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
		c.Pass(trace.StageValidation, byBudget, many, nil)
		return &metav1.Status{TypeMeta: success().TypeMeta, Status: metav1.StatusFailure, Message: many, Code: 500}, nil
	}
	return success(), err
}

const byBudget = "PodDisruptionBudget"

// errManyBudgets says that the answer is a failure told in the words of a
// success, as upstream does it.
var errManyBudgets = errors.New("more than one PodDisruptionBudget")

// harmless reports whether a pod may go without a look at the budgets: it does not
// run (canIgnorePDB).
func harmless(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodPending || p.DeletionTimestamp != nil
}

// disruption is what the budgets say of an eviction that may be.
type disruption struct {
	budget  string // that counts the pod; empty if none does
	unready string // the pod may go at this resourceVersion because it is not ready
	many    bool
}

// disrupt asks the budgets and charges the one that counts the pod.
func (h *Handlers) disrupt(c *Call, p *corev1.Pod) (*disruption, error) {
	budgets, err := h.budgets(c, p)
	if err != nil || len(budgets) == 0 {
		return &disruption{}, err
	}
	if len(budgets) > 1 {
		return &disruption{many: true}, nil
	}
	b := budgets[0]
	d := &disruption{budget: b.Name}
	if !podutil.IsPodReady(p) {
		always := b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
		if always || b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0 {
			d.unready = p.ResourceVersion
			c.Pass(trace.StageValidation, byBudget, "The pod is not ready, so budget "+b.Name+" does not count it.", nil)
			return d, nil
		}
	}
	for try := 1; ; try++ {
		err := h.charge(c, b.DeepCopy(), p.Name)
		if !apierrors.IsConflict(err) {
			return d, err
		}
		if try == chargeTries {
			return d, apierrors.NewTimeoutError(fmt.Sprintf("couldn't update PodDisruptionBudget %q due to conflicts", b.Name), 10)
		}
		c.Task.Sleep(chargeAgain)
		if budgets, err = h.budgets(c, p); err != nil {
			return d, err
		}
		at := slices.IndexFunc(budgets, func(o *policyv1.PodDisruptionBudget) bool { return o.Name == b.Name })
		if at < 0 {
			return d, apierrors.NewNotFound(budgetKind.GroupResource(), b.Name)
		}
		b = budgets[at]
	}
}

// How often and how soon a budget that somebody else changed is charged again
// (EvictionsRetry).
const (
	chargeTries = 20
	chargeAgain = 500 * time.Millisecond
)

var budgetKind = registry.KindFor(client.PodDisruptionBudgets.GroupVersionResource)

// budgets are those whose selector matches the pod.
func (h *Handlers) budgets(c *Call, p *corev1.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	if !h.Kinds.InUse(budgetKind) {
		return nil, nil
	}
	cache := h.Store.Caches(budgetKind)
	if !cache.Wait(c.Task, h.Store.Conn.Revision(), etcd3.TooNewWait) {
		return nil, etcd3.TooLarge(h.Store.Conn.Revision(), cache.Current())
	}
	var out []*policyv1.PodDisruptionBudget
	cache.Scan(p.Namespace, func(_ string, en *cacher.Entry) bool {
		b := en.Object.(*policyv1.PodDisruptionBudget)
		sel, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && sel.Matches(labels.Set(p.Labels)) { // one that is no selector matches nothing
			out = append(out, b)
		}
		return true
	})
	return out, nil
}

// charge takes one disruption from a budget, and notes the pod in it
// (checkAndDecrement).
func (h *Handlers) charge(c *Call, b *policyv1.PodDisruptionBudget, pod string) error {
	if err := mayDisrupt(b); err != nil {
		return err
	}
	b.Status.DisruptionsAllowed--
	if b.Status.DisruptionsAllowed == 0 {
		meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
			Type: policyv1.DisruptionAllowedCondition, Reason: policyv1.InsufficientPodsReason, Status: metav1.ConditionFalse,
			ObservedGeneration: b.Status.ObservedGeneration, LastTransitionTime: c.Now(),
		})
	}
	if c.Req.DryRun {
		return nil
	}
	if b.Status.DisruptedPods == nil {
		b.Status.DisruptedPods = map[string]metav1.Time{}
	}
	b.Status.DisruptedPods[pod] = c.Now()
	c.Pass(trace.StageValidation, byBudget, fmt.Sprintf("Budget %s allows a disruption; %d are left.", b.Name, b.Status.DisruptionsAllowed), nil)
	r := h.Serve(c.Task, &request.Request{
		Verb: "update", Resource: budgetKind.GroupVersionResource, Subresource: "status", Namespace: b.Namespace, Name: b.Name, User: &c.User,
		Client: c.Req.Sender(), Causes: []trace.ID{c.Last}, Part: true, Object: b, System: true,
	})
	return r.Err
}

// mayDisrupt says in upstream's words why a budget allows no disruption.
func mayDisrupt(b *policyv1.PodDisruptionBudget) error {
	cause := func(err *apierrors.StatusError, format string, args ...any) error {
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: fmt.Sprintf(format, args...)})
		return err
	}
	forbidden := func(why string) *apierrors.StatusError {
		return apierrors.NewForbidden(schema.GroupResource{Group: "policy", Resource: "poddisruptionbudget"}, b.Name, errors.New(why))
	}
	st := &b.Status
	switch {
	case st.ObservedGeneration < b.Generation:
		return beingProcessed(b.Name)
	case st.DisruptionsAllowed < 0:
		return cause(forbidden("pdb disruptions allowed is negative"),
			"The disruption budget %s does not allow evicting pods currently: pdb disruptions allowed is negative", b.Name)
	case len(st.DisruptedPods) > mostDisrupted:
		return cause(forbidden("DisruptedPods map too big - too many evictions not confirmed by PDB controller"),
			"The disruption budget %s does not allow evicting pods currently: too many pending evictions not confirmed by PDB controller", b.Name)
	case st.DisruptionsAllowed > 0:
		return nil
	}
	err := apierrors.NewTooManyRequests(violates, 0)
	told := meta.FindStatusCondition(st.Conditions, policyv1.DisruptionAllowedCondition)
	said := told != nil && told.Status == metav1.ConditionFalse && told.Message != ""
	switch {
	case said && told.Reason == policyv1.SyncFailedReason:
		return cause(err, "The disruption budget %s does not allow evicting pods currently because it failed sync: %s", b.Name, told.Message)
	case st.CurrentHealthy <= st.DesiredHealthy:
		return cause(err, "The disruption budget %s needs %d healthy pods and has %d currently", b.Name, st.DesiredHealthy, st.CurrentHealthy)
	case said:
		return cause(err, "The disruption budget %s does not allow evicting pods currently (%s): %s", b.Name, told.Reason, told.Message)
	}
	return cause(err, "The disruption budget %s does not allow evicting pods currently", b.Name)
}

const (
	violates      = "Cannot evict pod as it would violate the pod's disruption budget."
	mostDisrupted = 2000 // MaxDisruptedPodSize
)

// beingProcessed is createTooManyRequestsError.
func beingProcessed(budget string) error {
	err := apierrors.NewTooManyRequests(violates, 10)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: policyv1.DisruptionBudgetCause, Message: fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget),
	})
	return err
}
