package registry

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/apis/core/validation"

	"kviz/cluster/apiserver/object"
)

// podStrategy mirrors pkg/registry/core/pod/strategy.go.
var podStrategy = &Strategy{
	Prepare: prepare(func(w *Write, p, old *corev1.Pod) {
		if old != nil {
			p.Status = old.Status
			if p.Spec.Resources == nil && old.Spec.Resources != nil {
				p.Spec.Resources = old.Spec.Resources
			}
			bumpPod(p, old)
			return
		}
		p.Generation = 1
		syncAppArmor(w, p)
		p.Status = corev1.PodStatus{Phase: corev1.PodPending}
		if len(p.Spec.SchedulingGates) > 0 {
			SetPodCondition(p, w.Now, corev1.PodCondition{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
				Reason: corev1.PodReasonSchedulingGated, Message: "Scheduling is blocked due to non-empty scheduling gates",
			})
		}
		mergeMatchLabelKeys(p)
		p.Status.QOSClass = qos.ComputePodQOS(p)
	}),
	SubPrepare: Preparers{
		"status": prepare(func(_ *Write, p, old *corev1.Pod) {
			p.Spec = old.Spec
			p.DeletionTimestamp = nil
			p.OwnerReferences = old.OwnerReferences
			if p.Status.QOSClass == "" {
				p.Status.QOSClass = old.Status.QOSClass
			}
			keepObservedGeneration(p, old)
		}),
		"ephemeralcontainers": prepare(func(_ *Write, p, old *corev1.Pod) {
			added := p.Spec.EphemeralContainers
			p.Spec, p.Status = *old.Spec.DeepCopy(), old.Status
			metav1.ResetObjectMetaForStatus(&p.ObjectMeta, &old.ObjectMeta)
			p.Spec.EphemeralContainers = added
			bumpPod(p, old)
		}),
		"resize": prepare(func(_ *Write, p, old *corev1.Pod) {
			resizeOnly(p, old)
			bumpPod(p, old)
		}),
	},
	Validate: creation(func(p *core.Pod) field.ErrorList {
		return validation.ValidatePodCreate(p, podOptions(p, nil))
	}),
	ValidateUpdate: updating(func(p, old *core.Pod) field.ErrorList {
		return validation.ValidatePodUpdate(p, old, podOptions(p, old))
	}),
	SubValidate: Validators{
		"status": updating(func(p, old *core.Pod) field.ErrorList {
			return validation.ValidatePodStatusUpdate(p, old, podOptions(p, old))
		}),
		"ephemeralcontainers": updating(func(p, old *core.Pod) field.ErrorList {
			return validation.ValidatePodEphemeralContainersUpdate(p, old, podOptions(p, old))
		}),
		"resize": updating(func(p, old *core.Pod) field.ErrorList {
			return validation.ValidatePodResize(p, old, podOptions(p, old))
		}),
	},
	Warn: func(obj, old runtime.Object) []string {
		if old != nil {
			return nil
		}
		p := Internal[core.Pod](obj)
		var w []string
		if msgs := utilvalidation.IsDNS1123Label(p.Name); len(msgs) != 0 {
			w = append(w, fmt.Sprintf("metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: %v", msgs))
		}
		return append(w, podutil.GetWarningsForPod(context.Background(), p, nil)...)
	},
}

func podOptions(p, old *core.Pod) validation.PodValidationOptions {
	var opts validation.PodValidationOptions
	if old == nil {
		opts = podutil.GetValidationOptionsFromPodSpecAndMeta(&p.Spec, nil, &p.ObjectMeta, nil)
	} else {
		opts = podutil.GetValidationOptionsFromPodSpecAndMeta(&p.Spec, &old.Spec, &p.ObjectMeta, &old.ObjectMeta)
	}
	opts.ResourceIsPod = true
	return opts
}

func bumpPod(p, old *corev1.Pod) {
	if !object.Equal(p.Spec, old.Spec) {
		p.Generation = old.Generation + 1
	}
}

