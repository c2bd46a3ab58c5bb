package provisioner

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/csi"
)

// syncClaim looks at one claim (controller.go syncClaim, shouldProvision).
func (s *Provisioner) syncClaim(run *reconcile.Run) error {
	obj, ok := s.claims.Get(run.Key)
	if !ok {
		return nil
	}
	pvc := obj.(*corev1.PersistentVolumeClaim)
	if pvc.Spec.VolumeName != "" || provisionerOf(pvc) != csi.Name {
		return nil
	}
	class, err := s.class(classOf(pvc))
	if err != nil {
		return err
	}
	node := ""
	if class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer {
		// The scheduler gives it, and the provisioner itself may have taken it away again.
		if node = pvc.Annotations[annSelectedNode]; node == "" {
			run.Waits("class %s has volumeBindingMode WaitForFirstConsumer, and no node is selected for the claim yet: the scheduler writes %s when it has placed its first pod", class.Name, annSelectedNode)
			return nil
		}
	}
	return s.provision(run, pvc, class, node)
}

// volumeName is the volume of a claim: always the same, so that it is made once
// (getProvisionedVolumeNameForClaim).
func volumeName(pvc *corev1.PersistentVolumeClaim) string { return "pvc-" + string(pvc.UID) }

// provision makes the disk and the PersistentVolume (provisionClaimOperation).
func (s *Provisioner) provision(run *reconcile.Run, pvc *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, node string) error {
	name, about := volumeName(pvc), client.RefOf(pvc)
	if _, there := s.volumes.Get(name); there {
		run.Waits("PersistentVolume %s is there already: the persistent volume binder binds it to the claim", name)
		return nil
	}
	if class.Provisioner != csi.Name {
		s.Events.Event(run.T, pvc, corev1.EventTypeWarning, "ProvisioningFailed", "Unknown provisioner %q requested in StorageClass %q", class.Provisioner, class.Name)
		return nil
	}
	if node != "" {
		if _, err := client.Get[*corev1.Node](run.T, s.Client, client.Nodes, "", node); err != nil {
			err = fmt.Errorf("failed to get target node: %w", err)
			s.Events.Event(run.T, pvc, corev1.EventTypeWarning, "ProvisioningFailed", "%v", err)
			if apierrors.IsNotFound(err) {
				return s.reschedule(run, pvc, node)
			}
			return err
		}
	}
	if populated(pvc) {
		s.Events.Event(run.T, pvc, corev1.EventTypeNormal, "Provisioning", "External provisioner is provisioning volume for claim %q", run.Key)
		s.Events.Event(run.T, pvc, corev1.EventTypeNormal, "Provisioning", "Assuming an external populator will provision the volume")
		run.Waits("data source (%s) is not handled by the provisioner, which assumes that an external populator will provision the volume", pvc.Spec.DataSource.Kind)
		return nil
	}
	want := pvc.Spec.Resources.Requests[corev1.ResourceStorage]
	why := "no volume has been made for it"
	if node != "" {
		why += ", and the scheduler has chosen " + node + " for its first pod"
	}
	run.Act("create", client.PersistentVolumes.Ref("", name), want.String(), nil, "claim %s asks class %s for %s; %s: have the driver make a disk, then write PersistentVolume %s", pvc.Name, class.Name, want.String(), why, name)
	s.Events.Event(run.T, pvc, corev1.EventTypeNormal, "Provisioning", "External provisioner is provisioning volume for claim %q", run.Key)
	var made csi.Volume
	err := unsupported(pvc)
	if err == nil {
		made, err = s.driver.CreateVolume(run.T, about, csi.CreateRequest{
			Name: name, Required: want.Value(), Modes: modes(pvc.Spec.AccessModes),
			Block: pvc.Spec.VolumeMode != nil && *pvc.Spec.VolumeMode == corev1.PersistentVolumeBlock,
		}, timeout)
	}
	if err != nil {
		s.Events.Event(run.T, pvc, corev1.EventTypeWarning, "ProvisioningFailed", "failed to provision volume with StorageClass %q: %v", class.Name, err)
		var e *csi.Error
		if node != "" && errors.As(err, &e) && e.Code == "ResourceExhausted" { // another node may have room (checkError)
			return errors.Join(err, s.reschedule(run, pvc, node))
		}
		return fmt.Errorf("failed to provision volume with StorageClass %q: %w", class.Name, err)
	}
	_, err = client.Create(run.T, s.Client, client.PersistentVolumes, "", s.volume(pvc, class, name, made))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("error saving provisioned volume %s: %w", name, err) // CreateVolume is asked again, and finds its disk
	}
	s.Events.Event(run.T, pvc, corev1.EventTypeNormal, "ProvisioningSucceeded", "Successfully provisioned volume %s", name)
	return nil
}

