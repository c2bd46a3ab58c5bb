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
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// evict is pods/eviction: a deletion that asks nicely. It is refused with 429 if
// a PodDisruptionBudget would be violated; else the budget is charged first, so
// that two evictions at a time do not spend the same disruption
// (pkg/registry/core/pod/storage/eviction.go). Admission judges the Eviction before
// anything is known of the pod, and is not asked about the deletion.
func (h *Handlers) evict(c *Call, e *policyv1.Eviction) (runtime.Object, error) {
	if err := c.MatchNamespace(e); err != nil {
		return nil, c.Refuse(trace.StageDecode, "", err)
	}
	a := h.Attributes(c, admission.Create, nil, nil)
	a.Sent = e
	if _, err := h.mutate(c, a); err != nil {
		return nil, err
	}
	opts, err := evictionOptions(c.Req, e)
	if err != nil {
		return nil, c.Refuse(trace.StageValidation, "", err)
	}
	c.Pass(trace.StageValidation, "", "The Eviction is of the pod that the path names.", nil)
	if _, err := h.admit(c, a, validated{}); err != nil {
		return nil, err
	}
	c.Req.DryRun = c.Req.DryRun || len(opts.DryRun) > 0
	p, err := h.evictHarmless(c, opts)
	if err != nil || p == nil {
		return success(), err
	}
	ok, err := h.mayEvict(c, p)
	if err != nil {
		return nil, c.Refuse(trace.StageValidation, byBudget, err)
	}
	if ok.many {
		const many = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
		c.Pass(trace.StageValidation, byBudget, many, nil)
		return &metav1.Status{TypeMeta: success().TypeMeta, Status: metav1.StatusFailure, Message: many, Code: 500}, nil
	}
	use := opts
	if ok.unready { // and has to be so still when it is deleted
		use = pinned(opts, p)
	}
	err = h.disrupt(c, use)
	if ok.unready && apierrors.IsConflict(err) && !pins(opts) {
		return nil, c.Refuse(trace.StageValidation, byBudget, beingProcessed(ok.budget))
	}
	return success(), err
}

// evictionOptions are the options of the deletion, which the request's and the Eviction's
// dry runs must agree on (propagateDryRun).
func evictionOptions(r *request.Request, e *policyv1.Eviction) (*metav1.DeleteOptions, error) {
	if e.Name != r.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	opts := e.DeleteOptions
	if opts == nil {
		return &metav1.DeleteOptions{}, nil
	}
	if u := opts.IgnoreStoreReadErrorWithClusterBreakingPotential; u != nil && *u {
		errs := field.ErrorList{field.Invalid(field.NewPath("deleteOptions").Child("ignoreStoreReadErrorWithClusterBreakingPotential"), true, "can not be set for pod eviction, try after removing the option")}
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: "policy", Kind: "Eviction"}, r.Name, errs)
	}
	if all := []string{metav1.DryRunAll}; r.DryRun && len(opts.DryRun) > 0 && !slices.Equal(opts.DryRun, all) {
		return nil, request.PlainError(fmt.Errorf("%s dry-run options in request and content: %v and %v", "Non-matching", all, opts.DryRun))
	}
	return opts, nil
}

// evictHarmless deletes a pod that may go without a look at the budgets. Of another it
// gives the pod, and does nothing.
func (h *Handlers) evictHarmless(c *Call, opts *metav1.DeleteOptions) (*corev1.Pod, error) {
	for try := 1; ; try++ {
		old, err := h.Store.Current(&c.Scope, c.At(), true)
		if err != nil {
			return nil, c.Refuse(trace.StageStorage, "", err)
		}
		p := old.Object.(*corev1.Pod)
		c.Ref.UID = string(p.UID)
		if !harmless(p) {
			return p, nil
		}
		c.Pass(trace.StageValidation, byBudget, "No budget is asked: the pod "+harmlessly(p)+".", nil)
		use := opts
		if p.Status.Phase == corev1.PodPending && p.DeletionTimestamp == nil && !pins(opts) { // shouldEnforceResourceVersion
			use = pinned(opts, p)
		}
		err = h.disrupt(c, use)
		if !apierrors.IsConflict(err) || pins(opts) || try == evictionTries {
			return nil, err
		}
		c.Refused = ""
		c.Task.Sleep(evictionAgain)
	}
}

