package admission

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/util/tolerations"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// RuntimeClass is the plugin of that name (plugin/pkg/admission/runtimeclass): the
// class says what its pods cost beside their containers, and on which nodes they can
// run.
type RuntimeClass struct{ lister Lister }

// NewRuntimeClass makes the plugin.
func NewRuntimeClass(l Lister) *RuntimeClass { return &RuntimeClass{l} }

// Name is [Plugin].
func (*RuntimeClass) Name() string { return "RuntimeClass" }

// class is the RuntimeClass that a new pod asks for; nil if it asks for none.
func (r *RuntimeClass) class(s *request.Scope, a *Attributes, p *corev1.Pod) (*nodev1.RuntimeClass, error) {
	if p == nil || p.Spec.RuntimeClassName == nil {
		return nil, nil
	}
	all, err := newest[*nodev1.RuntimeClass](s, a, r.lister, client.RuntimeClasses, "")
	if err != nil {
		return nil, err
	}
	for _, rc := range all {
		if rc.Name == *p.Spec.RuntimeClassName {
			return rc, nil
		}
	}
	return nil, a.Forbid(fmt.Errorf("pod rejected: RuntimeClass %q not found", *p.Spec.RuntimeClassName))
}

// Admit is [Mutating].
func (r *RuntimeClass) Admit(s *request.Scope, a *Attributes) (Result, error) {
	p := newPod(a)
	rc, err := r.class(s, a, p)
	if rc == nil || err != nil {
		return Result{}, err
	}
	var did []string
	var diff []trace.FieldDiff
	if o := rc.Overhead; o != nil {
		if len(p.Spec.Overhead) > 0 && !equality.Semantic.DeepEqual(o.PodFixed, p.Spec.Overhead) {
			return Result{}, a.Forbid(errors.New("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"))
		}
		p.Spec.Overhead = maps.Clone(o.PodFixed)
		did, diff = append(did, "its overhead"), append(diff, trace.FieldDiff{Path: "spec.overhead", To: object.JSON(p.Spec.Overhead)})
	}
	if on := rc.Scheduling; on != nil {
		selector := maps.Clone(p.Spec.NodeSelector)
		for _, k := range slices.Sorted(maps.Keys(on.NodeSelector)) {
			if selector == nil {
				selector = map[string]string{}
			}
			if v, has := selector[k]; has && v != on.NodeSelector[k] {
				return Result{}, a.Forbid(fmt.Errorf("conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", k, on.NodeSelector[k], k, v))
			}
			selector[k] = on.NodeSelector[k]
		}
		if len(on.NodeSelector) > 0 {
			p.Spec.NodeSelector = selector
			diff = append(diff, trace.FieldDiff{Path: "spec.nodeSelector", To: object.JSON(selector)})
		}
		if len(on.Tolerations) > 0 {
			p.Spec.Tolerations = mergeTolerations(p.Spec.Tolerations, on.Tolerations)
			diff = append(diff, trace.FieldDiff{Path: "spec.tolerations", To: object.JSON(p.Spec.Tolerations)})
		}
		did = append(did, "the nodes it runs on")
	}
	if len(did) == 0 {
		return Result{}, nil
	}
	return Result{Note: "the pod takes over from RuntimeClass " + rc.Name + " " + strings.Join(did, " and ") + ".", Diff: diff}, nil
}

// Validate is [Validating].
func (r *RuntimeClass) Validate(s *request.Scope, a *Attributes) (Result, error) {
	p := newPod(a)
	if p == nil {
		return Result{}, nil
	}
	rc, err := r.class(s, a, p)
	if err != nil {
		return Result{}, err
	}
	switch {
	case rc != nil && rc.Overhead != nil:
		if !equality.Semantic.DeepEqual(rc.Overhead.PodFixed, p.Spec.Overhead) {
			return Result{}, a.Forbid(errors.New("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"))
		}
	case p.Spec.Overhead != nil:
		return Result{}, a.Forbid(errors.New("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"))
	}
	return Result{}, nil
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
