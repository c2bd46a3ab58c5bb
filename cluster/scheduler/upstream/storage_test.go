package upstream_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/volume"
)

// The classes of random claims; "unknown" has no object.
var storageClasses = []string{"now", "local", "made", "roomy", "unknown"}

func (d *dice) addStorage(w *world) {
	class := func(name, provisioner string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
	}
	made := class("made", "csi.made", storagev1.VolumeBindingWaitForFirstConsumer)
	if d.one(2) {
		made.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: []string{"x", "y"}}}}}
	}
	w.classes = []*storagev1.StorageClass{
		class("now", "csi.now", storagev1.VolumeBindingImmediate), class("local", volume.NotSupportedProvisioner, storagev1.VolumeBindingWaitForFirstConsumer), made,
		class("roomy", "csi.roomy", storagev1.VolumeBindingWaitForFirstConsumer),
	}
	for _, name := range []string{"csi.made", "csi.roomy"} {
		yes := name == "csi.roomy"
		missing := d.one(4)
		w.csiDrivers = append(w.csiDrivers, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &yes, PreventPodSchedulingIfMissing: &missing}})
	}
	for _, zone := range []string{"x", "y", "z"} {
		if d.one(3) {
			continue
		}
		room := quantity(of(d, "1Gi", "5Gi", "100Gi"))
		c := &storagev1.CSIStorageCapacity{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "roomy-" + zone}, StorageClassName: "roomy", Capacity: &room,
			NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelTopologyZone: zone}},
		}
		if d.one(3) {
			most := quantity("3Gi")
			c.MaximumVolumeSize = &most
		}
		w.capacities = append(w.capacities, c)
	}
	for _, n := range w.nodes {
		if d.one(3) {
			continue
		}
		c := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Annotations: map[string]string{corev1.MigratedPluginsAnnotationKey: of(d, "", "kubernetes.io/aws-ebs")}}}
		for _, driver := range []string{"csi.now", "csi.made", "csi.roomy", "ebs.csi.aws.com"} {
			if d.one(3) {
				continue
			}
			drv := storagev1.CSINodeDriver{Name: driver, NodeID: n.Name}
			if d.one(2) {
				drv.Allocatable = &storagev1.VolumeNodeResources{Count: new(of[int32](d, 0, 1, 2, 5))}
			}
			c.Spec.Drivers = append(c.Spec.Drivers, drv)
		}
		w.csiNodes = append(w.csiNodes, c)
	}
	for i := range 12 {
		w.volumes = append(w.volumes, d.volume(i, w.nodes))
	}
	for i := range 8 {
		w.claims = append(w.claims, d.claim(i))
	}
	for i := range d.IntN(4) {
		name := fmt.Sprintf("v%d", d.IntN(14))
		w.attachments = append(w.attachments, &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("a%d", i)},
			Spec:       storagev1.VolumeAttachmentSpec{Attacher: of(d, "csi.now", "csi.made"), NodeName: of(d, w.nodes...).Name, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &name}},
		})
	}
}

// volume is the i-th: no two have the same size, since of equal ones upstream takes any.
func (d *dice) volume(i int, nodes []*corev1.Node) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("v%d", i), UID: types.UID(fmt.Sprintf("v%d", i)), Labels: map[string]string{}}}
	v.Spec.StorageClassName = of(d, "now", "local", "local", "local", "made", "roomy")
	v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: quantity(fmt.Sprintf("%dMi", 1000+500*d.IntN(6)+i))}
	v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	if d.one(2) {
		v.Spec.AccessModes = append(v.Spec.AccessModes, corev1.ReadWriteOncePod)
	}
	v.Status.Phase = of(d, corev1.VolumeAvailable, corev1.VolumeAvailable, corev1.VolumeAvailable, corev1.VolumeReleased)
	switch d.IntN(4) {
	case 0:
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: of(d, "csi.now", "csi.made"), VolumeHandle: v.Name}
	case 1:
		v.Spec.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://zone/vol-" + v.Name}
	}
	if d.one(4) {
		v.Labels[of(d, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone)] = of(d, "x", "y", "x__z", "__")
	}
	if d.one(2) {
		key, values := corev1.LabelHostname, []string{of(d, nodes...).Name, of(d, nodes...).Name}
		if d.one(2) {
			key, values = corev1.LabelTopologyZone, []string{of(d, "x", "y", "z")}
		}
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}},
		}}}}
	}
	if d.one(6) {
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "demo", Name: fmt.Sprintf("c%d", d.IntN(8))}
	}
	return v
}

func (d *dice) claim(i int) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: fmt.Sprintf("c%d", i), UID: types.UID(fmt.Sprintf("c%d", i))}}
	class := of(d, storageClasses...)
	if d.one(2) {
		class = of(d, "local", "made", "roomy")
	}
	if !d.one(20) {
		c.Spec.StorageClassName = &class
	}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{of(d, corev1.ReadWriteOnce, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: quantity(of(d, "500Mi", "1Gi", "2Gi", "3Gi"))}
	c.Status.Phase = corev1.ClaimPending
	switch {
	case d.one(2):
		c.Spec.VolumeName, c.Status.Phase = fmt.Sprintf("v%d", d.IntN(13)), corev1.ClaimBound
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, volume.AnnBindCompleted, "yes")
	case d.one(8):
		c.Spec.VolumeName = "v1" // asked for, not bound yet
	case d.one(5):
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, volume.AnnSelectedNode, fmt.Sprintf("n%d", d.IntN(4)))
	}
	if d.one(60) {
		c.Status.Phase = corev1.ClaimLost
	}
	return c
}

// addVolumes has a pod name claims and disks.
func (d *dice) addVolumes(p *corev1.Pod) {
	p.Namespace = "demo"
	for i := range d.IntN(4) {
		v := corev1.Volume{Name: fmt.Sprintf("vol%d", i)}
		switch d.IntN(8) {
		case 0:
			v.EmptyDir = &corev1.EmptyDirVolumeSource{}
		case 1:
			v.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: of(d, "aws://zone/vol-a", "aws://zone/vol-b")}
		case 2:
			v.GCEPersistentDisk = &corev1.GCEPersistentDiskVolumeSource{PDName: of(d, "a", "b"), ReadOnly: d.one(2)}
		default:
			name := fmt.Sprintf("c%d", d.IntN(8))
			if d.one(40) {
				name = "gone"
			}
			v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}
		}
		p.Spec.Volumes = append(p.Spec.Volumes, v)
	}
	if d.one(60) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "own", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}})
	}
}