// SetPodCondition is pkg/api/pod UpdatePodCondition with the given time.
func SetPodCondition(p *corev1.Pod, now metav1.Time, cond corev1.PodCondition) {
	cond.LastTransitionTime = now
	cond.ObservedGeneration = 0
	for i := range p.Status.Conditions {
		if was := &p.Status.Conditions[i]; was.Type == cond.Type {
			if was.Status == cond.Status {
				cond.LastTransitionTime = was.LastTransitionTime
			}
			*was = cond
			return
		}
	}
	p.Status.Conditions = append(p.Status.Conditions, cond)
}

// keepObservedGeneration keeps what an old client did not know to send.
func keepObservedGeneration(p, old *corev1.Pod) {
	if p.Status.ObservedGeneration == 0 {
		p.Status.ObservedGeneration = old.Status.ObservedGeneration
	}
	for i := range p.Status.Conditions {
		cond := &p.Status.Conditions[i]
		if cond.ObservedGeneration != 0 {
			continue
		}
		for j := range old.Status.Conditions {
			if old.Status.Conditions[j].Type == cond.Type {
				cond.ObservedGeneration = old.Status.Conditions[j].ObservedGeneration
				break
			}
		}
	}
}

// resizeOnly drops every change but those of resources and resize policies.
func resizeOnly(p, old *corev1.Pod) {
	if len(p.Spec.Containers) != len(old.Spec.Containers) || len(p.Spec.InitContainers) != len(old.Spec.InitContainers) {
		return // validation refuses it
	}
	whole := p.Spec.Resources
	spec := *old.Spec.DeepCopy()
	pick := func(to, from []corev1.Container) {
		for i := range to {
			if to[i].Name == from[i].Name {
				to[i].Resources, to[i].ResizePolicy = from[i].Resources, from[i].ResizePolicy
			}
		}
	}
	pick(spec.Containers, p.Spec.Containers)
	pick(spec.InitContainers, p.Spec.InitContainers)
	spec.Resources = whole
	p.Spec, p.Status = spec, old.Status
	metav1.ResetObjectMetaForStatus(&p.ObjectMeta, &old.ObjectMeta)
}

// mergeMatchLabelKeys turns matchLabelKeys into requirements, where a pod uses
// them.
func mergeMatchLabelKeys(p *corev1.Pod) {
	for i := range p.Spec.TopologySpreadConstraints {
		c := &p.Spec.TopologySpreadConstraints[i]
		c.LabelSelector = withLabelKeys(c.LabelSelector, p.Labels, c.MatchLabelKeys, metav1.LabelSelectorOpIn)
	}
	if p.Spec.Affinity == nil {
		return
	}
	term := func(t *corev1.PodAffinityTerm) {
		t.LabelSelector = withLabelKeys(t.LabelSelector, p.Labels, t.MatchLabelKeys, metav1.LabelSelectorOpIn)
		t.LabelSelector = withLabelKeys(t.LabelSelector, p.Labels, t.MismatchLabelKeys, metav1.LabelSelectorOpNotIn)
	}
	if a := p.Spec.Affinity.PodAffinity; a != nil {
		eachTerm(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution, term)
	}
	if a := p.Spec.Affinity.PodAntiAffinity; a != nil {
		eachTerm(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution, term)
	}
}

func eachTerm(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, fn func(*corev1.PodAffinityTerm)) {
	for i := range required {
		fn(&required[i])
	}
	for i := range preferred {
		fn(&preferred[i].PodAffinityTerm)
	}
}

func withLabelKeys(sel *metav1.LabelSelector, labels map[string]string, keys []string, op metav1.LabelSelectorOperator) *metav1.LabelSelector {
	if sel == nil {
		return nil
	}
	for _, k := range keys {
		if v, ok := labels[k]; ok {
			sel.MatchExpressions = append(sel.MatchExpressions, metav1.LabelSelectorRequirement{Key: k, Operator: op, Values: []string{v}})
		}
	}
	return sel
}
