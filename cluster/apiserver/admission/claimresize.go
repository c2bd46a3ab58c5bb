package admission

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
)

// PersistentVolumeClaimResize is the plugin of that name
// (plugin/pkg/admission/storage/persistentvolume/resize): a claim grows only where its
// class lets it.
type PersistentVolumeClaimResize struct{ lister Lister }

// NewPersistentVolumeClaimResize makes the plugin.
func NewPersistentVolumeClaimResize(l Lister) *PersistentVolumeClaimResize {
	return &PersistentVolumeClaimResize{l}
}

// Name is [Plugin].
func (*PersistentVolumeClaimResize) Name() string { return "PersistentVolumeClaimResize" }

// Validate is [Validating].
func (p *PersistentVolumeClaimResize) Validate(r *request.Scope, a *Attributes) (Result, error) {
	claim, ok := a.Object.(*corev1.PersistentVolumeClaim)
	if !ok || a.Operation != Update || a.Subresource != "" {
		return Result{}, nil
	}
	old := a.OldObject.(*corev1.PersistentVolumeClaim)
	was, is := old.Spec.Resources.Requests[corev1.ResourceStorage], claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if is.Cmp(was) <= 0 {
		return Result{}, nil
	}
	if old.Status.Phase != corev1.ClaimBound {
		return Result{}, a.Forbid(errors.New("Only bound persistent volume claims can be expanded"))
	}
	all, err := newest[*storagev1.StorageClass](r, a, p.lister, client.StorageClasses, "")
	if err != nil {
		return Result{}, err
	}
	name := claimClass(claim)
	for _, sc := range all {
		if name != "" && sc.Name == name && name == claimClass(old) && sc.AllowVolumeExpansion != nil && *sc.AllowVolumeExpansion {
			return Result{Note: fmt.Sprintf("StorageClass %s lets the claim grow from %s to %s.", name, was.String(), is.String())}, nil
		}
	}
	return Result{}, a.Forbid(errors.New("only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"))
}

// claimClass is the class a claim names, by field or annotation.
func claimClass(claim *corev1.PersistentVolumeClaim) string {
	if class, beta := claim.Annotations[corev1.BetaStorageClassAnnotation]; beta {
		return class
	}
	if claim.Spec.StorageClassName != nil {
		return *claim.Spec.StorageClassName
	}
	return ""
}
