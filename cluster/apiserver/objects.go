package apiserver

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	n, err := strconv.ParseInt(rv, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("invalid resource version %q: want a number", rv)
	}
	return n, nil
}

func formatRevision(rev int64) string { return strconv.FormatInt(rev, 10) }
