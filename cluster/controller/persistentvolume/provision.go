package persistentvolume

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/component-helpers/storage/volume"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
)

// The volume plugins that kube-controller-manager has for this controller
// (ProbeProvisionableRecyclableVolumePlugins), and how the names of all that Kubernetes has, or
// had, begin.
const (
	hostPathPlugin = "kubernetes.io/host-path"
	nfsPlugin      = "kubernetes.io/nfs"
	inTree         = "kubernetes.io/"
)

// classes are the StorageClasses as client-go's lister.
type classes struct {
	storagelisters.StorageClassLister
	cached *informer.Informer
}

func (c *Controller) lister() storagelisters.StorageClassLister { return classes{cached: c.classes} }

// Get is [storagelisters.StorageClassLister].
func (c classes) Get(name string) (*storagev1.StorageClass, error) {
	obj, there := c.cached.Get(name)
	if !there {
		return nil, apierrors.NewNotFound(storagev1.Resource("storageclass"), name)
	}
	return obj.(*storagev1.StorageClass), nil
}

// assignDefaultClass gives a claim the default class that asks for none: there was no default
// when it was created, or admission would have done so (assignDefaultStorageClass).
func (c *Controller) assignDefaultClass(run *reconcile.Run, claim *corev1.PersistentVolumeClaim) (bool, error) {
	if volume.PersistentVolumeClaimHasClass(claim) {
		return false, nil
	}
	class := c.defaultClass()
	if class == nil {
		return false, nil
	}
	claim = claim.DeepCopy()
	claim.Spec.StorageClassName = &class.Name
	run.Act("update", client.RefOf(claim), class.Name, nil, "the claim says nothing of a class, and %s is the default now: write it into the claim", class.Name)
	_, err := c.Client.Update(run.T, client.PersistentVolumeClaims, claim.Namespace, claim, "")
	return err == nil, err
}

// defaultClass is the newest class that is marked as the default, nil for none
// (pkg/volume/util GetDefaultClass).
func (c *Controller) defaultClass() *storagev1.StorageClass {
	var best *storagev1.StorageClass
	for _, obj := range c.classes.List() { // by name
		class := obj.(*storagev1.StorageClass)
		marked := class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
			class.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
		if marked && (best == nil || class.CreationTimestamp.After(best.CreationTimestamp.Time)) {
			best = class
		}
	}
	return best
}

// provision has a volume made for a claim (provisionClaim).
func (c *Controller) provision(run *reconcile.Run, claim *corev1.PersistentVolumeClaim) error {
	class, own, err := c.provisioner(claim)
	if err != nil {
		c.Events.Event(run.T, claim, corev1.EventTypeWarning, provisioningFailed, "%s", err)
		run.Waits("%s, and none is made: %s", c.rejected(claim), err)
		return nil // the next look tries again
	}
	run.Waits("%s; one is for %s to make", c.rejected(claim), class.Provisioner)
	c.operations.try(run, fmt.Sprintf("provision-%s[%s]", run.Key, claim.UID), func() error {
		if own {
			return c.provisionHostPath(run, claim, class)
		}
		return c.provisionExternally(run, claim, class)
	})
	return nil
}

// provisioner is the claim's class, and whether the controller itself is to make its volumes
// (findProvisionablePlugin).
func (c *Controller) provisioner(claim *corev1.PersistentVolumeClaim) (class *storagev1.StorageClass, own bool, err error) {
	if class, err = c.lister().Get(volume.GetPersistentVolumeClaimClass(claim)); err != nil {
		return nil, false, err
	}
	switch p := class.Provisioner; {
	case migrates(p) || !strings.HasPrefix(p, inTree):
		return class, false, nil
	case p == hostPathPlugin:
		return class, true, nil
	case p == nfsPlugin:
		return nil, false, fmt.Errorf("no provisionable volume plugin matched")
	default:
		return nil, false, fmt.Errorf("no volume plugin matched name: %s", p)
	}
}

// provisionHostPath fails: without --enable-hostpath-provisioner the plugin makes no volumes
// (provisionClaimOperation).
func (c *Controller) provisionHostPath(run *reconcile.Run, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) error {
	fail := func(message string) {
		c.Events.Event(run.T, claim, corev1.EventTypeWarning, provisioningFailed, "%s", message)
	}
	if claim.Spec.DataSource != nil {
		err := fmt.Errorf("plugin %q is not a CSI plugin. Only CSI plugin can provision a claim with a datasource", hostPathPlugin)
		fail(err.Error())
		return err
	}
	claim, err := c.setProvisioner(run, claim, class.Provisioner)
	if err != nil {
		return err
	}
	if len(class.MountOptions) > 0 {
		fail(fmt.Sprintf("Mount options are not supported by the provisioner but StorageClass %q has mount options %v", class.Name, class.MountOptions))
		return fmt.Errorf("provisioner %q doesn't support mount options", hostPathPlugin)
	}
	err = fmt.Errorf("provisioning in volume plugin %q is disabled", hostPathPlugin)
	fail(fmt.Sprintf("Failed to create provisioner: %v", err))
	return err
}

// provisionExternally names the provisioner on the claim, which the provisioner waits for
// (provisionClaimOperationExternal).
func (c *Controller) provisionExternally(run *reconcile.Run, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) error {
	name := class.Provisioner
	if migrates(name) {
		var err error
		if name, err = translator.GetCSINameFromInTreeName(name); err != nil {
			err = fmt.Errorf("error getting CSI name for In tree plugin %s: %w", class.Provisioner, err)
			c.Events.Event(run.T, claim, corev1.EventTypeWarning, provisioningFailed, "%s", err)
			return err
		}
	}
	now, err := c.setProvisioner(run, claim, name)
	if err != nil {
		c.Events.Event(run.T, claim, corev1.EventTypeWarning, provisioningFailed, "Error saving claim: %v", err)
		return err
	}
	c.Events.Event(run.T, now, corev1.EventTypeNormal, externalProvisioning, "Waiting for a volume to be created either by the external provisioner '%s' "+
		"or manually by the system administrator. If volume creation is delayed, please verify that "+
		"the provisioner is running and correctly registered.", name)
	return nil
}

// setProvisioner writes who is to make the claim's volume (setClaimProvisioner).
func (c *Controller) setProvisioner(run *reconcile.Run, claim *corev1.PersistentVolumeClaim, name string) (*corev1.PersistentVolumeClaim, error) {
	if claim.Annotations[volume.AnnStorageProvisioner] == name {
		return claim, nil
	}
	now := claim.DeepCopy()
	metav1.SetMetaDataAnnotation(&now.ObjectMeta, volume.AnnBetaStorageProvisioner, name)
	metav1.SetMetaDataAnnotation(&now.ObjectMeta, volume.AnnStorageProvisioner, name)
	migrateAnnotation(now.Annotations, provisionerOfClaim)
	run.Act("update", client.RefOf(claim), name, nil, "%s; class %s has volumes made by %s: write that name into the claim's annotations, which the provisioner waits for",
		c.rejected(claim), volume.GetPersistentVolumeClaimClass(claim), name)
	return c.writeClaim(run, now, "")
}
