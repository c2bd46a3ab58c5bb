package descheduler

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// evictorArgs are the arguments of DefaultEvictor, which says which pods may be evicted at all.
//
// Mirrors pkg/framework/plugins/defaultevictor.
type evictorArgs struct {
	metav1.TypeMeta        `json:",inline"`
	NodeSelector           string                `json:"nodeSelector,omitempty"`
	LabelSelector          *metav1.LabelSelector `json:"labelSelector,omitempty"`
	NamespaceLabelSelector *metav1.LabelSelector `json:"namespaceLabelSelector,omitempty"`
	PriorityThreshold      *struct {
		Value *int32 `json:"value"`
		Name  string `json:"name"`
	} `json:"priorityThreshold,omitempty"`
	NodeFit          bool             `json:"nodeFit,omitempty"`
	MinReplicas      uint             `json:"minReplicas,omitempty"`
	MinPodAge        *metav1.Duration `json:"minPodAge,omitempty"`
	NoEvictionPolicy string           `json:"noEvictionPolicy,omitempty"`
	PodProtections   struct {
		ExtraEnabled    []protection    `json:"extraEnabled,omitempty"`
		DefaultDisabled []protection    `json:"defaultDisabled,omitempty"`
		Config          *map[string]any `json:"config,omitempty"`
	} `json:"podProtections,omitempty"`
	EvictLocalStoragePods   bool `json:"evictLocalStoragePods,omitempty"`
	EvictDaemonSetPods      bool `json:"evictDaemonSetPods,omitempty"`
	EvictSystemCriticalPods bool `json:"evictSystemCriticalPods,omitempty"`
	IgnorePvcPods           bool `json:"ignorePvcPods,omitempty"`
	IgnorePodsWithoutPDB    bool `json:"ignorePodsWithoutPDB,omitempty"`
	EvictFailedBarePods     bool `json:"evictFailedBarePods,omitempty"`

	below int32 // priorities that may be evicted
}

// protection is a reason not to evict a pod.
type protection string

const (
	podsWithLocalStorage   protection = "PodsWithLocalStorage"
	daemonSetPods          protection = "DaemonSetPods"
	systemCriticalPods     protection = "SystemCriticalPods"
	failedBarePods         protection = "FailedBarePods"
	podsWithPVC            protection = "PodsWithPVC"
	podsWithoutPDB         protection = "PodsWithoutPDB"
	podsWithResourceClaims protection = "PodsWithResourceClaims"
)

var (
	byDefault = []protection{podsWithLocalStorage, systemCriticalPods, failedBarePods, daemonSetPods}
	extra     = []protection{podsWithPVC, podsWithoutPDB, podsWithResourceClaims}
)

// systemCritical is the lowest priority of a pod that the cluster needs (utils.SystemCriticalPriority).
const systemCritical = 2 * 1000000000

// Annotations of pods.
const (
	evictAnnotation      = "descheduler.alpha.kubernetes.io/evict"
	noEvictionAnnotation = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
)