// populated reports whether what the volume begins with is of a kind that no provisioner handles
// (csi-provisioner controller.go prepareProvision).
func populated(pvc *corev1.PersistentVolumeClaim) bool {
	from := pvc.Spec.DataSource
	return from != nil && from.Kind != claimKind && from.Kind != snapshotKind
}

// The kinds of data sources that a provisioner handles, if its driver can.
const (
	claimKind    = "PersistentVolumeClaim"
	snapshotKind = "VolumeSnapshot"
	snapshotAPI  = "snapshot.storage.k8s.io"
)

// unsupported is an error where a claim asks for something that the driver has no capability for: it
// makes empty disks, and changes nothing about them but their size (prepareProvision,
// checkDriverCapabilities).
func unsupported(pvc *corev1.PersistentVolumeClaim) error {
	from, attributes := pvc.Spec.DataSource, pvc.Spec.VolumeAttributesClassName
	switch {
	case from != nil && from.Kind == snapshotKind && (from.APIGroup == nil || *from.APIGroup != snapshotAPI):
		group := ""
		if from.APIGroup != nil {
			group = *from.APIGroup
		}
		return fmt.Errorf("the PVC source does not belong to the right APIGroup. Expected %s, Got %s", snapshotAPI, group)
	case from != nil && from.Kind == snapshotKind:
		return errors.New("CSI driver does not support snapshot restore: controller CREATE_DELETE_SNAPSHOT capability is not reported")
	case from != nil && from.Kind == claimKind:
		return errors.New("CSI driver does not support clone operations: controller CLONE_VOLUME capability is not reported")
	case attributes != nil && *attributes != "":
		return errors.New("CSI driver does not support VolumeAttributesClass: controller MODIFY_VOLUME capability is not reported")
	case pvc.Spec.Selector != nil:
		return errors.New("claim Selector is not supported")
	}
	return nil
}

// reschedule has the scheduler choose a node again (rescheduleProvisioning).
func (s *Provisioner) reschedule(run *reconcile.Run, pvc *corev1.PersistentVolumeClaim, node string) error {
	run.Act("update", client.RefOf(pvc), nil, node, "no volume can be made for node %s: take %s away, so that the scheduler chooses again", node, annSelectedNode)
	pvc = pvc.DeepCopy()
	delete(pvc.Annotations, annSelectedNode)
	_, err := client.Update(run.T, s.Client, client.PersistentVolumeClaims, pvc.Namespace, pvc)
	return err
}

// modes are a claim's access modes in CSI's words.
func modes(of []corev1.PersistentVolumeAccessMode) []string {
	var all []string
	for _, m := range of {
		switch m {
		case corev1.ReadWriteOncePod:
			all = append(all, csi.SingleNodeSingle)
		case corev1.ReadOnlyMany:
			all = append(all, csi.MultiReader)
		case corev1.ReadWriteMany:
			all = append(all, csi.MultiMultiWriters)
		default:
			all = append(all, csi.SingleWriter)
		}
	}
	return all
}

// volume is the PersistentVolume of a disk (csi-provisioner controller.go Provision, and
// provisionClaimOperation, which names the claim in it).
func (s *Provisioner) volume(pvc *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, name string, made csi.Volume) *corev1.PersistentVolume {
	policy := corev1.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		policy = *class.ReclaimPolicy
	}
	mode := corev1.PersistentVolumeFilesystem
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{annProvisionedBy: csi.Name, annDeletionSecret: "", annDeletionSpace: ""},
		},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: pvc.Spec.AccessModes, MountOptions: class.MountOptions, StorageClassName: class.Name, PersistentVolumeReclaimPolicy: policy, VolumeMode: &mode,
			Capacity: corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(made.Capacity, resource.BinarySI)},
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: pvc.Namespace, Name: pvc.Name, UID: pvc.UID, ResourceVersion: pvc.ResourceVersion,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: csi.Name, VolumeHandle: made.ID, FSType: "ext4", VolumeAttributes: map[string]string{"storage.kubernetes.io/csiProvisionerIdentity": s.identity},
			}},
		},
	}
	pv.SetGroupVersionKind(client.PersistentVolumes.GVK())
	if policy == corev1.PersistentVolumeReclaimDelete {
		pv.Finalizers = []string{finalizer}
	}
	return pv
}

