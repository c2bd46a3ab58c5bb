package admission

import (
	"slices"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// StorageObjectInUseProtection is the plugin of that name
// (plugin/pkg/admission/storage/storageobjectinuseprotection).
type StorageObjectInUseProtection struct{}

// Name is [Plugin].
func (StorageObjectInUseProtection) Name() string { return "StorageObjectInUseProtection" }

// inUseFinalizers keep an object from going while it is in use, by kind; the
// controllers of cluster/controller/storageprotection take them away.
var inUseFinalizers = map[string]string{
	"PersistentVolumeClaim": "kubernetes.io/pvc-protection",
	"PersistentVolume":      "kubernetes.io/pv-protection",
	"VolumeAttributesClass": "kubernetes.io/vac-protection",
}

// InUseFinalizer is the one that objects of a kind get; "" for none.
func InUseFinalizer(kind string) string { return inUseFinalizers[kind] }

// Admit is [Mutating].
func (StorageObjectInUseProtection) Admit(_ *request.Scope, a *Attributes) (Result, error) {
	finalizer := inUseFinalizers[a.Kind.Kind]
	if a.Operation != Create || finalizer == "" || a.Custom || a.Subresource != "" {
		return Result{}, nil
	}
	m := object.Meta(a.Object)
	if slices.Contains(m.GetFinalizers(), finalizer) {
		return Result{}, nil
	}
	m.SetFinalizers(append(slices.Clip(m.GetFinalizers()), finalizer))
	return Result{
		Note: "it is not to go while it is in use: finalizer " + finalizer + ".",
		Diff: []trace.FieldDiff{{Path: "metadata.finalizers", To: object.JSON(m.GetFinalizers())}},
	}, nil
}
