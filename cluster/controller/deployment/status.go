package deployment

import (
	"fmt"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/pods"
)

// status adds up what the ReplicaSets say (calculateStatus).
func (r *rollout) status() appsv1.DeploymentStatus {
	all, d := r.sets(), r.d
	available := availableReplicas(all)
	st := appsv1.DeploymentStatus{
		ObservedGeneration:  d.Generation,
		Replicas:            actualReplicas(all),
		ReadyReplicas:       readyReplicas(all),
		AvailableReplicas:   available,
		UnavailableReplicas: max(0, specReplicas(all)-available),
		TerminatingReplicas: terminatingReplicas(all),
		CollisionCount:      d.Status.CollisionCount,
		Conditions:          slices.Clone(d.Status.Conditions),
	}
	if r.next != nil {
		st.UpdatedReplicas = r.next.Status.Replicas
	}
	if available >= *d.Spec.Replicas-maxUnavailable(d) {
		r.setCondition(&st, appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability.")
	} else {
		r.setCondition(&st, appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
	}
	return st
}

// complete reports whether all replicas are of the new template and available
// (DeploymentComplete).
func complete(d *appsv1.Deployment, st *appsv1.DeploymentStatus) bool {
	want := *d.Spec.Replicas
	return st.UpdatedReplicas == want && st.Replicas == want && st.AvailableReplicas == want && st.ObservedGeneration >= d.Generation
}

// writeStatus writes the status if it changed, and notes convergence.
func (r *rollout) writeStatus(st appsv1.DeploymentStatus) error {
	if !reflect.DeepEqual(r.d.Status, st) {
		was := r.d.Status
		r.run.Act("update", client.RefOf(r.d), summary(&st), summary(&was), "%s", whyStatus(r.d, &was, &st))
		r.d.Status = st
		if err := r.push(); err != nil {
			return err
		}
	}
	r.run.Converged(client.RefOf(r.d), r.d.Generation, complete(r.d, &r.d.Status))
	return nil
}

// whyStatus says what is new in a status.
func whyStatus(d *appsv1.Deployment, was, is *appsv1.DeploymentStatus) string {
	switch {
	case summary(was) != summary(is):
		return fmt.Sprintf("the ReplicaSets say %s, the status says %s: update it", summary(is), summary(was))
	case was.ObservedGeneration != is.ObservedGeneration:
		return fmt.Sprintf("the spec is at generation %d, the status at %d: note that it was seen", d.Generation, was.ObservedGeneration)
	case was.ReadyReplicas != is.ReadyReplicas || was.UnavailableReplicas != is.UnavailableReplicas:
		return fmt.Sprintf("%s ready and %d unavailable, the status says %d and %d: update it", pods.Count(is.ReadyReplicas), is.UnavailableReplicas, was.ReadyReplicas, was.UnavailableReplicas)
	case !reflect.DeepEqual(was.TerminatingReplicas, is.TerminatingReplicas):
		return "the number of pods on their way out changed: update the status"
	}
	return "the conditions changed: update the status"
}

// pushStatus writes what was changed in the status on the way.
func (r *rollout) pushStatus() error {
	r.run.Act("update", client.RefOf(r.d), "revision "+r.d.Annotations[revisionAnnotation], nil,
		"the Deployment is at revision %s: note it, and the condition Progressing%s", r.d.Annotations[revisionAnnotation], because(&r.d.Status))
	return r.push()
}

// push writes the status. Upstream does not take the new resourceVersion from
// the answer, so a second write in the same run meets a conflict and the run is
// repeated; that is kept, since it is what a real cluster's log shows.
func (r *rollout) push() error {
	_, err := client.UpdateStatus(r.run.T, r.Client, client.Deployments, r.d.Namespace, r.d)
	return err
}

func because(st *appsv1.DeploymentStatus) string {
	if c := condition(st, appsv1.DeploymentProgressing); c != nil {
		return " (" + c.Reason + ")"
	}
	return ""
}

func summary(st *appsv1.DeploymentStatus) string {
	s := fmt.Sprintf("%s, %d updated, %d available", pods.Count(st.Replicas), st.UpdatedReplicas, st.AvailableReplicas)
	if c := condition(st, appsv1.DeploymentProgressing); c != nil {
		s += ", " + c.Reason
	}
	return s
}

// condition gives the status's condition of a type, or nil.
func condition(st *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range st.Conditions {
		if st.Conditions[i].Type == t {
			return &st.Conditions[i]
		}
	}
	return nil
}

// setCondition sets a condition, unless it already has that status and reason.
// The transition time changes only with the status (SetDeploymentCondition).
func (r *rollout) setCondition(st *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string, args ...any) {
	if len(args) > 0 {
		message = fmt.Sprintf(message, args...)
	}
	now := client.Now(r.run.T)
	c := appsv1.DeploymentCondition{Type: t, Status: status, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now}
	put(st, c)
}

func put(st *appsv1.DeploymentStatus, c appsv1.DeploymentCondition) {
	if old := condition(st, c.Type); old != nil {
		if old.Status == c.Status && old.Reason == c.Reason {
			return
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
	drop(st, c.Type)
	st.Conditions = append(st.Conditions, c)
}

func drop(st *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType) {
	var kept []appsv1.DeploymentCondition
	for _, c := range st.Conditions {
		if c.Type != t {
			kept = append(kept, c)
		}
	}
	st.Conditions = kept
}
