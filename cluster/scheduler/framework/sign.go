package framework

import (
	"encoding/json"
	"slices"
	"sort"

	corev1 "k8s.io/api/core/v1"
)

// SignPlugin is a plugin that says what it goes by of a pod: two pods with the same fragments get
// the same answers from it on the same nodes. A rejection says that its answers depend on more than
// the pod and the node.
type SignPlugin interface {
	Plugin
	SignPod(pod *corev1.Pod) ([]SignFragment, *Status)
}

// SignFragment is a part of a pod's signature; plugins that go by the same have the same key.
type SignFragment struct {
	Key   string
	Value any
}

// The keys (k8s.io/kube-scheduler/framework signers.go).
const (
	ImageNamesSignerName    = "v1.Pod.Spec.CanonicalImageNames()"
	LabelsSignerName        = "v1.Pod.Labels"
	NodeNameSignerName      = "v1.Pod.Spec.NodeName"
	NodeAffinitySignerName  = "v1.Pod.Spec.Affinity.NodeAffinity"
	NodeSelectorSignerName  = "v1.Pod.Spec.Affinity.NodeSelector"
	HostPortsSignerName     = "v1.Pod.Spec.HostPorts()"
	ResourcesSignerName     = "v1.Pod.Spec.ContainerRequestsAndOverheads()"
	SchedulerNameSignerName = "v1.Pod.Spec.SchedulerName"
	TolerationsSignerName   = "v1.Pod.Spec.Tolerations"
	VolumesSignerName       = "v1.Pod.Spec.Volumes.NonSyntheticSources()"
	FeaturesSignerName      = "v1.Pod.Spec.RequiredFeatures()"
)

// SignResources is what the pod requests.
func SignResources(pod *corev1.Pod) []SignFragment {
	return []SignFragment{{ResourcesSignerName, PodRequests(pod)}}
}

// SignTolerations is the pod's tolerations, whatever their order.
func SignTolerations(pod *corev1.Pod) []SignFragment {
	list := slices.Clone(pod.Spec.Tolerations)
	sort.Slice(list, func(i, j int) bool {
		return list[i].Key < list[j].Key || list[i].Key == list[j].Key && list[i].Value < list[j].Value
	})
	return []SignFragment{{TolerationsSignerName, list}}
}

// SignHostPorts is the ports that the pod needs of its node.
func SignHostPorts(pod *corev1.Pod) []SignFragment {
	ports := []int32{}
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		for _, p := range c.Ports {
			if p.HostPort != 0 {
				ports = append(ports, p.HostPort)
			}
		}
	}
	slices.Sort(ports)
	return []SignFragment{{HostPortsSignerName, slices.Compact(ports)}}
}

// SignVolumes is the pod's volumes but for ConfigMaps and Secrets, which matter to no plugin and
// of which every pod has its own.
func SignVolumes(pod *corev1.Pod) []SignFragment {
	list := []string{}
	for _, v := range pod.Spec.Volumes {
		if v.ConfigMap == nil && v.Secret == nil {
			list = append(list, signed(v.VolumeSource))
		}
	}
	slices.Sort(list)
	return []SignFragment{{VolumesSignerName, list}}
}

// SignNodeAffinity is what the pod wants of its node's labels, whatever the order of its terms.
func SignNodeAffinity(pod *corev1.Pod) []SignFragment {
	fragments := []SignFragment{{NodeSelectorSignerName, pod.Spec.NodeSelector}, {NodeAffinitySignerName, nil}}
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return fragments
	}
	var both struct{ Required, Preferred []string }
	n := pod.Spec.Affinity.NodeAffinity
	if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, t := range n.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			both.Required = append(both.Required, signed(signTerm(t)))
		}
	}
	for _, t := range n.PreferredDuringSchedulingIgnoredDuringExecution {
		both.Preferred = append(both.Preferred, signed(struct {
			Weight     int32
			Preference signedTerm
		}{t.Weight, signTerm(t.Preference)}))
	}
	slices.Sort(both.Required)
	slices.Sort(both.Preferred)
	fragments[1].Value = both
	return fragments
}

type signedTerm struct{ MatchExpressions, MatchFields []string }

func signTerm(t corev1.NodeSelectorTerm) signedTerm {
	return signedTerm{signRequirements(t.MatchExpressions), signRequirements(t.MatchFields)}
}

func signRequirements(reqs []corev1.NodeSelectorRequirement) []string {
	list := make([]string, len(reqs))
	for i, r := range reqs {
		r.Values = slices.Sorted(slices.Values(r.Values))
		list[i] = signed(r)
	}
	slices.Sort(list)
	return list
}

// signed is a value of the API as text.
func signed(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("framework: a pod's spec does not marshal: " + err.Error())
	}
	return string(text)
}