// check is ValidateDefaultEvictorArgs.
func (a *evictorArgs) check() error {
	var wrong []error
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if a.PriorityThreshold != nil && a.PriorityThreshold.Value != nil && a.PriorityThreshold.Name != "" {
		say("priority threshold misconfigured, only one of priorityThreshold fields can be set")
	}
	if !slices.Contains([]string{"", "Preferred", "Mandatory"}, a.NoEvictionPolicy) {
		say("noEvictionPolicy accepts only %q values", []string{"Preferred", "Mandatory"})
	}
	deprecated := a.EvictLocalStoragePods || a.EvictDaemonSetPods || a.EvictSystemCriticalPods || a.IgnorePvcPods || a.EvictFailedBarePods || a.IgnorePodsWithoutPDB
	pp := &a.PodProtections
	if deprecated && len(pp.ExtraEnabled)+len(pp.DefaultDisabled) > 0 {
		say("cannot use Deprecated fields alongside PodProtections.ExtraEnabled or PodProtections.DefaultDisabled")
	}
	for _, p := range pp.ExtraEnabled {
		if !slices.Contains(extra, p) {
			say("invalid pod protection policy in ExtraEnabled: %q. Valid options are: %v", p, extra)
		}
	}
	for _, p := range pp.DefaultDisabled {
		if !slices.Contains(byDefault, p) {
			say("invalid pod protection policy in DefaultDisabled: %q. Valid options are: %v", p, byDefault)
		}
	}
	if twice(pp.DefaultDisabled) {
		say("PodProtections.DefaultDisabled contains duplicate entries")
	}
	if twice(pp.ExtraEnabled) {
		say("PodProtections.ExtraEnabled contains duplicate entries")
	}
	if pp.Config != nil && len(*pp.Config) > 0 {
		say("podProtections.config is not simulated: leave it out to protect all pods with a claim")
	}
	for _, s := range []*metav1.LabelSelector{a.LabelSelector, a.NamespaceLabelSelector} {
		if err := checkSelector(s); err != nil {
			wrong = append(wrong, err)
		}
	}
	if _, err := labels.Parse(a.NodeSelector); err != nil {
		wrong = append(wrong, err)
	}
	return utilerrors.NewAggregate(wrong)
}

func twice(list []protection) bool {
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	return len(slices.Compact(sorted)) < len(list)
}

// resolve finds the priority from which on no pod is evicted (utils.GetPriorityValueFromPriorityThreshold).
func (a *evictorArgs) resolve(class func(name string) (int32, error)) error {
	a.below = systemCritical
	switch th := a.PriorityThreshold; {
	case th == nil:
	case th.Value != nil:
		a.below = *th.Value
	case th.Name != "":
		value, err := class(th.Name)
		if err != nil {
			return fmt.Errorf("unable to get priority value from the priority class: %v", err)
		}
		a.below = value
	}
	if a.below > systemCritical {
		return fmt.Errorf("priority threshold can't be greater than %d", systemCritical)
	}
	return nil
}

// has reports whether a protection is on (getEffectivePodProtections).
func (a *evictorArgs) has(p protection) bool {
	pp := &a.PodProtections
	if len(pp.DefaultDisabled)+len(pp.ExtraEnabled) > 0 {
		return slices.Contains(byDefault, p) && !slices.Contains(pp.DefaultDisabled, p) || slices.Contains(pp.ExtraEnabled, p)
	}
	switch p {
	case podsWithLocalStorage:
		return !a.EvictLocalStoragePods
	case daemonSetPods:
		return !a.EvictDaemonSetPods
	case systemCriticalPods:
		return !a.EvictSystemCriticalPods
	case failedBarePods:
		return !a.EvictFailedBarePods
	case podsWithPVC:
		return a.IgnorePvcPods
	case podsWithoutPDB:
		return a.IgnorePodsWithoutPDB
	}
	return false
}

// may reports whether a pod may be evicted (DefaultEvictor.Filter).
func (tn *turn) may(pod *corev1.Pod) bool {
	if _, must := pod.Annotations[evictAnnotation]; must {
		return true
	}
	_, rather := pod.Annotations[noEvictionAnnotation]
	if tn.profile.evictor.NoEvictionPolicy == "Mandatory" && rather {
		return false
	}
	if why := tn.protects(pod); len(why) > 0 {
		tn.info(4, "defaultevictor.go:497", "Pod fails the following checks", "pod", key(pod), "checks", utilerrors.NewAggregate(why).Error())
		return false
	}
	return true
}

