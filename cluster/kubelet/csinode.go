package kubelet

import (
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/csi"
	"kviz/cluster/sim"
)

// The annotation of a Node with what drivers call it (nodeinfomanager.go annotationKeyNodeID).
const annNodeID = "csi.volume.kubernetes.io/nodeid"

// registerDriver tells in the node's CSINode that the driver is on it, and how many of its
// volumes fit (pkg/volume/csi/nodeinfomanager CreateCSINode, installDriverToCSINode). Upstream
// creates the object before the driver has registered and updates it then; here both are one
// write.
func (kl *Kubelet) registerDriver(t *sim.Task) {
	if kl.cfg.Storage == nil {
		return
	}
	t.SetCauses(kl.p.Began())
	limit := int32(csi.AttachLimit)
	want := &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{
			Name: kl.cfg.Node, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: kl.cfg.Node, UID: kl.node.uid}},
		},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: csi.Name, NodeID: kl.cfg.Node, Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}}},
	}
	const tries = 6
	delay := 500 * time.Millisecond
	for range tries {
		_, err := client.Create(t, kl.c, client.CSINodes, "", want)
		if apierrors.IsAlreadyExists(err) {
			var there *storagev1.CSINode
			if there, err = client.Get[*storagev1.CSINode](t, kl.c, client.CSINodes, "", kl.cfg.Node); err == nil && (len(there.OwnerReferences) != 1 || there.OwnerReferences[0].UID != kl.node.uid) {
				// It is that of a Node of the name that was before (ensureNodeOwnsCSINode).
				err = kl.c.Delete(t, client.CSINodes, "", kl.cfg.Node, metav1.DeleteOptions{})
				if err == nil {
					continue
				}
			}
		}
		if err == nil {
			return
		}
		t.Sleep(delay)
		delay *= 2
	}
}
