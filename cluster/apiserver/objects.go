package apiserver

import (
	"fmt"
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// metaOf is the object's metadata. Every kind that is served has some.
func metaOf(obj runtime.Object) metav1.Object {
	if m, ok := obj.(metav1.Object); ok {
		return m
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		panic(fmt.Sprintf("apiserver: %T has no metadata", obj))
	}
	return m
}

func nameOf(obj runtime.Object) string {
	if obj == nil {
		return ""
	}
	return metaOf(obj).GetName()
}

// parseRevision reads a resourceVersion; empty is 0.
func parseRevision(rv string) (int64, error) {
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

func formatRevision(rev int64) string { return strconv.FormatInt(rev, 10) }