// syncVolume keeps the finalizer of one volume, and deletes a volume that no claim has any
// more (controller.go syncVolume, shouldDelete, deleteVolumeOperation).
func (s *Provisioner) syncVolume(run *reconcile.Run) error {
	obj, ok := s.volumes.Get(run.Key)
	if !ok {
		return nil
	}
	pv := obj.(*corev1.PersistentVolume)
	if unwanted(pv) { // the cache may be behind what this sidecar itself has done
		now, err := client.Get[*corev1.PersistentVolume](run.T, s.Client, client.PersistentVolumes, "", pv.Name)
		if apierrors.IsNotFound(err) {
			return nil
		} else if err != nil {
			return err
		}
		pv = now
	}
	protected := slices.Contains(pv.Finalizers, finalizer)
	deletes := pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
	switch {
	case pv.Annotations[annProvisionedBy] != csi.Name:
		return nil
	case protected && !deletes:
		run.Act("update", client.RefOf(pv), nil, nil, "volume %s has reclaim policy %s now: its disk stays, so take the finalizer %s away", pv.Name, pv.Spec.PersistentVolumeReclaimPolicy, finalizer)
		return s.setFinalizer(run, pv, false)
	case !protected && deletes && pv.DeletionTimestamp == nil && pv.Status.Phase == corev1.VolumeBound:
		run.Act("update", client.RefOf(pv), nil, nil, "volume %s has reclaim policy Delete: add the finalizer %s, so that it stays until its disk is deleted", pv.Name, finalizer)
		return s.setFinalizer(run, pv, true)
	case !unwanted(pv):
		return nil
	case pv.Spec.CSI == nil || pv.Spec.CSI.Driver != csi.Name:
		return nil
	}
	for _, o := range s.attachments.List() {
		va := o.(*storagev1.VolumeAttachment)
		if va.Spec.Source.PersistentVolumeName != nil && *va.Spec.Source.PersistentVolumeName == pv.Name {
			err := fmt.Errorf("persistentvolume %s is still attached to node %s", pv.Name, va.Spec.NodeName)
			s.Events.Event(run.T, pv, corev1.EventTypeWarning, "VolumeFailedDelete", "%v", err)
			return err
		}
	}
	run.Act("delete", client.RefOf(pv), nil, nil, "volume %s is Released and its reclaim policy is Delete: have the driver delete %s, then delete the object", pv.Name, pv.Spec.CSI.VolumeHandle)
	if err := s.driver.DeleteVolume(run.T, client.RefOf(pv), pv.Spec.CSI.VolumeHandle, timeout); err != nil {
		s.Events.Event(run.T, pv, corev1.EventTypeWarning, "VolumeFailedDelete", "%v", err)
		return err
	}
	if err := s.Client.Delete(run.T, client.PersistentVolumes, "", pv.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("failed to delete persistentvolume %s: %w", pv.Name, err)
	}
	return s.letGo(run, pv.Name)
}

// letGo takes the finalizer from a volume that is being deleted. Others do the same with theirs.
func (s *Provisioner) letGo(run *reconcile.Run, name string) (err error) {
	const tries = 5
	for range tries {
		now, e := client.Get[*corev1.PersistentVolume](run.T, s.Client, client.PersistentVolumes, "", name)
		if apierrors.IsNotFound(e) {
			return nil
		} else if e != nil {
			return e
		}
		if err = s.setFinalizer(run, now, false); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

// unwanted reports whether a volume is to be deleted, as far as it itself tells (shouldDelete).
func unwanted(pv *corev1.PersistentVolume) bool {
	return pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete && pv.Status.Phase == corev1.VolumeReleased &&
		(pv.DeletionTimestamp == nil || slices.Contains(pv.Finalizers, finalizer))
}

func (s *Provisioner) setFinalizer(run *reconcile.Run, pv *corev1.PersistentVolume, on bool) error {
	pv = pv.DeepCopy()
	if on {
		pv.Finalizers = append(pv.Finalizers, finalizer)
	} else {
		pv.Finalizers = slices.DeleteFunc(pv.Finalizers, func(f string) bool { return f == finalizer })
	}
	_, err := client.Update(run.T, s.Client, client.PersistentVolumes, "", pv)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
