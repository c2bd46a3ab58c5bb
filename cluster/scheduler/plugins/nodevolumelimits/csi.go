// Package nodevolumelimits is the NodeVolumeLimits plugin: a driver can attach only so many
// volumes to a node, as the node's CSINode says.
//
// Volumes that were once part of Kubernetes itself (an AWS EBS disk, say) count for the
// driver that replaced it, where the CSINode says that it has.
//
// Mirrors pkg/scheduler/framework/plugins/nodevolumelimits.
// Start reading at [CSILimits.Filter].
package nodevolumelimits

import (
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/component-helpers/storage/volume"
	csitrans "k8s.io/csi-translation-lib"
	csiplugins "k8s.io/csi-translation-lib/plugins"

	"kviz/cluster/scheduler/framework"
)

const (
	// Name is the plugin's name.
	Name = "NodeVolumeLimits"
	// ErrReasonMaxVolumeCountExceeded is why a node is rejected.
	ErrReasonMaxVolumeCountExceeded = "node(s) exceed max volume count"
)

// Storage is what the plugin needs to know of claims, volumes and drivers.
type Storage interface {
	Claim(namespace, name string) (*corev1.PersistentVolumeClaim, error)
	Volume(name string) (*corev1.PersistentVolume, error)
	Class(name string) (*storagev1.StorageClass, error)
	// CSINode is what the drivers on a node say; nil if none does.
	CSINode(name string) *storagev1.CSINode
	// CSIDriver is nil if there is no object of the name.
	CSIDriver(name string) *storagev1.CSIDriver
	// AttachmentsTo are those to a node.
	AttachmentsTo(node string) []*storagev1.VolumeAttachment
}

// CSILimits is the plugin.
type CSILimits struct{ Storage Storage }

var (
	exceeded   = framework.NewStatus(Name, framework.Unschedulable, ErrReasonMaxVolumeCountExceeded)
	skip       = framework.NewStatus(Name, framework.Skip)
	translator = csitrans.New()
)

// Name is [Name].
func (*CSILimits) Name() string { return Name }

// SignPod: the volumes.
func (*CSILimits) SignPod(pod *corev1.Pod) ([]framework.SignFragment, *framework.Status) {
	return framework.SignVolumes(pod), nil
}

// PreFilter skips pods without volumes that a driver would attach.
func (*CSILimits) PreFilter(_ *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	for i := range pod.Spec.Volumes {
		if attachable(&pod.Spec.Volumes[i]) {
			return nil, nil
		}
	}
	return nil, skip
}

func attachable(v *corev1.Volume) bool {
	return v.PersistentVolumeClaim != nil || v.Ephemeral != nil || translator.IsInlineMigratable(v)
}

// Filter counts the volumes of each driver that the node would have.
func (pl *CSILimits) Filter(_ *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) *framework.Status {
	csiNode := pl.Storage.CSINode(node.Node.Name)
	more := map[string]string{} // volume -> driver
	if err := pl.add(more, pod, csiNode, true); err != nil {
		if apierrors.IsNotFound(err) {
			return framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, err.Error())
		}
		return framework.AsStatus(Name, err)
	}
	if len(more) == 0 {
		return nil
	}
	if driver := pl.missing(more, csiNode); driver != "" {
		return framework.NewStatus(Name, framework.Unschedulable, driver+" CSI driver is not installed on the node")
	}
	limits := limits(csiNode)
	if len(limits) == 0 {
		return nil
	}
	there := map[string]string{}
	for _, p := range node.Pods {
		if err := pl.add(there, p.Pod, csiNode, false); err != nil {
			return framework.AsStatus(Name, err)
		}
	}
	for id := range there {
		delete(more, id) // a volume that two pods share counts once
	}
	pl.addAttached(there, node.Node.Name)
	count := map[string]int64{}
	for _, driver := range there {
		count[driver]++
	}
	asked := map[string]int64{}
	for _, driver := range more {
		asked[driver]++
	}
	for driver, n := range asked {
		if limit, ok := limits[driver]; ok && count[driver]+n > limit {
			return exceeded
		}
	}
	return nil
}

// limits are how many volumes each driver can attach; drivers without a limit are left out.
func limits(csiNode *storagev1.CSINode) map[string]int64 {
	if csiNode == nil {
		return nil
	}
	m := map[string]int64{}
	for _, d := range csiNode.Spec.Drivers {
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			m[d.Name] = int64(*d.Allocatable.Count)
		}
	}
	return m
}

// missing gives a driver that the volumes need, that does not want pods on nodes without it,
// and that is not on the node; the first by name.
func (pl *CSILimits) missing(volumes map[string]string, csiNode *storagev1.CSINode) (first string) {
	for _, name := range volumes {
		driver := pl.Storage.CSIDriver(name)
		if driver == nil || driver.Spec.PreventPodSchedulingIfMissing == nil || !*driver.Spec.PreventPodSchedulingIfMissing || installed(csiNode, name) {
			continue
		}
		if first == "" || name < first {
			first = name
		}
	}
	return first
}

func installed(csiNode *storagev1.CSINode, driver string) bool {
	if csiNode == nil {
		return false
	}
	for _, d := range csiNode.Spec.Drivers {
		if d.Name == driver {
			return true
		}
	}
	return false
}

