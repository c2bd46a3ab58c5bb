package apiserver

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/util/tolerations"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// Plugins that look up a class: RuntimeClass, DefaultStorageClass, DefaultIngressClass,
// PersistentVolumeClaimResize.

// storageClasses are all there are, by name.
func (c *call) storageClasses() ([]*storagev1.StorageClass, error) {
	var out []*storagev1.StorageClass
	err := c.newest(client.StorageClasses, "", func(obj runtime.Object) { out = append(out, obj.(*storagev1.StorageClass)) })
	return out, err
}

// admitStorageClass is the DefaultStorageClass plugin
// (plugin/pkg/admission/storage/storageclass/setdefault): a claim that names no
// class gets the default one, the newest if there are several.
func admitStorageClass(c *call, op operation) (string, []trace.FieldDiff, error) {
	claim, ok := c.obj.(*corev1.PersistentVolumeClaim)
	if !ok || op != opCreate || c.req.Subresource != "" {
		return "", nil, nil
	}
	if _, beta := claim.Annotations[corev1.BetaStorageClassAnnotation]; beta || claim.Spec.StorageClassName != nil {
		return "", nil, nil
	}
	all, err := c.storageClasses()
	if err != nil {
		return "", nil, err
	}
	defaults := slices.DeleteFunc(all, func(sc *storagev1.StorageClass) bool { return !isDefaultClass(sc) })
	if len(defaults) == 0 {
		return "", nil, nil
	}
	slices.SortStableFunc(defaults, func(a, b *storagev1.StorageClass) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	name := defaults[0].Name
	claim.Spec.StorageClassName = &name
	return "the claim names no StorageClass and gets the default one, " + name + ".",
		[]trace.FieldDiff{{Path: "spec.storageClassName", To: quoted(name)}}, nil
}

// isDefaultClass is util.IsDefaultAnnotation.
func isDefaultClass(sc *storagev1.StorageClass) bool {
	return sc.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" || sc.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
}

// admitIngressClass is the DefaultIngressClass plugin
// (plugin/pkg/admission/network/defaultingressclass): an Ingress that names no class
// gets the default one, the newest if there are several.
func admitIngressClass(c *call, op operation) (string, []trace.FieldDiff, error) {
	ingress, ok := c.obj.(*networkingv1.Ingress)
	if !ok || op != opCreate || c.req.Subresource != "" {
		return "", nil, nil
	}
	if _, beta := ingress.Annotations[networkingv1beta1.AnnotationIngressClass]; beta || ingress.Spec.IngressClassName != nil {
		return "", nil, nil
	}
	var defaults []*networkingv1.IngressClass
	err := c.newest(client.IngressClasses, "", func(obj runtime.Object) {
		if class := obj.(*networkingv1.IngressClass); class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
			defaults = append(defaults, class)
		}
	})
	if err != nil || len(defaults) == 0 {
		return "", nil, err
	}
	name := slices.MinFunc(defaults, func(a, b *networkingv1.IngressClass) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	}).Name
	ingress.Spec.IngressClassName = &name
	return "the Ingress names no IngressClass and gets the default one, " + name + ".",
		[]trace.FieldDiff{{Path: "spec.ingressClassName", To: quoted(name)}}, nil
}

