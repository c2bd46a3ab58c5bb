package pods

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// SetCondition puts a condition into a pod's status, in its place or at the end, and reports whether that changes
// anything. It is of the pod's current generation, and as old as the last change of its status (UpdatePodCondition).
func SetCondition(t *sim.Task, pod *corev1.Pod, status *corev1.PodStatus, c corev1.PodCondition) bool {
	c.ObservedGeneration, c.LastTransitionTime = pod.Generation, client.Now(t)
	for i := range status.Conditions {
		old := status.Conditions[i]
		if old.Type != c.Type {
			continue
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		status.Conditions[i] = c
		return old.Status != c.Status || old.Reason != c.Reason || old.Message != c.Message
	}
	status.Conditions = append(status.Conditions, c)
	return true
}

// PatchStatus sends what makes a pod's status another one, in the order of its conditions (PatchPodStatus). It is
// refused if the pod is another one of the same name.
func PatchStatus(t *sim.Task, c client.Interface, pod *corev1.Pod, status corev1.PodStatus) error {
	old, err := json.Marshal(corev1.Pod{Status: pod.Status})
	if err != nil {
		return fmt.Errorf("the status of pod %s: %w", pod.Name, err)
	}
	made, err := json.Marshal(corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID}, Status: status})
	if err != nil {
		return fmt.Errorf("the status of pod %s: %w", pod.Name, err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(old, made, corev1.Pod{})
	if err != nil {
		return fmt.Errorf("a patch of the status of pod %s: %w", pod.Name, err)
	}
	_, err = c.Patch(t, client.Pods, pod.Namespace, pod.Name, types.StrategicMergePatchType, patch, "status")
	return err
}
