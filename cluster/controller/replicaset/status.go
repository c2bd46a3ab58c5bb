package replicaset

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
)

// status counts (calculateStatus).
func (c *Controller) status(rs *appsv1.ReplicaSet, y *tally, manageErr error, now time.Time) appsv1.ReplicaSetStatus {
	st := *rs.Status.DeepCopy()
	number := func(what fact) int32 { return int32(y.number(claimed | what)) }
	st.Replicas, st.FullyLabeledReplicas = number(active), number(active|labelled)
	if c.kind.countsGoing {
		going := number(terminating)
		st.TerminatingReplicas = &going
	}
	st.ReadyReplicas, st.AvailableReplicas = number(active|ready), int32(y.available(rs.Spec.MinReadySeconds, now))
	setFailure(&st, manageErr, int(st.Replicas), int(*rs.Spec.Replicas), now)
	return st
}

// setFailure keeps the condition ReplicaFailure: there as long as pods cannot be
// created or deleted.
func setFailure(st *appsv1.ReplicaSetStatus, err error, have, want int, now time.Time) {
	isFailure := func(c appsv1.ReplicaSetCondition) bool { return c.Type == appsv1.ReplicaSetReplicaFailure }
	has := slices.ContainsFunc(st.Conditions, isFailure)
	switch {
	case err == nil && has:
		st.Conditions = slices.DeleteFunc(st.Conditions, isFailure)
	case err != nil && !has:
		reason := "FailedCreate"
		if have > want {
			reason = "FailedDelete"
		}
		st.Conditions = append(st.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)), Reason: reason, Message: err.Error(),
		})
	}
	if len(st.Conditions) == 0 {
		st.Conditions = nil
	}
}

// updateStatus writes the status if it changed, with one more try on a conflict
// (updateReplicaSetStatus).
func (c *Controller) updateStatus(run *reconcile.Run, rs *appsv1.ReplicaSet, st appsv1.ReplicaSetStatus) (*appsv1.ReplicaSet, error) {
	if rs.Generation == rs.Status.ObservedGeneration && reflect.DeepEqual(rs.Status, st) {
		return rs, nil
	}
	// What was observed is the generation acted on, not one that a retry reads.
	st.ObservedGeneration = rs.Generation
	run.Act("update", c.ref(rs), counts(st), counts(rs.Status), "%s", whyStatus(rs, st))
	for try := 0; ; try++ {
		rs = rs.DeepCopy()
		rs.Status = st
		obj, err := c.Client.Update(run.T, c.kind.resource, rs.Namespace, c.kind.object(rs), "status")
		if err == nil {
			return c.kind.set(obj), nil
		}
		if try > 0 {
			return nil, err
		}
		if obj, err = c.Client.Get(run.T, c.kind.resource, rs.Namespace, rs.Name); err != nil {
			return nil, err
		}
		rs = c.kind.set(obj)
	}
}

// whyStatus says what is new in a status.
func whyStatus(rs *appsv1.ReplicaSet, st appsv1.ReplicaSetStatus) string {
	was := rs.Status
	switch {
	case counts(st) != counts(was):
		return fmt.Sprintf("counted %s, the status says %s: update it", words(st), words(was))
	case was.ObservedGeneration != rs.Generation:
		return fmt.Sprintf("the spec is at generation %d, the status at %d: note that it was seen", rs.Generation, was.ObservedGeneration)
	case !reflect.DeepEqual(was.TerminatingReplicas, st.TerminatingReplicas):
		was := int32(0)
		if rs.Status.TerminatingReplicas != nil {
			was = *rs.Status.TerminatingReplicas
		}
		return fmt.Sprintf("%s on the way out, the status says %d: update it", pods.Count(*st.TerminatingReplicas), was)
	}
	return "the conditions changed: update the status"
}

func words(st appsv1.ReplicaSetStatus) string {
	return fmt.Sprintf("%s (%d ready, %d available)", pods.Count(st.Replicas), st.ReadyReplicas, st.AvailableReplicas)
}

func counts(st appsv1.ReplicaSetStatus) [3]int32 {
	return [3]int32{st.Replicas, st.ReadyReplicas, st.AvailableReplicas}
}

func converged(rs *appsv1.ReplicaSet) bool {
	st, want := rs.Status, *rs.Spec.Replicas
	return st.ObservedGeneration >= rs.Generation && st.Replicas == want && st.ReadyReplicas == want && st.AvailableReplicas == want
}