// pins reports whether the options name a revision.
func pins(o *metav1.DeleteOptions) bool {
	return o.Preconditions != nil && o.Preconditions.ResourceVersion != nil
}

// pinned are the options with the revision of the pod as it was read.
func pinned(o *metav1.DeleteOptions, p *corev1.Pod) *metav1.DeleteOptions {
	o = o.DeepCopy()
	if o.Preconditions == nil {
		o.Preconditions = &metav1.Preconditions{}
	}
	o.Preconditions.ResourceVersion = &p.ResourceVersion
	return o
}

// disrupt writes the condition DisruptionTarget, which tells those who watch the pod why
// it goes, and deletes the pod (addConditionAndDeletePod).
func (h *Handlers) disrupt(c *Call, opts *metav1.DeleteOptions) error {
	if !c.Req.DryRun {
		revision, err := h.markDisrupted(c, opts)
		if err != nil {
			return err
		}
		if pins(opts) {
			opts = opts.DeepCopy()
			opts.Preconditions.ResourceVersion = &revision
		}
	}
	return h.repeat(c, func(bool) error {
		old, err := h.Store.Current(&c.Scope, c.At(), true)
		if err != nil {
			return c.Refuse(trace.StageStorage, "", err)
		}
		if errs := metav1validation.ValidateDeleteOptions(opts); len(errs) > 0 { // as late as rest.BeforeDelete
			return c.Refuse(trace.StageValidation, "", apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs))
		}
		if err := h.deletePreconditions(c, old, opts); err != nil {
			return err
		}
		_, err = h.remove(c, old, h.mark(c, old, opts.DeepCopy()))
		return err
	})
}

// markDisrupted writes the condition, and gives the revision at which it is there.
func (h *Handlers) markDisrupted(c *Call, opts *metav1.DeleteOptions) (revision string, err error) {
	err = h.repeat(c, func(bool) error {
		old, err := h.Store.Current(&c.Scope, c.At(), true)
		if err != nil {
			return c.Refuse(trace.StageStorage, "", err)
		}
		if err := h.deletePreconditions(c, old, opts); err != nil {
			return err
		}
		p := old.Object.(*corev1.Pod).DeepCopy()
		registry.SetPodCondition(p, c.Now(), corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
		})
		c.Pass(trace.StageValidation, "", "Set the condition DisruptionTarget: it tells those who watch the pod why it goes.", nil)
		made, err := h.replace(c, approved{p}, old)
		if err == nil {
			revision = object.Meta(made.Object).GetResourceVersion()
		}
		return err
	})
	return revision, err
}

const byBudget = "PodDisruptionBudget"

// harmless reports whether a pod may go without a look at the budgets: it does not
// run (canIgnorePDB).
func harmless(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodPending || p.DeletionTimestamp != nil
}

// harmlessly says why.
func harmlessly(p *corev1.Pod) string {
	if p.DeletionTimestamp != nil {
		return "is being deleted already"
	}
	return "is " + string(p.Status.Phase)
}

// evictable is what the budgets say of an eviction that may be.
type evictable struct {
	budget  string // that counts the pod; empty if none does
	unready bool   // the pod may go because it is not ready
	many    bool
}

