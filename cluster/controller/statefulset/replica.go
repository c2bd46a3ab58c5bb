package statefulset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
)

// replica deals with the pod of one of the set's ordinals: makes it, makes it anew, mends
// it. It stops where those after it have to wait (processReplica).
func (s *step) replica(run *reconcile.Run, pod *corev1.Pod, i int) (stop bool, err error) {
	if pods.Terminal(pod) {
		if terminating(pod) {
			return true, nil
		}
		return true, s.delete(run, pod, fmt.Sprintf("%s has %s and will not run again, whatever its exit code: delete it, to create it again", pod.Name, lower(pod.Status.Phase)))
	}
	if !created(pod) {
		if s.claimsStale(s.set, pod) {
			return true, nil
		}
		if err := s.create(run, pod, s.whyCreate(pod, i)); err != nil || s.monotonic() {
			return true, err
		}
	}
	if pod.Status.Phase == corev1.PodPending {
		if err := s.makeClaims(run, s.set, pod); err != nil {
			return true, err
		}
		if err := s.settleClaims(run, s.set, pod); err != nil {
			s.failed(run, "Update", pod, err)
			return true, err
		}
	}
	if s.monotonic() && (terminating(pod) || !runningAndReady(pod) || !s.available(pod)) {
		after := "an update or a scale-down"
		if i+1 < len(s.replicas) {
			after = s.replicas[i+1].Name
		}
		run.Waits("%s is %s: %s waits for it (podManagementPolicy OrderedReady)", pod.Name, s.lacking(pod), after)
		return true, nil // those after it may need it at work
	}
	// Claims are looked at as those of the newest template are to be.
	if identified(s.set, pod) && mounted(s.set, pod) && s.claimsSettled(s.updateSet, pod) {
		return false, nil
	}
	err = s.mend(run, pod.DeepCopy())
	return err != nil, err
}

// lacking says what a pod lacks that others wait for.
func (s *step) lacking(pod *corev1.Pod) string {
	switch {
	case terminating(pod):
		return "on its way out"
	case pod.Status.Phase != corev1.PodRunning:
		return "not Running but " + string(pod.Status.Phase)
	case !runningAndReady(pod):
		return "Running and not Ready"
	}
	return fmt.Sprintf("Ready, but not yet for minReadySeconds %d", s.set.Spec.MinReadySeconds)
}

func lower(p corev1.PodPhase) string {
	if p == corev1.PodFailed {
		return "failed"
	}
	return "succeeded"
}

// whyCreate says why a pod is made now.
func (s *step) whyCreate(pod *corev1.Pod, i int) string {
	first, end := ordinals(s.set)
	why := fmt.Sprintf("spec.replicas is %d, ordinals %d to %d: %s does not exist", *s.set.Spec.Replicas, first, end-1, pod.Name)
	switch {
	case !s.monotonic():
		why += ", podManagementPolicy Parallel waits for no other"
	case i > 0:
		why += fmt.Sprintf(", all before it up to %s are available", s.replicas[i-1].Name)
	}
	return why + ": create it of revision " + revisionOf(pod)
}

// create makes a pod's claims, then the pod (CreateStatefulPod).
func (s *step) create(run *reconcile.Run, pod *corev1.Pod, why string) error {
	if err := s.makeClaims(run, s.set, pod); err != nil {
		s.failed(run, "Create", pod, err)
		return err
	}
	run.Act("create", client.Pods.Ref(pod.Namespace, pod.Name), len(s.replicas), s.status.Replicas, "%s", why)
	made, err := client.Create(run.T, s.Client, client.Pods, pod.Namespace, pod)
	if apierrors.IsAlreadyExists(err) {
		return err
	}
	if err == nil {
		s.written.At(run.Key, s.pods, made)
	}
	if err := s.settleClaims(run, s.set, pod); err != nil {
		s.failed(run, "Update", pod, err)
		return err
	}
	if err != nil {
		s.failed(run, "Create", pod, err)
		return err
	}
	s.succeeded(run, "Create", pod)
	return nil
}

