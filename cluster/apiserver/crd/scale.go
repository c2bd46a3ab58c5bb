package crd

import (
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// unsetReplicas stands for a replicas field that is not there, while a patch of
// the scale is made (customresource/etcd.go invalidSpecReplicas).
const unsetReplicas = -2147483648

// scale is the scale subresource of a custom object: the fields its definition
// says (customresource/etcd.go scaleFromCustomResource). found says whether
// there is a replicas field.
func (v *Version) scale(u *unstructured.Unstructured) (s *autoscalingv1.Scale, found bool, err error) {
	paths := v.spec.Subresources.Scale
	replicas, found, err := unstructured.NestedInt64(u.Object, pathOf(paths.SpecReplicasPath)...)
	if err != nil {
		return nil, false, err
	}
	now, _, err := unstructured.NestedInt64(u.Object, pathOf(paths.StatusReplicasPath)...)
	if err != nil {
		return nil, false, err
	}
	selector := ""
	if p := paths.LabelSelectorPath; p != nil && *p != "" {
		if selector, _, err = unstructured.NestedString(u.Object, pathOf(*p)...); err != nil {
			return nil, false, err
		}
	}
	return &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{
			Name: u.GetName(), Namespace: u.GetNamespace(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(), CreationTimestamp: u.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(replicas)},
		Status: autoscalingv1.ScaleStatus{Replicas: int32(now), Selector: selector},
	}, found, nil
}

// ReadScale answers get on scale.
func (v *Version) ReadScale(u *unstructured.Unstructured) (*autoscalingv1.Scale, error) {
	s, found, err := v.scale(u)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if !found {
		return nil, apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", v.spec.Subresources.Scale.SpecReplicasPath))
	}
	return s, nil
}

// ScaleToChange is the scale that an update starts from.
func (v *Version) ScaleToChange(u *unstructured.Unstructured) (*autoscalingv1.Scale, error) {
	s, found, err := v.scale(u)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if !found {
		s.Spec.Replicas = unsetReplicas
	}
	return s, nil
}

// SetScale writes the replicas into the object.
func (v *Version) SetScale(u *unstructured.Unstructured, n int32) error {
	path := v.spec.Subresources.Scale.SpecReplicasPath
	if n == unsetReplicas {
		return apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", path))
	}
	if err := unstructured.SetNestedField(u.Object, int64(n), pathOf(path)...); err != nil {
		return apierrors.NewInternalError(err)
	}
	return nil
}

// ReplicasPaths are where each version has its replicas (customresource_handler.go
// getOrCreateServingInfoFor).
func (v *Version) ReplicasPaths() managedfields.ResourcePathMappings {
	out := managedfields.ResourcePathMappings{}
	for _, o := range v.of.born.Spec.Versions {
		if o.Subresources == nil || o.Subresources.Scale == nil {
			continue
		}
		var path fieldpath.Path
		for _, name := range pathOf(o.Subresources.Scale.SpecReplicasPath) {
			path = append(path, fieldpath.PathElement{FieldName: &name})
		}
		out[v.of.born.Spec.Group+"/"+o.Name] = path
	}
	return out
}
