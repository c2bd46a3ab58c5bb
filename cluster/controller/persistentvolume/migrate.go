package persistentvolume

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
	csitrans "k8s.io/csi-translation-lib"
	csiplugins "k8s.io/csi-translation-lib/plugins"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// Some of the volume plugins that were part of Kubernetes are CSI drivers by now. Objects that
// name such a plugin get the annotation pv.kubernetes.io/migrated-to with the driver's name, and
// the driver's sidecars see to them.

var translator = csitrans.New()

// migrates reports whether a plugin has become a driver (csimigration
// IsMigrationEnabledForPlugin).
func migrates(plugin string) bool {
	switch plugin {
	case csiplugins.AWSEBSInTreePluginName, csiplugins.GCEPDInTreePluginName, csiplugins.AzureFileInTreePluginName, csiplugins.AzureDiskInTreePluginName,
		csiplugins.CinderInTreePluginName, csiplugins.VSphereInTreePluginName, csiplugins.PortworxVolumePluginName:
		return true
	}
	return false
}

// Where an object names its provisioner, the first that there is.
var (
	provisionerOfClaim  = []string{volume.AnnStorageProvisioner, volume.AnnBetaStorageProvisioner}
	provisionerOfVolume = []string{volume.AnnDynamicallyProvisioned}
)

// migrateAnnotation has annotations tell which driver a plugin has become, if any, and reports
// whether it changed them (updateMigrationAnnotations).
func migrateAnnotation(annotations map[string]string, named []string) bool {
	i := slices.IndexFunc(named, func(key string) bool { _, has := annotations[key]; return has })
	if i < 0 {
		return false
	}
	provisioner, was := annotations[named[i]], annotations[volume.AnnMigratedTo]
	if !migrates(provisioner) {
		if was == "" {
			return false
		}
		delete(annotations, volume.AnnMigratedTo)
		return true
	}
	driver, err := translator.GetCSINameFromInTreeName(provisioner)
	if err != nil || driver == was {
		return false
	}
	annotations[volume.AnnMigratedTo] = driver
	return true
}

// migrateClaim is updateClaimMigrationAnnotations.
func (c *Controller) migrateClaim(run *reconcile.Run, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	now := claim.DeepCopy()
	if !migrateAnnotation(now.Annotations, provisionerOfClaim) {
		return claim, nil
	}
	run.Act("update", client.RefOf(claim), nil, nil, "write which driver the claim's provisioner has become: %s", driverOf(now))
	now, err := c.writeClaim(run, now, "")
	if err != nil {
		return nil, fmt.Errorf("persistent Volume Controller can't anneal migration annotations: %w", err)
	}
	return now, nil
}

func driverOf(obj metav1.Object) string {
	if d := obj.GetAnnotations()[volume.AnnMigratedTo]; d != "" {
		return d
	}
	return "none"
}

// migrateVolume is updateVolumeMigrationAnnotationsAndFinalizers.
func (c *Controller) migrateVolume(run *reconcile.Run, v *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	now := v.DeepCopy()
	annotated := migrateAnnotation(now.Annotations, provisionerOfVolume)
	now.Finalizers = finalizers(now)
	if !annotated && slices.Equal(now.Finalizers, v.Finalizers) {
		return v, nil
	}
	run.Act("update", client.RefOf(v), now.Finalizers, v.Finalizers, "volume %s was made by %s, which is the driver %s now, and its reclaim policy is %s: write its annotation and its finalizers",
		v.Name, v.Annotations[volume.AnnDynamicallyProvisioned], driverOf(now), v.Spec.PersistentVolumeReclaimPolicy)
	now, err := c.writeVolume(run, now, "")
	if err != nil {
		return nil, fmt.Errorf("persistent Volume Controller can't anneal migration annotations or finalizer: %w", err)
	}
	return now, nil
}

// finalizers are those that a volume should have (modifyDeletionFinalizers): one of this
// controller while a volume that it made is to be deleted with its claim; those of an external
// provisioner are that one's.
func finalizers(v *corev1.PersistentVolume) []string {
	const own = volume.PVDeletionInTreeProtectionFinalizer
	provisioner, made := v.Annotations[volume.AnnDynamicallyProvisioned]
	switch {
	case !made:
		return v.Finalizers
	case migrates(provisioner):
		return without(v.Finalizers, own)
	case !strings.HasPrefix(provisioner, inTree):
		return v.Finalizers
	}
	list := v.Finalizers
	switch v.Spec.PersistentVolumeReclaimPolicy {
	case corev1.PersistentVolumeReclaimDelete:
		if !slices.Contains(list, own) {
			list = append(slices.Clone(list), own)
		}
	case corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimRecycle:
		list = without(list, own)
	}
	return without(list, volume.PVDeletionProtectionFinalizer)
}
