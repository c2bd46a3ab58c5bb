package view_test

import (
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

func certificateRequest(name, pod, signer string, conditions ...metav1.Condition) *certificatesv1.PodCertificateRequest {
	return &certificatesv1.PodCertificateRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: certificatesv1.PodCertificateRequestSpec{PodUID: types.UID(pod), SignerName: signer},
		Status: certificatesv1.PodCertificateRequestStatus{Conditions: conditions},
	}
}

// A pod says how far its certificate is, as long as no container has begun.
func TestReasonsOfMissingCertificates(t *testing.T) {
	const begins = "Pod demo/client is Pending: its volume trust mounts a certificate of signer example.com/a, and "
	pod := func(waits bool) *corev1.Pod {
		p := trusts(waits)
		p.Spec.Volumes[1].Projected.Sources = []corev1.VolumeProjection{{PodCertificate: &corev1.PodCertificateProjection{SignerName: "example.com/a"}}}
		return p
	}
	foreign := []runtime.Object{certificateRequest("req-1", "another", "example.com/a"), certificateRequest("req-2", "client", "example.com/b")}
	for name, c := range map[string]struct {
		pod     *corev1.Pod
		objects []runtime.Object
		want    string
	}{
		"not asked": {pod(true), foreign, begins + "the kubelet of node-1 has not asked for it yet"},
		"no answer": {
			pod(true), append(foreign, certificateRequest("req-3", "client", "example.com/a")),
			begins + "nobody has answered PodCertificateRequest req-3: signers are no part of Kubernetes, one has to run beside it",
		},
		"denied": {
			pod(true),
			[]runtime.Object{certificateRequest("req-3", "client", "example.com/a", metav1.Condition{Type: "Denied", Reason: "UnsupportedKeyType", Message: "take another"})},
			begins + "the signer has answered PodCertificateRequest req-3 with Denied, for good: UnsupportedKeyType: take another",
		},
		"failed": {
			pod(true),
			[]runtime.Object{certificateRequest("req-3", "client", "example.com/a", metav1.Condition{Type: "Failed", Reason: "Broken"})},
			begins + "the signer has answered PodCertificateRequest req-3 with Failed, for good: Broken",
		},
		"issued": {
			pod(true),
			[]runtime.Object{certificateRequest("req-3", "client", "example.com/a", metav1.Condition{Type: "Issued"})},
			"Pod demo/client is Pending: container app waits: ContainerCreating",
		},
		"it runs": {pod(false), foreign, "Pod demo/client is Pending: container app runs, and its readiness probe has not succeeded"},
	} {
		t.Run(name, func(t *testing.T) {
			s := standing(t, append([]runtime.Object{c.pod, diskNode("node-1", corev1.ConditionTrue, false, false)}, c.objects...)...)
			var got []string
			for _, r := range s.Reasons(s.Object("pods", "demo", "client")) {
				if r.Says == c.want {
					return
				}
				got = append(got, r.Says)
			}
			t.Errorf("got\n%q\nwant\n%s", got, c.want)
		})
	}
}
