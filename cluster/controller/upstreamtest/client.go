package upstreamtest

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"k8s.io/apimachinery/pkg/types"
)

// Events loses what is recorded.
type Events struct{ coreclient.EventInterface }

// CreateWithEventNamespace is [coreclient.EventInterface].
func (Events) CreateWithEventNamespace(e *corev1.Event) (*corev1.Event, error) { return e, nil }

// PatchWithEventNamespace is [coreclient.EventInterface].
func (Events) PatchWithEventNamespace(e *corev1.Event, _ []byte) (*corev1.Event, error) {
	return e, nil
}

// PodWrites takes what a controller asks for pods.
type PodWrites struct {
	coreclient.PodInterface
	Created       func(*corev1.Pod)
	Patched, Gone func(name string)
}

// Create is [coreclient.PodInterface].
func (w PodWrites) Create(_ context.Context, p *corev1.Pod, _ metav1.CreateOptions) (*corev1.Pod, error) {
	w.Created(p)
	return p, nil
}

// Patch is [coreclient.PodInterface].
func (w PodWrites) Patch(_ context.Context, name string, _ types.PatchType, _ []byte, _ metav1.PatchOptions, _ ...string) (*corev1.Pod, error) {
	w.Patched(name)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
}

// Delete is [coreclient.PodInterface].
func (w PodWrites) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	w.Gone(name)
	return nil
}
