// Package attachtest has what the tests of the attach-detach controller and their comparison with Kubernetes' own, which
// is in a module of its own, both need: the controller in a process, and nodes, claims, volumes and pods for it.
//
// Start reading at [Start].
package attachtest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/attachdetach"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/csi"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Finalizer is what the driver's external-attacher puts on a VolumeAttachment.
const Finalizer = "external-attacher/" + csi.Name

// Start runs the controller.
func Start(b *clienttest.Bench) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
	f := informer.NewFactory(p, p.Lane, b.Client())
	attachdetach.New(reconcile.NewEnv(p, attachdetach.Name, attachdetach.Source, b.Client(), f, 1)).Start()
	f.Start()
	return p
}

// Node gives one whose kubelet leaves attaching to the controller.
func Node(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

// Bound gives a claim and the volume that it is bound to; one whose name begins with s can be shared by nodes.
func Bound(name string) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {
	mode := corev1.ReadWriteOnce
	if name[0] == 's' {
		mode = corev1.ReadWriteMany
	}
	uid := types.UID(name + "-uid")
	return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, UID: uid},
			Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: name, AccessModes: []corev1.PersistentVolumeAccessMode{mode}},
			Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
		}, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{
				AccessModes:            []corev1.PersistentVolumeAccessMode{mode},
				ClaimRef:               &corev1.ObjectReference{Namespace: "demo", Name: name, UID: uid},
				PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: csi.Name, VolumeHandle: name}},
			},
		}
}

// Create makes a claim and the volume that it is bound to.
func Create(t *sim.Task, c client.Interface, name string) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {
	claim, pv := Bound(name)
	claim = clienttest.Must(client.Create(t, c, client.PersistentVolumeClaims, "demo", claim))
	pv.Spec.ClaimRef.UID = claim.UID
	return claim, clienttest.Must(client.Create(t, c, client.PersistentVolumes, "", pv))
}

// Pod gives one that wants claims on a node.
func Pod(name, node string, claims ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Spec: corev1.PodSpec{NodeName: node}}
	for _, claim := range claims {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	}
	return p
}

// End removes a pod, as its kubelet does, or kubectl delete --force.
func End(t *sim.Task, c client.Interface, name string) {
	_ = c.Delete(t, client.Pods, "demo", name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
}

// Unique is what nodes call a volume.
func Unique(volume string) corev1.UniqueVolumeName {
	return corev1.UniqueVolumeName(csi.UniqueName(csi.Name, volume))
}