// mayEvict asks the budgets and charges the one that counts the pod.
func (h *Handlers) mayEvict(c *Call, p *corev1.Pod) (evictable, error) {
	all, err := h.budgets(c, p.Namespace)
	if err != nil {
		return evictable{}, err
	}
	budgets := request.OffloadFor(&c.Scope, bytesOf(all), "the selectors of budgets", counting, guard{all, p})
	switch len(budgets) {
	case 0:
		return evictable{}, nil
	case 1:
	default:
		return evictable{many: true}, nil
	}
	b := budgets[0]
	if !podutil.IsPodReady(p) {
		always := b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
		healthy := b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0
		switch {
		case always:
			c.Pass(trace.StageValidation, byBudget, "The pod is not ready, and budget "+b.Name+" lets such pods go (unhealthyPodEvictionPolicy AlwaysAllow).", nil)
		case healthy:
			c.Pass(trace.StageValidation, byBudget, fmt.Sprintf("The pod is not ready, so budget %s does not count it, and %d of the others are, which is enough (%d).",
				b.Name, b.Status.CurrentHealthy, b.Status.DesiredHealthy), nil)
		}
		if always || healthy {
			return evictable{budget: b.Name, unready: true}, nil
		}
	}
	for try := 1; ; try++ {
		err := h.charge(c, b.DeepCopy(), p.Name)
		if !apierrors.IsConflict(err) || try == evictionTries { // upstream's own words for the latter are never reached: retry.OnError gives the conflict
			return evictable{budget: b.Name}, err
		}
		c.Task.Sleep(evictionAgain)
		if all, err = h.budgets(c, p.Namespace); err != nil {
			return evictable{}, err
		}
		at := slices.IndexFunc(all, func(o *policyv1.PodDisruptionBudget) bool { return o.Name == b.Name })
		if at < 0 {
			return evictable{}, apierrors.NewNotFound(budgetKind.GroupResource(), b.Name)
		}
		b = all[at]
	}
}

// How often and how soon is tried again what somebody else has changed meanwhile
// (EvictionsRetry).
const (
	evictionTries = 20
	evictionAgain = 500 * time.Millisecond
)

var budgetKind = registry.KindFor(client.PodDisruptionBudgets.GroupVersionResource)

// budgets are those of a namespace, by name.
func (h *Handlers) budgets(c *Call, namespace string) (all []*policyv1.PodDisruptionBudget, err error) {
	if !h.Kinds.InUse(budgetKind) {
		return nil, nil
	}
	cache := h.Store.Caches(budgetKind)
	if !cache.Wait(c.Task, h.Store.Conn.Revision(), etcd3.TooNewWait) {
		return nil, etcd3.TooLarge(h.Store.Conn.Revision(), cache.Current())
	}
	cache.Scan(namespace, func(_ string, en *cacher.Entry) bool {
		all = append(all, en.Object.(*policyv1.PodDisruptionBudget))
		return true
	})
	return all, nil
}

// guard is a pod and the budgets of its namespace.
type guard struct {
	budgets []*policyv1.PodDisruptionBudget
	pod     *corev1.Pod
}

// counting are the budgets that count the pod.
func counting(g guard) []*policyv1.PodDisruptionBudget {
	return slices.DeleteFunc(g.budgets, func(b *policyv1.PodDisruptionBudget) bool { return !selects(b, g.pod) })
}

// bytesOf is about how long the selectors of budgets are.
func bytesOf(budgets []*policyv1.PodDisruptionBudget) (n int) {
	for _, b := range budgets {
		if b.Spec.Selector == nil {
			continue
		}
		for k, v := range b.Spec.Selector.MatchLabels {
			n += len(k) + len(v)
		}
		for i := range b.Spec.Selector.MatchExpressions {
			e := &b.Spec.Selector.MatchExpressions[i]
			n += len(e.Key)
			for _, v := range e.Values {
				n += len(v)
			}
		}
	}
	return n
}

// selects reports whether a budget counts a pod. A selector that is none counts nothing.
func selects(b *policyv1.PodDisruptionBudget, p *corev1.Pod) bool {
	sel, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	return err == nil && sel.Matches(labels.Set(p.Labels))
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
		Client: c.Req.Sender(), Causes: []trace.ID{c.Last}, Part: true, Object: b, FieldManager: "kube-apiserver",
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
