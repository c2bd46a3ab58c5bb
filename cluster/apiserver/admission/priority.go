package admission

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// Priority is the plugin of that name (plugin/pkg/admission/priority): it turns the
// name of a PriorityClass into a number.
type Priority struct{ lister Lister }

// NewPriority makes the plugin.
func NewPriority(l Lister) *Priority { return &Priority{l} }

// Name is [Plugin].
func (*Priority) Name() string { return "Priority" }

// Admit is [Mutating].
func (p *Priority) Admit(_ *request.Scope, a *Attributes) (Result, error) {
	if a.Operation == Update && a.Subresource == "" {
		if pod, ok := a.Object.(*corev1.Pod); ok {
			old := a.OldObject.(*corev1.Pod)
			if pod.Spec.Priority == nil {
				pod.Spec.Priority = old.Spec.Priority
			}
			if pod.Spec.PreemptionPolicy == nil {
				pod.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
			}
		}
		return Result{}, nil
	}
	pod := newPod(a)
	if pod == nil {
		return Result{}, nil
	}
	class, err := p.class(a, pod.Spec.PriorityClassName)
	if err != nil {
		return Result{}, err
	}
	value, policy := int32(0), corev1.PreemptLowerPriority
	if class != nil {
		value = class.Value
		if class.PreemptionPolicy != nil {
			policy = *class.PreemptionPolicy
		}
		pod.Spec.PriorityClassName = class.Name
	}
	if pod.Spec.Priority != nil && *pod.Spec.Priority != value {
		return Result{}, a.Forbid(fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *pod.Spec.Priority, value))
	}
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy != policy {
		return Result{}, a.Forbid(fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *pod.Spec.PreemptionPolicy, policy))
	}
	pod.Spec.Priority, pod.Spec.PreemptionPolicy = &value, &policy
	number := strconv.Itoa(int(value))
	return Result{
		Note: "the priority is " + number + ".",
		Diff: []trace.FieldDiff{{Path: "spec.priority", To: number}, {Path: "spec.preemptionPolicy", To: strconv.Quote(string(policy))}},
	}, nil
}

// class finds a class by name; "" means the global default, if any.
func (p *Priority) class(a *Attributes, name string) (*schedulingv1.PriorityClass, error) {
	if name == "" {
		var best *schedulingv1.PriorityClass
		p.lister.Each(client.PriorityClasses, "", func(obj runtime.Object) bool {
			if pc := obj.(*schedulingv1.PriorityClass); pc.GlobalDefault && (best == nil || pc.Value < best.Value) {
				best = pc
			}
			return true
		})
		return best, nil
	}
	if pc, ok := p.lister.Get(client.PriorityClasses, "", name).(*schedulingv1.PriorityClass); ok {
		return pc, nil
	}
	return nil, a.Forbid(fmt.Errorf("no PriorityClass with name %v was found", name))
}

// Validate allows one global default (validatePriorityClass).
func (p *Priority) Validate(_ *request.Scope, a *Attributes) (Result, error) {
	pc, ok := a.Object.(*schedulingv1.PriorityClass)
	if !ok || a.Operation == Delete || !pc.GlobalDefault {
		return Result{}, nil
	}
	var other string
	p.lister.Each(client.PriorityClasses, "", func(obj runtime.Object) bool {
		if o := obj.(*schedulingv1.PriorityClass); o.GlobalDefault && o.Name != pc.Name {
			other = o.Name
		}
		return true
	})
	if other != "" {
		return Result{}, a.Forbid(fmt.Errorf("PriorityClass %v is already marked as default. Only one default can exist", other))
	}
	return Result{}, nil
}
