package admission

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// DefaultStorageClass is the plugin of that name
// (plugin/pkg/admission/storage/storageclass/setdefault): a claim that names no class
// gets the default one, the newest if there are several.
type DefaultStorageClass struct{ lister Lister }

// NewDefaultStorageClass makes the plugin.
func NewDefaultStorageClass(l Lister) *DefaultStorageClass { return &DefaultStorageClass{l} }

// Name is [Plugin].
func (*DefaultStorageClass) Name() string { return "DefaultStorageClass" }

// Admit is [Mutating].
func (p *DefaultStorageClass) Admit(r *request.Scope, a *Attributes) (Result, error) {
	claim, ok := a.Object.(*corev1.PersistentVolumeClaim)
	if !ok || a.Operation != Create || a.Subresource != "" {
		return Result{}, nil
	}
	if _, beta := claim.Annotations[corev1.BetaStorageClassAnnotation]; beta || claim.Spec.StorageClassName != nil {
		return Result{}, nil
	}
	all, err := newest[*storagev1.StorageClass](r, a, p.lister, client.StorageClasses, "")
	if err != nil {
		return Result{}, err
	}
	defaults := slices.DeleteFunc(all, func(sc *storagev1.StorageClass) bool { return !isDefaultClass(sc) })
	if len(defaults) == 0 {
		return Result{}, nil
	}
	slices.SortStableFunc(defaults, func(x, y *storagev1.StorageClass) int {
		return y.CreationTimestamp.Compare(x.CreationTimestamp.Time)
	})
	name := defaults[0].Name
	claim.Spec.StorageClassName = &name
	return Result{
		Note: "the claim names no StorageClass and gets the default one, " + name + ".",
		Diff: []trace.FieldDiff{{Path: "spec.storageClassName", To: strconv.Quote(name)}},
	}, nil
}

// isDefaultClass is util.IsDefaultAnnotation.
func isDefaultClass(sc *storagev1.StorageClass) bool {
	return sc.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" || sc.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
}
