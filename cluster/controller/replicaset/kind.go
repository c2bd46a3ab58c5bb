package replicaset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/ownerref"
	"kviz/cluster/trace"
)

// kind is what the controller keeps pods for. A ReplicationController, which was there
// before ReplicaSets, says the same in other words; so the controller reads it as a
// ReplicaSet and writes it back (pkg/controller/replication).
type kind struct {
	resource client.Resource
	queue    string
	// set reads an object as a ReplicaSet, which shares its parts; object is the way back.
	set    func(runtime.Object) *appsv1.ReplicaSet
	object func(*appsv1.ReplicaSet) ownerref.Object
	// countsGoing says that the status has status.terminatingReplicas.
	countsGoing bool
}

var replicaSets = &kind{
	resource: client.ReplicaSets, queue: "replicaset", countsGoing: true,
	set:    func(obj runtime.Object) *appsv1.ReplicaSet { return obj.(*appsv1.ReplicaSet) },
	object: func(rs *appsv1.ReplicaSet) ownerref.Object { return rs },
}

var replicationControllers = &kind{
	resource: client.ReplicationControllers, queue: "replicationmanager",
	set:    func(obj runtime.Object) *appsv1.ReplicaSet { return asSet(obj.(*corev1.ReplicationController)) },
	object: func(rs *appsv1.ReplicaSet) ownerref.Object { return asReplicationController(rs) },
}

func asSet(rc *corev1.ReplicationController) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{
		ObjectMeta: rc.ObjectMeta,
		Spec:       appsv1.ReplicaSetSpec{Replicas: rc.Spec.Replicas, MinReadySeconds: rc.Spec.MinReadySeconds},
		Status: appsv1.ReplicaSetStatus{
			Replicas: rc.Status.Replicas, FullyLabeledReplicas: rc.Status.FullyLabeledReplicas, ReadyReplicas: rc.Status.ReadyReplicas,
			AvailableReplicas: rc.Status.AvailableReplicas, ObservedGeneration: rc.Status.ObservedGeneration,
		},
	}
	if rc.Spec.Selector != nil {
		rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}
	}
	if rc.Spec.Template != nil {
		rs.Spec.Template = *rc.Spec.Template
	}
	for _, c := range rc.Status.Conditions {
		rs.Status.Conditions = append(rs.Status.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
		})
	}
	return rs
}

func asReplicationController(rs *appsv1.ReplicaSet) *corev1.ReplicationController {
	rc := &corev1.ReplicationController{
		ObjectMeta: rs.ObjectMeta,
		Spec:       corev1.ReplicationControllerSpec{Replicas: rs.Spec.Replicas, MinReadySeconds: rs.Spec.MinReadySeconds, Template: &rs.Spec.Template},
		Status: corev1.ReplicationControllerStatus{
			Replicas: rs.Status.Replicas, FullyLabeledReplicas: rs.Status.FullyLabeledReplicas, ReadyReplicas: rs.Status.ReadyReplicas,
			AvailableReplicas: rs.Status.AvailableReplicas, ObservedGeneration: rs.Status.ObservedGeneration,
		},
	}
	if rs.Spec.Selector != nil {
		rc.Spec.Selector = rs.Spec.Selector.MatchLabels
	}
	for _, c := range rs.Status.Conditions {
		rc.Status.Conditions = append(rc.Status.Conditions, corev1.ReplicationControllerCondition{
			Type: corev1.ReplicationControllerConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
		})
	}
	return rc
}

// ref names what rs was read from.
func (c *Controller) ref(rs *appsv1.ReplicaSet) trace.Ref {
	ref := c.kind.resource.Ref(rs.Namespace, rs.Name)
	ref.UID = string(rs.UID)
	return ref
}
