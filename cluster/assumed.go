package cluster

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/inert"
	"kviz/cluster/kubelet"
	"kviz/cluster/registry"
)

// warnings are what the cluster warns the writer of an object of: the parts that nothing
// acts on, and what is assumed of images that it does not know. It repeats nothing that
// old has too.
func warnings(gk schema.GroupKind, subresource string, obj, old runtime.Object) (unacted, all []string) {
	unacted = inert.Written(gk, subresource, obj, old)
	if subresource != "" {
		return unacted, nil
	}
	had := map[string]bool{}
	for _, a := range assumedOf(old) {
		had[a.says] = true
	}
	said := 0
	for _, a := range assumedOf(obj) {
		if had[a.says] {
			continue
		}
		had[a.says] = true
		all = append(all, a.path+": "+a.says)
		if said++; said == maxAssumed {
			break
		}
	}
	return unacted, all
}

// maxAssumed is how many assumptions one write is warned of.
const maxAssumed = 8

// assumed is an assumption of a container, and the field that it comes from.
type assumed struct{ path, says string }

// assumedOf is what the runtime will assume of the containers of a pod, or of the template
// of one. Of an image that no registry has it assumes nothing.
func assumedOf(obj runtime.Object) (all []assumed) {
	pod, path := template(obj)
	if pod == nil {
		return nil
	}
	of := func(list []corev1.Container, field string, init bool) {
		for i := range list {
			c := &list[i]
			cfg := kubelet.Describe(pod, c, init)
			a := cfg.Assume()
			if a.What == "" || !registry.Exists(c.Image) {
				continue
			}
			all = append(all, assumed{fmt.Sprintf("%s.%s[%d].%s", path, field, i, a.Field), a.Sentence()})
		}
	}
	of(pod.Spec.InitContainers, "initContainers", true)
	of(pod.Spec.Containers, "containers", false)
	return all
}

// template is the pod that an object is, or makes, and the path of its spec.
func template(obj runtime.Object) (*corev1.Pod, string) {
	of := func(t *corev1.PodTemplateSpec, path string) (*corev1.Pod, string) {
		return &corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}, path + "spec.template.spec"
	}
	switch o := obj.(type) {
	case *corev1.Pod:
		return o, "spec"
	case *corev1.ReplicationController:
		if o.Spec.Template != nil {
			return of(o.Spec.Template, "")
		}
	case *appsv1.Deployment:
		return of(&o.Spec.Template, "")
	case *appsv1.ReplicaSet:
		return of(&o.Spec.Template, "")
	case *appsv1.StatefulSet:
		return of(&o.Spec.Template, "")
	case *appsv1.DaemonSet:
		return of(&o.Spec.Template, "")
	case *batchv1.Job:
		return of(&o.Spec.Template, "")
	case *batchv1.CronJob:
		return of(&o.Spec.JobTemplate.Spec.Template, "spec.jobTemplate.")
	}
	return nil, ""
}