// mend gives a pod its identity, its claims and their owners again (UpdateStatefulPod).
func (s *step) mend(run *reconcile.Run, pod *corev1.Pod) error {
	set, tried := s.updateSet, false
	err := reconcile.OnConflict(run.T, reconcile.Backoff, func() error {
		good := identified(set, pod)
		if !good {
			identify(set, pod)
		}
		if !mounted(set, pod) {
			good = false
			mountClaims(set, pod)
			if err := s.makeClaims(run, set, pod); err != nil {
				s.failed(run, "Update", pod, err)
				return err
			}
		}
		if !s.claimsSettled(set, pod) {
			good = false
			if err := s.settleClaims(run, set, pod); err != nil {
				s.failed(run, "Update", pod, err)
				return err
			}
		}
		if good {
			return nil
		}
		tried = true
		run.Act("update", client.RefOf(pod), nil, nil, "%s does not have the labels, the volumes or the claims of its ordinal: write it again", pod.Name)
		updated, err := client.Update(run.T, s.Client, client.Pods, pod.Namespace, pod)
		if err == nil {
			s.written.At(run.Key, s.pods, updated)
		} else if seen, ok := s.pods.Get(informer.KeyOf(pod)); ok {
			pod = seen.(*corev1.Pod).DeepCopy()
		}
		return err
	})
	switch {
	case tried && err != nil:
		s.failed(run, "Update", pod, err)
	case tried:
		s.succeeded(run, "Update", pod)
	}
	return err
}

// condemnedClaims gives the claims of a pod that has to go their owner before it does.
func (s *step) condemnedClaims(run *reconcile.Run, pod *corev1.Pod, _ int) (bool, error) {
	if s.claimsSettled(s.updateSet, pod) {
		return false, nil
	}
	err := s.settleClaims(run, s.updateSet, pod)
	return err != nil, err
}

// condemn deletes a pod that the set has no ordinal for, the highest one first. Unless with
// Parallel, one that is not available stops all of this, but for itself (processCondemned).
func (s *step) condemn(run *reconcile.Run, pod, unavailable *corev1.Pod) (stop bool, err error) {
	if terminating(pod) {
		run.Waits("%s is beyond spec.replicas %d and on its way out: the next one waits until it is gone", pod.Name, *s.set.Spec.Replicas)
		return true, nil
	}
	if s.monotonic() && pod != unavailable && (!runningAndReady(pod) || !s.available(pod)) {
		run.Waits("%s is beyond spec.replicas %d and has to go, but is %s: another that is not available goes before it", pod.Name, *s.set.Spec.Replicas, s.lacking(pod))
		return true, nil
	}
	first, end := ordinals(s.set)
	within := fmt.Sprintf("ordinals %d to %d", first, end-1)
	if first == end {
		within = "no ordinals"
	}
	return true, s.delete(run, pod, fmt.Sprintf("spec.replicas is %d, %s: %s is none of them and the highest that is left: delete it", *s.set.Spec.Replicas, within, pod.Name))
}

// delete deletes a pod; that it is gone already is as good (DeleteStatefulPod).
func (s *step) delete(run *reconcile.Run, pod *corev1.Pod, why string) error {
	run.Act("delete", client.RefOf(pod), len(s.replicas), s.status.Replicas, "%s", why)
	err := s.Client.Delete(run.T, client.Pods, pod.Namespace, pod.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.failed(run, "Delete", pod, err)
		return err
	}
	s.succeeded(run, "Delete", pod)
	return nil
}

// succeeded and failed record how it went (recordPodEvent).
func (s *step) succeeded(run *reconcile.Run, verb string, pod *corev1.Pod) {
	s.Events.Event(run.T, s.set, corev1.EventTypeNormal, "Successful"+verb, "%s Pod %s in StatefulSet %s successful", verb, pod.Name, s.set.Name)
}

func (s *step) failed(run *reconcile.Run, verb string, pod *corev1.Pod, err error) {
	s.Events.Event(run.T, s.set, corev1.EventTypeWarning, "Failed"+verb, "%s Pod %s in StatefulSet %s failed error: %v", verb, pod.Name, s.set.Name, err)
}
