package pods

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/dump"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Hash is the pod-template-hash of a template: the same letters that Kubernetes
// gives (controller_utils.go ComputeHash). Two templates with the same hash by
// accident are told apart by collisionCount.
func Hash(template *corev1.PodTemplateSpec, collisionCount *int32) string {
	hasher := fnv.New32a()
	fmt.Fprintf(hasher, "%v", dump.ForHash(*template))
	if collisionCount != nil {
		b := make([]byte, 8)
		binary.LittleEndian.PutUint32(b, uint32(*collisionCount))
		hasher.Write(b)
	}
	return rand.SafeEncodeString(fmt.Sprint(hasher.Sum32()))
}

// FromTemplate makes a pod for owner; the API server completes its name
// (controller_utils.go GetPodFromTemplate).
func FromTemplate(template *corev1.PodTemplateSpec, ownerName string, owner *metav1.OwnerReference) *corev1.Pod {
	prefix := ownerName + "-"
	if len(validation.IsDNS1123Subdomain(prefix+"x")) > 0 || len(prefix) > validation.DNS1123SubdomainMaxLength-5 {
		prefix = ownerName
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: prefix,
			Labels:       maps.Clone(template.Labels), Annotations: maps.Clone(template.Annotations),
			Finalizers: slices.Clone(template.Finalizers), OwnerReferences: []metav1.OwnerReference{*owner},
		},
		Spec: *template.Spec.DeepCopy(),
	}
}
