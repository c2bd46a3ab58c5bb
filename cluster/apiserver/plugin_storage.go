package apiserver

import (
	"slices"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/trace"
)

// inUseFinalizers keep an object from going while it is in use, by kind; the
// controllers of cluster/controller/storageprotection take them away.
var inUseFinalizers = map[string]string{
	"PersistentVolumeClaim": "kubernetes.io/pvc-protection",
	"PersistentVolume":      "kubernetes.io/pv-protection",
	"VolumeAttributesClass": "kubernetes.io/vac-protection",
}

// protectStorage is the StorageObjectInUseProtection plugin
// (plugin/pkg/admission/storage/storageobjectinuseprotection).
func protectStorage(c *call, op operation) (string, []trace.FieldDiff, error) {
	finalizer := inUseFinalizers[c.kind.Kind]
	if op != opCreate || finalizer == "" || c.kind.Custom != nil || c.req.Subresource != "" {
		return "", nil, nil
	}
	m := object.Meta(c.obj)
	if slices.Contains(m.GetFinalizers(), finalizer) {
		return "", nil, nil
	}
	m.SetFinalizers(append(slices.Clip(m.GetFinalizers()), finalizer))
	return "it is not to go while it is in use: finalizer " + finalizer + ".",
		[]trace.FieldDiff{{Path: "metadata.finalizers", To: object.JSON(m.GetFinalizers())}}, nil
}
