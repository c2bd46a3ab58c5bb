package proof

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// budget is the story of a PodDisruptionBudget over a workload, with evictions on the way.
func (st *story) budget() {
	kind, resource, more := "Deployment", "deployments", "strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}"
	switch st.IntN(3) {
	case 0:
		kind, resource, more = "StatefulSet", "statefulsets", "podManagementPolicy: Parallel"
	case 1:
		kind, resource, more = "ReplicaSet", "replicasets", ""
	}
	st.add(st.create(fmt.Sprintf(`apiVersion: apps/v1
kind: %s
metadata: {name: web}
spec:
  replicas: %d
  %s
  selector: {matchLabels: {app: web}}
  template:
%s`, kind, 1+st.IntN(5), more, strings.ReplaceAll(st.pods(""), `image: "nginx:1.27"`, `image: "nginx:1.27", readinessProbe: {exec: {command: [sh, -c, "test ! -e /tmp/down"]}, failureThreshold: 1, initialDelaySeconds: 4, periodSeconds: 1}`))))
	rule := func() (says string, spec map[string]any) {
		v := one[any](st, 0, 1, 2, 3, "20%", "50%", "75%", "100%")
		if st.IntN(2) == 0 {
			return fmt.Sprintf("minAvailable %v", v), map[string]any{"minAvailable": v, "maxUnavailable": nil}
		}
		return fmt.Sprintf("maxUnavailable %v", v), map[string]any{"maxUnavailable": v, "minAvailable": nil}
	}
	says, first := rule()
	st.add(step{says: "budget " + says, do: func(ctx context.Context, s *side) error {
		if err := s.create(ctx, st.ns, "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec: {minAvailable: 1, selector: {matchLabels: {app: web}}}"); err != nil {
			return err
		}
		return s.patch(ctx, "poddisruptionbudgets", st.ns, "web", map[string]any{"spec": first})
	}})
	for range 5 {
		switch st.IntN(8) {
		case 0, 1, 2:
			st.add(st.evict(1+st.IntN(3), false))
		case 3:
			says, next := rule()
			st.add(st.patch(says, "poddisruptionbudgets", "web", map[string]any{"spec": next}))
		case 4:
			n := st.IntN(6)
			st.add(st.patch(fmt.Sprintf("scale to %d", n), resource, "web", spec("replicas", n)))
		case 5:
			policy := one(st, "IfHealthyBudget", "AlwaysAllow")
			st.add(st.patch(policy, "poddisruptionbudgets", "web", spec("unhealthyPodEvictionPolicy", policy)))
		case 6:
			st.add(st.unready(1), st.evict(1, true)) // a second would depend on whether the first is counted by then
		case 7:
			st.add(st.patch("select every pod", "poddisruptionbudgets", "web", spec("selector", map[string]any{"matchLabels": nil})))
		}
	}
	// A pod that takes the place of another comes, and passes its first probe, later than a step is calm. Which pods the next
	// step takes depends on who is ready.
	for i := range st.steps {
		st.steps[i].until = st.probed
	}
	st.add(step{says: "delete the budget", do: func(ctx context.Context, s *side) error {
		return s.delete(ctx, "poddisruptionbudgets", st.ns, "web", metav1.DeletePropagationBackground)
	}}, st.evict(1, false), st.remove(resource, "web"))
}

// down marks a pod that is to fail its probe.
const down = "down"

// probed says that a pod does not run yet, or that its probe has not found out yet what it finds.
func (st *story) probed(s *side) string {
	for _, o := range s.all("pods", st.ns) {
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		_, fails := o.GetAnnotations()[down]
		switch {
		case o.GetDeletionTimestamp() != nil || at(o, "status", "phase") != "Running":
			return o.GetName() + " does not run yet"
		case is(conditions, "Ready") == fails:
			return fmt.Sprintf("%s has not been probed yet (it is to fail: %v)", o.GetName(), fails)
		}
	}
	return ""
}

// unready is the step that has some pods fail their readiness probe.
func (st *story) unready(n int) step {
	return step{says: fmt.Sprintf("%d pods fail their probe", n), do: func(ctx context.Context, s *side) error {
		names := s.owned(st.ns)
		for _, name := range names[:min(n, len(names))] {
			if err := s.exec(ctx, fmt.Sprintf("kubectl exec -n %s %s -- touch /tmp/down", st.ns, name)); err != nil {
				return err
			}
			if err := s.patch(ctx, "pods", st.ns, name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{down: "yes"}}}); err != nil {
				return err
			}
		}
		return nil
	}}
}

// confirmed is when a budget no longer counts a pod as evicted that is still there (disruption.DeletionTimeout, 2 minutes),
// and some time for the next look. A StatefulSet's next pod has the name of the last: it counts as that until then if the
// controller has not looked while the last one was on its way out.
const confirmed = 150 * time.Second

// evict is the step that asks for the eviction of some pods, those first that are ready, or, with last, those that are
// not. The answers are compared: they stand in the budget's annotations.
func (st *story) evict(n int, last bool) step {
	says := fmt.Sprintf("evict %d pods", n)
	if last {
		says += ", those first that are not ready"
	}
	return step{says: says, patience: confirmed, do: func(ctx context.Context, s *side) error {
		names := s.owned(st.ns)
		n := min(n, len(names))
		some := names[:n]
		if last {
			some = names[len(names)-n:]
		}
		var answers []string
		for i := range some {
			name := some[i]
			if last {
				name = some[len(some)-1-i]
			}
			err := s.API.PolicyV1().Evictions(st.ns).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: st.ns}})
			answer := "granted"
			if status := apierrors.APIStatus(nil); errors.As(err, &status) {
				answer = fmt.Sprint(status.Status().Code)
			} else if err != nil {
				return err
			}
			answers = append(answers, answer)
		}
		err := s.patch(ctx, "poddisruptionbudgets", st.ns, "web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"answers": strings.Join(answers, " ")}}})
		if apierrors.IsNotFound(err) { // deleted by then
			return nil
		}
		return err
	}}
}