// protects are the reasons not to evict a pod.
func (tn *turn) protects(pod *corev1.Pod) (why []error) {
	a := tn.profile.evictor
	say := func(is bool, format string, args ...any) {
		if is {
			why = append(why, fmt.Errorf(format, args...))
		}
	}
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	say(mirror, "pod is a mirror pod")
	source, static := pod.Annotations["kubernetes.io/config.source"]
	say(static && source != "api", "pod is a static pod")
	say(pod.DeletionTimestamp != nil || tn.counts.dry[string(pod.UID)], "pod is terminating")
	if a.has(systemCriticalPods) {
		say(pod.Spec.Priority != nil && *pod.Spec.Priority >= systemCritical, "pod has system critical priority and is protected against eviction")
		say(pod.Spec.Priority != nil && *pod.Spec.Priority >= a.below, "pod has higher priority than specified priority class threshold")
	}
	bare := len(pod.OwnerReferences) == 0
	if a.has(failedBarePods) {
		say(bare, "pod does not have any ownerRefs")
	} else {
		say(bare && pod.Status.Phase != corev1.PodFailed, "pod does not have any ownerRefs and is not in failed phase")
	}
	say(a.has(podsWithLocalStorage) && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.HostPath != nil || v.EmptyDir != nil }),
		"pod has local storage and is protected against eviction")
	say(a.has(daemonSetPods) && slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" }),
		"daemonset pods are protected against eviction")
	say(a.has(podsWithPVC) && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil }),
		"pod with PVC is protected against eviction")
	say(a.has(podsWithoutPDB) && !tn.covered(pod), "pod does not have a PodDisruptionBudget and is protected against eviction")
	say(a.has(podsWithResourceClaims) && len(pod.Spec.ResourceClaims) > 0, "pod has ResourceClaims and descheduler is configured to protect ResourceClaims pods")
	say(!selects(a.LabelSelector, pod.Labels), "pod labels do not match the labelSelector filter in the policy parameter")
	if a.MinReplicas > 1 && len(pod.OwnerReferences) == 1 {
		n := uint(len(tn.pods.ByIndex(byOwner, string(pod.OwnerReferences[0].UID))))
		say(n < a.MinReplicas, "owner has %d replicas which is less than minReplicas of %d", n, a.MinReplicas)
	}
	if a.MinPodAge != nil {
		say(pod.Status.StartTime == nil || tn.t.Now().Sub(pod.Status.StartTime.Time) < a.MinPodAge.Duration, "pod age is not older than MinPodAge: %s seconds", a.MinPodAge.Duration)
	}
	return why
}

// covered reports whether a budget is about the pod (utils.IsPodCoveredByPDB).
func (tn *turn) covered(pod *corev1.Pod) bool {
	for _, obj := range tn.budgets.ListNamespace(pod.Namespace) {
		s, err := metav1.LabelSelectorAsSelector(obj.(*policyv1.PodDisruptionBudget).Spec.Selector)
		if err == nil && s.Matches(labels.Set(pod.Labels)) {
			return true
		}
	}
	return false
}

// wants reports whether a pod that may be evicted should be, which is looked at last
// (DefaultEvictor.PreEvictionFilter).
func (tn *turn) wants(pod *corev1.Pod) bool {
	a := tn.profile.evictor
	if a.NodeFit {
		s, err := labels.Parse(a.NodeSelector)
		if err != nil || !tn.fitsAnyOther(pod, tn.ready(s)) {
			tn.info(0, "defaultevictor.go:445", "pod does not fit on any other node because of nodeSelector(s), Taint(s), or nodes marked as unschedulable", "pod", key(pod))
			return false
		}
	}
	if s := a.NamespaceLabelSelector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		ns, ok := tn.namespaces.Get(pod.Namespace)
		if !ok || !selects(s, ns.(*corev1.Namespace).Labels) {
			tn.info(0, "defaultevictor.go:460", "pod namespace do not match the namespaceLabelSelector filter in the policy parameter", "pod", key(pod))
			return false
		}
	}
	return true
}

// selects reports whether a selector, which has been checked, selects labels; none selects all.
func selects(s *metav1.LabelSelector, set map[string]string) bool {
	if s == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && (selector.Empty() || selector.Matches(labels.Set(set)))
}