// add adds a pod's volumes. Claims that the pod to be scheduled names must exist.
func (pl *CSILimits) add(to map[string]string, pod *corev1.Pod, csiNode *storagev1.CSINode, fresh bool) error {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		name := ""
		switch {
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			name = ephemeral.VolumeClaimName(pod, v)
		default:
			if err := addInline(to, pod, v, csiNode); err != nil {
				return err
			}
			continue
		}
		if name == "" {
			return fmt.Errorf("PersistentVolumeClaim had no name")
		}
		claim, err := pl.Storage.Claim(pod.Namespace, name)
		if err != nil && fresh {
			return fmt.Errorf("looking up PVC %s/%s: %w", pod.Namespace, name, err)
		}
		if err != nil {
			continue
		}
		if v.Ephemeral != nil {
			if err := ephemeral.VolumeIsForPod(pod, claim); err != nil {
				return err
			}
		}
		if driver, handle := pl.driverOf(claim, csiNode); driver != "" && handle != "" {
			to[id(driver, handle)] = driver
		}
	}
	return nil
}

func id(driver, handle string) string { return driver + "/" + handle }

// addInline adds a disk that the pod names itself, if a driver has replaced the code for it.
func addInline(to map[string]string, pod *corev1.Pod, v *corev1.Volume, csiNode *storagev1.CSINode) error {
	if !translator.IsInlineMigratable(v) {
		return nil
	}
	plugin, err := translator.GetInTreePluginNameFromSpec(nil, v)
	if err != nil {
		return fmt.Errorf("looking up provisioner name for volume %s: %w", v.Name, err)
	}
	if !migrated(csiNode, plugin) {
		return nil
	}
	pv, err := translator.TranslateInTreeInlineVolumeToCSI(logr.Discard(), v, pod.Namespace)
	if err != nil || pv == nil {
		return fmt.Errorf("converting volume(%s) from inline to csi: %w", v.Name, err)
	}
	driver, err := translator.GetCSINameFromInTreeName(plugin)
	if err != nil {
		return fmt.Errorf("looking up CSI driver name for provisioner %s: %w", plugin, err)
	}
	if pv.Spec.CSI != nil {
		to[id(driver, pv.Spec.CSI.VolumeHandle)] = driver
	}
	return nil
}

// driverOf is the driver of a claim's volume and what it calls the volume; nothing where no
// driver attaches it.
func (pl *CSILimits) driverOf(claim *corev1.PersistentVolumeClaim, csiNode *storagev1.CSINode) (driver, handle string) {
	if claim.Spec.VolumeName == "" {
		return pl.driverToBe(claim, csiNode)
	}
	pv, err := pl.Storage.Volume(claim.Spec.VolumeName)
	if err != nil {
		return pl.driverToBe(claim, csiNode)
	}
	source := pv.Spec.CSI
	if source == nil {
		if !translator.IsPVMigratable(pv) {
			return "", ""
		}
		plugin, err := translator.GetInTreePluginNameFromSpec(pv, nil)
		if err != nil || !migrated(csiNode, plugin) {
			return "", ""
		}
		csi, err := translator.TranslateInTreePVToCSI(logr.Discard(), pv)
		if err != nil || csi.Spec.CSI == nil {
			return "", ""
		}
		source = csi.Spec.CSI
	}
	return source.Driver, source.VolumeHandle
}

// driverToBe is the driver that will make the claim's volume; the handle is made up.
func (pl *CSILimits) driverToBe(claim *corev1.PersistentVolumeClaim, csiNode *storagev1.CSINode) (driver, handle string) {
	name := volume.GetPersistentVolumeClaimClass(claim)
	if name == "" {
		return "", ""
	}
	class, err := pl.Storage.Class(name)
	if err != nil {
		return "", ""
	}
	driver, handle = class.Provisioner, "to-be-made-"+claim.Namespace+"/"+claim.Name
	if translator.IsMigratableIntreePluginByName(driver) {
		if !migrated(csiNode, driver) {
			return "", ""
		}
		if driver, err = translator.GetCSINameFromInTreeName(driver); err != nil {
			return "", ""
		}
	}
	return driver, handle
}

// addAttached adds what is attached to the node, also of pods that are gone.
func (pl *CSILimits) addAttached(to map[string]string, node string) {
	for _, a := range pl.Storage.AttachmentsTo(node) {
		if a.Spec.Attacher == "" || a.Spec.Source.PersistentVolumeName == nil {
			continue
		}
		if pv, err := pl.Storage.Volume(*a.Spec.Source.PersistentVolumeName); err == nil && pv.Spec.CSI != nil {
			to[id(a.Spec.Attacher, pv.Spec.CSI.VolumeHandle)] = a.Spec.Attacher
		}
	}
}

// migrated reports whether a driver has replaced one of Kubernetes' own volume plugins on a
// node: today everywhere where there are drivers.
//
// Mirrors nodevolumelimits/utils.go isCSIMigrationOn.
func migrated(csiNode *storagev1.CSINode, plugin string) bool {
	if csiNode == nil {
		return false
	}
	switch plugin {
	case csiplugins.AWSEBSInTreePluginName, csiplugins.PortworxVolumePluginName, csiplugins.GCEPDInTreePluginName,
		csiplugins.AzureDiskInTreePluginName, csiplugins.CinderInTreePluginName:
		return true
	}
	return false
}
