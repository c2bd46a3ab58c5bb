package replicaset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kubernetes/pkg/apis/apps"
	upstreamapps "k8s.io/kubernetes/pkg/apis/apps/v1"
	upstream "k8s.io/kubernetes/pkg/apis/core/v1"
	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

// Kubernetes reads a ReplicationController as a ReplicaSet through the internal version.
func TestAReplicationControllerIsReadAsUpstreamReadsIt(t *testing.T) {
	number := rapid.Int32Range(0, 5)
	words := rapid.MapOfN(rapid.StringMatching("[a-z]{1,3}"), rapid.StringMatching("[a-z]{0,3}"), 1, 3)
	steady.Check(t, func(t *rapid.T) {
		replicas := number.Draw(t, "replicas")
		labels := words.Draw(t, "labels")
		rc := &corev1.ReplicationController{
			Spec: corev1.ReplicationControllerSpec{
				Replicas: &replicas, MinReadySeconds: number.Draw(t, "minReadySeconds"), Selector: labels,
				Template: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways}},
			},
			Status: corev1.ReplicationControllerStatus{
				Replicas: number.Draw(t, "status"), FullyLabeledReplicas: number.Draw(t, "labelled"), ReadyReplicas: number.Draw(t, "ready"),
				AvailableReplicas: number.Draw(t, "available"), ObservedGeneration: int64(number.Draw(t, "generation")),
			},
		}
		rc.Name, rc.UID, rc.Labels, rc.Annotations = "web", "7", words.Draw(t, "own"), words.Draw(t, "annotations")
		rc.Spec.Template.Labels = labels
		if rapid.Bool().Draw(t, "failed") {
			rc.Status.Conditions = []corev1.ReplicationControllerCondition{{Type: "ReplicaFailure", Status: "True", Reason: "FailedCreate", Message: "no"}}
		}
		var internal apps.ReplicaSet
		var want appsv1.ReplicaSet
		if err := upstream.Convert_v1_ReplicationController_To_apps_ReplicaSet(rc.DeepCopy(), &internal, nil); err != nil {
			t.Fatal(err)
		}
		if err := upstreamapps.Convert_apps_ReplicaSet_To_v1_ReplicaSet(&internal, &want, nil); err != nil {
			t.Fatal(err)
		}
		got := asSet(rc)
		if diff := cmp.Diff(text(t, &want), text(t, got)); diff != "" {
			t.Fatalf("-upstream +here:\n%s", diff)
		}
		if diff := cmp.Diff(rc, asReplicationController(got)); diff != "" {
			t.Fatalf("there and back (-before +after):\n%s", diff)
		}
	})
}

func text(t *rapid.T, rs *appsv1.ReplicaSet) string {
	data, err := json.Marshal(rs)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
