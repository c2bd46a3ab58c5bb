package view

import (
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// withoutCertificate says of a pod on a node which certificate a volume of its waits for, and what
// has become of the request; nil where none is missing, or where a container has begun. is
// begins the sentence.
func (s *State) withoutCertificate(o *Object, pod *corev1.Pod, is string) *Reason {
	if begun(pod) {
		return nil
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Projected == nil {
			continue
		}
		for j := range v.Projected.Sources {
			src := v.Projected.Sources[j].PodCertificate
			if src == nil {
				continue
			}
			if a := s.missingCertificate(pod, src); a != nil {
				a.Says = fmt.Sprintf("%sits volume %s mounts a certificate of signer %s, and %s", is, v.Name, src.SignerName, a.Says)
				a.From = append(a.From, s.warnings(o)...)
				return a
			}
		}
	}
	return nil
}

// missingCertificate says how far a pod's request for a certificate is; nil once it is issued.
func (s *State) missingCertificate(pod *corev1.Pod, src *corev1.PodCertificateProjection) *Reason {
	a := sentence("the kubelet of %s has not asked for it yet", pod.Spec.NodeName)
	s.EachObject("podcertificaterequests", pod.Namespace, func(o *Object) bool {
		r, ok := o.Value.(*certificatesv1.PodCertificateRequest)
		if !ok || o.Deleted || r.Spec.PodUID != pod.UID || r.Spec.SignerName != src.SignerName {
			return true
		}
		a = sentence("nobody has answered PodCertificateRequest %s: signers are no part of Kubernetes, one has to run beside it", r.Name)
		for _, c := range r.Status.Conditions {
			switch c.Type {
			case certificatesv1.PodCertificateRequestConditionTypeIssued:
				a = nil
			case certificatesv1.PodCertificateRequestConditionTypeDenied, certificatesv1.PodCertificateRequestConditionTypeFailed:
				a = sentence("the signer has answered PodCertificateRequest %s with %s, for good: %s", r.Name, c.Type, saidIn(c))
			}
		}
		if a != nil {
			a.From = []Keeper{{What: "podcertificaterequest " + r.Name, Why: "asks for it", Ref: o.Ref, Event: o.Changed}}
		}
		return a != nil
	})
	return a
}

// saidIn are the reason and the message of a condition.
func saidIn(c metav1.Condition) string { return c.Reason + tail(": ", c.Message) }

// begun reports whether a container of a pod runs, or has run.
func begun(pod *corev1.Pod) bool {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, c := range list {
			if c.State.Waiting == nil || c.LastTerminationState.Terminated != nil {
				return true
			}
		}
	}
	return false
}
