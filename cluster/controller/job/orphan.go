package job

import (
	"encoding/json"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// The keys of the second queue name a pod, or all that a selector matches.
const (
	byName     = "pod"
	bySelector = "selector"
)

func selectorKey(job *batchv1.Job) string {
	sel, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		return bySelector + "/" + job.Namespace + "/" + labels.Nothing().String()
	}
	return bySelector + "/" + job.Namespace + "/" + sel.String()
}

func orphanRef(key string) trace.Ref {
	parts := strings.SplitN(key, "/", 3)
	if parts[0] == bySelector {
		return client.Pods.Ref(parts[1], "")
	}
	return client.Pods.Ref(parts[1], parts[2])
}

// orphan has a pod looked at that has a finalizer no Job will take from it.
func (c *Controller) orphan(t *sim.Task, pod *corev1.Pod) {
	if tracked(pod) {
		c.orphans.Add(t, byName+"/"+informer.KeyOf(pod))
	}
}

// syncOrphan takes the finalizer from pods whose Job is gone, or has ended, or never was.
func (c *Controller) syncOrphan(run *reconcile.Run) error {
	parts := strings.SplitN(run.Key, "/", 3)
	if parts[0] == byName {
		if obj, ok := c.pods.Get(informer.Key(parts[1], parts[2])); ok {
			return c.free(run, obj.(*corev1.Pod))
		}
		return nil
	}
	sel, err := labels.Parse(parts[2])
	if err != nil {
		return err
	}
	for _, obj := range c.pods.ListNamespace(parts[1]) {
		pod := obj.(*corev1.Pod)
		if !sel.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if err := c.free(run, pod); err != nil {
			c.orphans.AddRateLimited(run.T, byName+"/"+informer.KeyOf(pod))
		}
	}
	return nil
}

// free takes the finalizer from one pod, if it is still an orphan (handleSingleOrphanPod).
func (c *Controller) free(run *reconcile.Run, pod *corev1.Pod) error {
	why := "has no Job"
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		if ref.Kind != "Job" || ref.APIVersion != batchv1.SchemeGroupVersion.String() {
			return nil
		}
		why = "belonged to Job " + ref.Name + ", which is gone"
		if job, ok := c.owner(pod, ref); ok {
			if managedElsewhere(job) != "" || !ended(job) {
				return nil
			}
			why = "belongs to Job " + ref.Name + ", which has ended"
		}
	}
	if !tracked(pod) {
		return nil
	}
	run.Act("patch", client.RefOf(pod), nil, nil, "pod %s %s: nobody else will take its finalizer %s away", pod.Name, why, batchv1.JobTrackingFinalizer)
	if err := c.untrack(run.T, pod); !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// tracked reports whether a pod has the finalizer that keeps it until it is counted.
func tracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}

// untrack takes the finalizer from a pod.
func (c *Controller) untrack(t *sim.Task, pod *corev1.Pod) error {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"$deleteFromPrimitiveList/finalizers": []string{batchv1.JobTrackingFinalizer}}})
	if err != nil {
		return err
	}
	freed, err := c.Client.Patch(t, client.Pods, pod.Namespace, pod.Name, types.StrategicMergePatchType, data, "")
	if err != nil {
		return err
	}
	if ref := metav1.GetControllerOfNoCopy(freed.(*corev1.Pod)); ref != nil {
		c.written.At(informer.Key(pod.Namespace, ref.Name), c.pods, freed)
	}
	return nil
}
