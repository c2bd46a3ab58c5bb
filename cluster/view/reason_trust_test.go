package view_test

import (
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// trusts is a pod on node-1 that mounts certificates, and whose container waits or runs.
func trusts(waits bool, sources ...corev1.ClusterTrustBundleProjection) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "client"}, Spec: corev1.PodSpec{NodeName: "node-1"}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
	v := corev1.Volume{Name: "trust", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}}
	for i := range sources {
		v.Projected.Sources = append(v.Projected.Sources, corev1.VolumeProjection{ClusterTrustBundle: &sources[i]})
	}
	p.Spec.Volumes = []corev1.Volume{{Name: "other"}, v}
	state := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	if !waits {
		state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: state}}
	return p
}

func bundleOf(name, signer, live string) *certificatesv1.ClusterTrustBundle {
	return &certificatesv1.ClusterTrustBundle{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"live": live}}, Spec: certificatesv1.ClusterTrustBundleSpec{SignerName: signer}}
}

// A pod says which ClusterTrustBundle it waits for, as long as no container has begun.
func TestReasonsOfMissingTrustBundles(t *testing.T) {
	const begins, ends = "Pod demo/client is Pending: its volume trust mounts ", ", and is not optional; the kubelet of node-1 tries again, at most 2m2s later each time"
	const generic = "Pod demo/client is Pending: container app waits: ContainerCreating"
	one := corev1.ClusterTrustBundleProjection{Name: ptr.To("roots")}
	of := func(selector *metav1.LabelSelector) corev1.ClusterTrustBundleProjection {
		return corev1.ClusterTrustBundleProjection{SignerName: ptr.To("example.com/a"), LabelSelector: selector}
	}
	live := &metav1.LabelSelector{MatchLabels: map[string]string{"live": "true"}}
	optional := one
	optional.Optional = ptr.To(true)
	others := []runtime.Object{bundleOf("a", "example.com/a", "false"), bundleOf("b", "example.com/b", "true")}
	for name, c := range map[string]struct {
		pod     *corev1.Pod
		objects []runtime.Object
		want    string
	}{
		"by name":           {trusts(true, one), others, begins + "the ClusterTrustBundle roots, which is not there" + ends},
		"by name, there":    {trusts(true, one), []runtime.Object{bundleOf("roots", "", "")}, generic},
		"optional":          {trusts(true, optional), nil, generic},
		"a container runs":  {trusts(false, one), nil, "Pod demo/client is Pending: container app runs, and its readiness probe has not succeeded"},
		"no bundles":        {trusts(true, of(live)), others[1:], begins + "the ClusterTrustBundles of signer example.com/a, which has none" + ends},
		"no selector":       {trusts(true, of(nil)), others, begins + "none of the 1 ClusterTrustBundles of signer example.com/a: without a labelSelector it selects nothing" + ends},
		"none selected":     {trusts(true, of(live)), others, begins + "those ClusterTrustBundles of signer example.com/a that have live=true, which none of its 1 has" + ends},
		"selected":          {trusts(true, of(live)), append(others, bundleOf("c", "example.com/a", "true")), generic},
		"all selected":      {trusts(true, of(&metav1.LabelSelector{})), others, generic},
		"the second source": {trusts(true, optional, one), others, begins + "the ClusterTrustBundle roots, which is not there" + ends},
	} {
		t.Run(name, func(t *testing.T) {
			s := standing(t, append([]runtime.Object{c.pod, diskNode("node-1", corev1.ConditionTrue, false, false)}, c.objects...)...)
			var got string
			for _, r := range s.Reasons(s.Object("pods", "demo", "client")) {
				if got = r.Says; got == c.want {
					return
				}
			}
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		})
	}
}