// checkResize is the PersistentVolumeClaimResize plugin
// (plugin/pkg/admission/storage/persistentvolume/resize): a claim grows only where
// its class lets it.
func checkResize(c *call, op operation) (string, []trace.FieldDiff, error) {
	claim, ok := c.obj.(*corev1.PersistentVolumeClaim)
	if !ok || op != opUpdate || c.req.Subresource != "" {
		return "", nil, nil
	}
	old := c.old.(*corev1.PersistentVolumeClaim)
	was, is := old.Spec.Resources.Requests[corev1.ResourceStorage], claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if is.Cmp(was) <= 0 {
		return "", nil, nil
	}
	if old.Status.Phase != corev1.ClaimBound {
		return "", nil, c.forbid(errors.New("Only bound persistent volume claims can be expanded"))
	}
	all, err := c.storageClasses()
	if err != nil {
		return "", nil, err
	}
	name := claimClass(claim)
	for _, sc := range all {
		if name != "" && sc.Name == name && name == claimClass(old) && sc.AllowVolumeExpansion != nil && *sc.AllowVolumeExpansion {
			return fmt.Sprintf("StorageClass %s lets the claim grow from %s to %s.", name, was.String(), is.String()), nil, nil
		}
	}
	return "", nil, c.forbid(errors.New("only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"))
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

// runtimeClass is the RuntimeClass a new pod asks for; nil if it asks for none.
func (c *call) runtimeClass(p *corev1.Pod) (*nodev1.RuntimeClass, error) {
	if p == nil || p.Spec.RuntimeClassName == nil {
		return nil, nil
	}
	var found *nodev1.RuntimeClass
	err := c.newest(client.RuntimeClasses, "", func(obj runtime.Object) {
		if rc := obj.(*nodev1.RuntimeClass); rc.Name == *p.Spec.RuntimeClassName {
			found = rc
		}
	})
	if err == nil && found == nil {
		err = c.forbid(fmt.Errorf("pod rejected: RuntimeClass %q not found", *p.Spec.RuntimeClassName))
	}
	return found, err
}

// admitRuntimeClass is the mutating half of the RuntimeClass plugin
// (plugin/pkg/admission/runtimeclass): the class says what its pods cost beside
// their containers, and on which nodes they can run.
func admitRuntimeClass(c *call, op operation) (string, []trace.FieldDiff, error) {
	p := newPod(c, op)
	rc, err := c.runtimeClass(p)
	if rc == nil || err != nil {
		return "", nil, err
	}
	var did []string
	var diff []trace.FieldDiff
	if o := rc.Overhead; o != nil {
		if len(p.Spec.Overhead) > 0 && !object.Equal(o.PodFixed, p.Spec.Overhead) {
			return "", nil, c.forbid(errors.New("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"))
		}
		p.Spec.Overhead = maps.Clone(o.PodFixed)
		did, diff = append(did, "its overhead"), append(diff, trace.FieldDiff{Path: "spec.overhead", To: object.JSON(p.Spec.Overhead)})
	}
	if s := rc.Scheduling; s != nil {
		selector := maps.Clone(p.Spec.NodeSelector)
		for _, k := range sortedKeys(s.NodeSelector) {
			if selector == nil {
				selector = map[string]string{}
			}
			if v, has := selector[k]; has && v != s.NodeSelector[k] {
				return "", nil, c.forbid(fmt.Errorf("conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", k, s.NodeSelector[k], k, v))
			}
			selector[k] = s.NodeSelector[k]
		}
		if len(s.NodeSelector) > 0 {
			p.Spec.NodeSelector = selector
			diff = append(diff, trace.FieldDiff{Path: "spec.nodeSelector", To: object.JSON(selector)})
		}
		if len(s.Tolerations) > 0 {
			p.Spec.Tolerations = mergeTolerations(p.Spec.Tolerations, s.Tolerations)
			diff = append(diff, trace.FieldDiff{Path: "spec.tolerations", To: object.JSON(p.Spec.Tolerations)})
		}
		did = append(did, "the nodes it runs on")
	}
	if len(did) == 0 {
		return "", nil, nil
	}
	return "the pod takes over from RuntimeClass " + rc.Name + " " + strings.Join(did, " and ") + ".", diff, nil
}

// checkRuntimeClass is the validating half.
func checkRuntimeClass(c *call, op operation) (string, []trace.FieldDiff, error) {
	p := newPod(c, op)
	if p == nil {
		return "", nil, nil
	}
	rc, err := c.runtimeClass(p)
	if err != nil {
		return "", nil, err
	}
	switch {
	case rc != nil && rc.Overhead != nil:
		if !object.Equal(rc.Overhead.PodFixed, p.Spec.Overhead) {
			return "", nil, c.forbid(errors.New("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"))
		}
	case p.Spec.Overhead != nil:
		return "", nil, c.forbid(errors.New("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"))
	}
	return "", nil, nil
}

// mergeTolerations is tolerations.MergeTolerations on v1 objects.
func mergeTolerations(first, second []corev1.Toleration) []corev1.Toleration {
	inner := func(list []corev1.Toleration) []core.Toleration {
		out := make([]core.Toleration, len(list))
		for i, t := range list {
			out[i] = core.Toleration{Key: t.Key, Operator: core.TolerationOperator(t.Operator), Value: t.Value, Effect: core.TaintEffect(t.Effect), TolerationSeconds: t.TolerationSeconds}
		}
		return out
	}
	var out []corev1.Toleration
	for _, t := range tolerations.MergeTolerations(inner(first), inner(second)) {
		out = append(out, corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value, Effect: corev1.TaintEffect(t.Effect), TolerationSeconds: t.TolerationSeconds})
	}
	return out
}
