package deployment

import (
	"math"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Reasons of the condition Progressing.
const (
	reasonAvailable = "NewReplicaSetAvailable"
	reasonUpdated   = "ReplicaSetUpdated"
	reasonTimedOut  = "ProgressDeadlineExceeded"
	reasonPaused    = "DeploymentPaused"
	reasonResumed   = "DeploymentResumed"
)

func hasDeadline(d *appsv1.Deployment) bool {
	return d.Spec.ProgressDeadlineSeconds != nil && *d.Spec.ProgressDeadlineSeconds != math.MaxInt32
}

// notePause keeps the condition Progressing honest about a pause, so that the
// time of a pause does not count against the progress deadline
// (checkPausedConditions).
func (r *rollout) notePause() error {
	if !hasDeadline(r.d) {
		return nil
	}
	c := condition(&r.d.Status, appsv1.DeploymentProgressing)
	if c != nil && c.Reason == reasonTimedOut {
		return nil
	}
	noted := c != nil && c.Reason == reasonPaused
	switch {
	case r.d.Spec.Paused && !noted:
		r.setCondition(&r.d.Status, appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonPaused, "Deployment is paused")
	case !r.d.Spec.Paused && noted:
		r.setCondition(&r.d.Status, appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonResumed, "Deployment is resumed")
	default:
		return nil
	}
	return r.pushStatus()
}

// syncRolloutStatus writes the status of a rollout: complete, progressing, or
// stuck for longer than progressDeadlineSeconds.
func (r *rollout) syncRolloutStatus() error {
	d, st := r.d, r.status()
	if !hasDeadline(d) {
		drop(&st, appsv1.DeploymentProgressing)
	}
	current := condition(&d.Status, appsv1.DeploymentProgressing)
	done := st.Replicas == st.UpdatedReplicas && current != nil && current.Reason == reasonAvailable
	if hasDeadline(d) && !done {
		r.judge(&st, current)
	}
	if failure := r.failure(); failure != nil {
		put(&st, *failure)
	} else {
		drop(&st, appsv1.DeploymentReplicaFailure)
	}
	if reflect.DeepEqual(d.Status, st) {
		r.checkLater(&st)
	}
	return r.writeStatus(st)
}

// judge sets the condition Progressing.
func (r *rollout) judge(st *appsv1.DeploymentStatus, current *appsv1.DeploymentCondition) {
	what, name := "Deployment", r.d.Name
	if r.next != nil {
		what, name = "ReplicaSet", r.next.Name
	}
	switch {
	case complete(r.d, st):
		r.setCondition(st, appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonAvailable, "%s %q has successfully progressed.", what, name)
	case progressing(&r.d.Status, st):
		drop(st, appsv1.DeploymentProgressing)
		r.setCondition(st, appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonUpdated, "%s %q is progressing.", what, name)
		if current != nil && current.Status == corev1.ConditionTrue {
			condition(st, appsv1.DeploymentProgressing).LastTransitionTime = current.LastTransitionTime
		}
	case r.timedOut(st):
		r.setCondition(st, appsv1.DeploymentProgressing, corev1.ConditionFalse, reasonTimedOut, "%s %q has timed out progressing.", what, name)
	}
}

// progressing reports whether anything got better (DeploymentProgressing).
func progressing(was, is *appsv1.DeploymentStatus) bool {
	return is.UpdatedReplicas > was.UpdatedReplicas ||
		is.Replicas-is.UpdatedReplicas < was.Replicas-was.UpdatedReplicas ||
		is.ReadyReplicas > was.ReadyReplicas || is.AvailableReplicas > was.AvailableReplicas
}

func (r *rollout) timedOut(st *appsv1.DeploymentStatus) bool {
	c := condition(st, appsv1.DeploymentProgressing)
	switch {
	case c == nil || c.Reason == reasonAvailable:
		return false
	case c.Reason == reasonTimedOut:
		return true
	}
	return c.LastUpdateTime.Add(r.deadline()).Before(r.run.T.Now())
}

func (r *rollout) deadline() time.Duration {
	return time.Duration(*r.d.Spec.ProgressDeadlineSeconds) * time.Second
}

// checkLater comes back when the deadline will have passed: when nothing
// happens, nothing else says so (requeueStuckDeployment).
func (r *rollout) checkLater(st *appsv1.DeploymentStatus) {
	c := condition(&r.d.Status, appsv1.DeploymentProgressing)
	if !hasDeadline(r.d) || c == nil || complete(r.d, st) || c.Reason == reasonTimedOut {
		return
	}
	after := c.LastUpdateTime.Add(r.deadline()).Sub(r.run.T.Now())
	if after < time.Second {
		r.run.AgainLimited()
		return
	}
	r.run.Again(after + time.Second)
}

// failure is the first ReplicaSet's condition ReplicaFailure, the new one's
// before the others' (getReplicaFailures).
func (r *rollout) failure() *appsv1.DeploymentCondition {
	sets := r.sets()
	if r.next != nil {
		sets = append([]*appsv1.ReplicaSet{r.next}, r.old...)
	}
	for _, rs := range sets {
		for _, c := range rs.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure {
				return &appsv1.DeploymentCondition{
					Type: appsv1.DeploymentReplicaFailure, Status: c.Status, Reason: c.Reason, Message: c.Message,
					LastTransitionTime: c.LastTransitionTime, LastUpdateTime: c.LastTransitionTime,
				}
			}
		}
	}
	return nil
}
