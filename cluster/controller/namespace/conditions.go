package namespace

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/trace"
)

// fine is what each condition says when there is nothing to say
// (status_condition_utils.go).
var fine = []corev1.NamespaceCondition{
	{Type: corev1.NamespaceDeletionDiscoveryFailure, Reason: "ResourcesDiscovered", Message: "All resources successfully discovered"},
	{Type: corev1.NamespaceDeletionGVParsingFailure, Reason: "ParsedGroupVersions", Message: "All legacy kube types successfully parsed"},
	{Type: corev1.NamespaceDeletionContentFailure, Reason: "ContentDeleted", Message: "All content successfully deleted, may be waiting on finalization"},
	{Type: corev1.NamespaceContentRemaining, Reason: "ContentRemoved", Message: "All content successfully removed"},
	{Type: corev1.NamespaceFinalizersRemaining, Reason: "ContentHasNoFinalizers", Message: "All content-preserving finalizers finished"},
}

// findings are what a look at a namespace's content came to.
type findings struct {
	unknown error      // of discovery; nil where everything that is served is known
	why     []trace.ID // it is unknown
	left    []remains
	errs    []error
	totals  bool // all kinds were counted
}

// report writes into the namespace's conditions what is left and what went wrong.
func (c *Controller) report(run *reconcile.Run, ns *corev1.Namespace, found findings) {
	bad := map[corev1.NamespaceConditionType]corev1.NamespaceCondition{}
	if failed := (*discovery.ErrGroupDiscoveryFailed)(nil); errors.As(found.unknown, &failed) {
		bad[corev1.NamespaceDeletionDiscoveryFailure] = corev1.NamespaceCondition{
			Reason: "DiscoveryFailed", Message: fmt.Sprintf("Discovery failed for some groups, %d failing: %v", len(failed.Groups), failed),
		}
	}
	if len(found.errs) > 0 {
		var texts []string
		for _, err := range found.errs {
			texts = append(texts, err.Error())
		}
		slices.Sort(texts)
		bad[corev1.NamespaceDeletionContentFailure] = corev1.NamespaceCondition{
			Reason:  "ContentDeletionFailed",
			Message: fmt.Sprintf("Failed to delete all resource types, %d remaining: %s", len(found.errs), strings.Join(texts, ", ")),
		}
	}
	if found.totals {
		countLeft(bad, found.left)
	}
	fresh := ns.DeepCopy()
	if !setConditions(&fresh.Status, bad, client.Now(run.T)) {
		return
	}
	run.Because(found.why...)
	run.Act("update", client.RefOf(ns), nil, nil, "note in the conditions of namespace %s what is left in it%s", ns.Name, whatLeft(bad))
	if updated, err := client.UpdateStatus(run.T, c.Client, client.Namespaces, "", fresh); err == nil {
		*ns = *updated
	}
}

func countLeft(bad map[corev1.NamespaceConditionType]corev1.NamespaceCondition, left []remains) {
	var content []string
	finalizers := map[string]int{}
	for _, l := range left {
		content = append(content, fmt.Sprintf("%s.%s has %d resource instances", l.resource.Resource, l.resource.Group, l.items))
		for f, n := range l.finalizers { // order does not matter: a sum
			finalizers[f] += n
		}
	}
	if len(content) > 0 {
		slices.Sort(content)
		bad[corev1.NamespaceContentRemaining] = corev1.NamespaceCondition{
			Reason:  "SomeResourcesRemain",
			Message: "Some resources are remaining: " + strings.Join(content, ", "),
		}
	}
	if len(finalizers) > 0 {
		var texts []string
		for _, f := range slices.Sorted(maps.Keys(finalizers)) {
			texts = append(texts, fmt.Sprintf("%s in %d resource instances", f, finalizers[f]))
		}
		bad[corev1.NamespaceFinalizersRemaining] = corev1.NamespaceCondition{
			Reason:  "SomeFinalizersRemain",
			Message: "Some content in the namespace has finalizers remaining: " + strings.Join(texts, ", "),
		}
	}
}

func whatLeft(bad map[corev1.NamespaceConditionType]corev1.NamespaceCondition) string {
	for _, f := range fine {
		if c, ok := bad[f.Type]; ok {
			return ": " + c.Message
		}
	}
	return ": nothing"
}

func setConditions(st *corev1.NamespaceStatus, bad map[corev1.NamespaceConditionType]corev1.NamespaceCondition, now metav1.Time) (changed bool) {
	for _, want := range fine {
		want.Status, want.LastTransitionTime = corev1.ConditionFalse, now
		if b, ok := bad[want.Type]; ok {
			want.Status, want.Reason, want.Message = corev1.ConditionTrue, b.Reason, b.Message
		}
		i := slices.IndexFunc(st.Conditions, func(c corev1.NamespaceCondition) bool { return c.Type == want.Type })
		if i < 0 {
			st.Conditions = append(st.Conditions, want)
			changed = true
			continue
		}
		old := &st.Conditions[i]
		if old.Status == want.Status {
			want.LastTransitionTime = old.LastTransitionTime
		}
		if old.Status != want.Status || old.Reason != want.Reason || old.Message != want.Message {
			*old = want
			changed = true
		}
	}
	return changed
}
