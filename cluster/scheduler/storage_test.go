package scheduler_test

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/sim"
)

// storage runs a command about claims and volumes.
func (e *env) storage(t *sim.Task, f []string) {
	switch args := flags(f[1:]); f[0] {
	case "class":
		mode := storagev1.VolumeBindingMode(args["mode"])
		c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: f[1]}, Provisioner: args["provisioner"], VolumeBindingMode: &mode}
		clienttest.Must(client.Create(t, e.c, client.StorageClasses, "", c))
	case "claim":
		clienttest.Must(client.Create(t, e.c, client.PersistentVolumeClaims, "demo", claim(f[1], args)))
	case "volume":
		clienttest.Must(client.Create(t, e.c, client.PersistentVolumes, "", persistentVolume(f[1], args)))
	case "bind": // bind CLAIM VOLUME: what the controller of volumes does
		c := clienttest.Must(client.Get[*corev1.PersistentVolumeClaim](t, e.c, client.PersistentVolumeClaims, "demo", f[1]))
		bindTo(c, f[2])
		clienttest.Must(client.Update(t, e.c, client.PersistentVolumeClaims, "demo", c))
	case "limit": // limit NODE driver=NAME count=N
		n, err := strconv.Atoi(args["count"])
		count := int32(clienttest.Must(n, err))
		drivers := []storagev1.CSINodeDriver{{Name: args["driver"], NodeID: f[1], Allocatable: &storagev1.VolumeNodeResources{Count: &count}}}
		old, err := client.Get[*storagev1.CSINode](t, e.c, client.CSINodes, "", f[1])
		if apierrors.IsNotFound(err) {
			clienttest.Must(client.Create(t, e.c, client.CSINodes, "", &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: f[1]}, Spec: storagev1.CSINodeSpec{Drivers: drivers}}))
			return
		}
		old.Spec.Drivers = drivers
		clienttest.Must(client.Update(t, e.c, client.CSINodes, "", clienttest.Must(old, err)))
	case "claims":
		for _, o := range e.Objects(client.PersistentVolumeClaims) {
			c := o.(*corev1.PersistentVolumeClaim)
			e.extra += fmt.Sprintf("  claim %s: volume %s, selected node %s\n", c.Name, or(c.Spec.VolumeName, "-"), or(c.Annotations[volume.AnnSelectedNode], "-"))
		}
		for _, o := range e.Objects(client.PersistentVolumes) {
			if v := o.(*corev1.PersistentVolume); v.Spec.ClaimRef != nil {
				e.extra += fmt.Sprintf("  volume %s is for claim %s/%s\n", v.Name, v.Spec.ClaimRef.Namespace, v.Spec.ClaimRef.Name)
			}
		}
	}
}

func claim(name string, args map[string]string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}
	class := args["class"]
	c.Spec.StorageClassName = &class
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.PersistentVolumeAccessMode(or(args["mode"], string(corev1.ReadWriteOnce)))}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(args["size"])}
	c.Status.Phase = corev1.ClaimPending
	if v := args["volume"]; v != "" {
		bindTo(c, v)
	}
	return c
}

func bindTo(c *corev1.PersistentVolumeClaim, name string) {
	c.Spec.VolumeName, c.Status.Phase = name, corev1.ClaimBound
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, volume.AnnBindCompleted, "yes")
}

func persistentVolume(name string, args map[string]string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	v.Spec.StorageClassName, v.Status.Phase = args["class"], corev1.VolumeAvailable
	v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteOncePod}
	v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(args["size"])}
	if zone := args["zone"]; zone != "" {
		v.Labels = map[string]string{corev1.LabelTopologyZone: zone}
	}
	if driver := args["driver"]; driver != "" {
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: name}
	}
	if node := args["on"]; node != "" {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
		}}}}
	}
	return v
}
