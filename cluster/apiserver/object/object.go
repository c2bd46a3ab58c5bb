// Package object has what every stage of the API server needs to know of an object,
// whatever its kind: its metadata, the revision that it carries, and the fields in which
// it differs from its previous state. In Kubernetes that is apimachinery's pkg/api/meta
// and the versioner of apiserver's pkg/storage; the list of differing fields is for the
// trace alone. Start reading at [Meta], then [Diff].
package object

import (
	"fmt"
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Meta is the object's metadata. Every kind that is served has some.
func Meta(obj runtime.Object) metav1.Object {
	if m, ok := obj.(metav1.Object); ok {
		return m
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		panic(fmt.Sprintf("apiserver: %T has no metadata", obj))
	}
	return m
}

// Name is the object's name; "" for no object.
func Name(obj runtime.Object) string {
	if obj == nil {
		return ""
	}
	return Meta(obj).GetName()
}

// ParseRevision reads a resourceVersion; empty is 0.
func ParseRevision(rv string) (int64, error) {
	if rv == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(rv, 10, 64)
	if err == nil && n > math.MaxInt64 {
		err = strconv.ErrRange // revisions are signed
	}
	if err != nil { // in the words of apiserver pkg/storage/api_object_versioner.go ParseResourceVersion
		return 0, field.Invalid(field.NewPath("resourceVersion"), rv, err.Error())
	}
	return int64(n), nil
}

// FormatRevision writes a revision as a resourceVersion.
func FormatRevision(rev int64) string { return strconv.FormatInt(rev, 10) }

// OfKind is an object that says its kind; nil for nil.
func OfKind(obj runtime.Object, gvk schema.GroupVersionKind) runtime.Object {
	if obj == nil || obj.GetObjectKind().GroupVersionKind() == gvk {
		return obj
	}
	obj = obj.DeepCopyObject()
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return obj
}
