package upstream_test

import (
	"fmt"
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// class is what the pods of a random cluster are like.
type class struct {
	name                               string
	core, spread, affinity, replicated bool
	volumes, devices                   bool
	gpus                               bool // extended resources
}

var classes = []class{
	{name: "core", core: true},
	{name: "spread", spread: true},
	{name: "inter-pod", affinity: true},
	{name: "owned by a ReplicaSet", replicated: true},
	{name: "volumes", volumes: true},
	{name: "devices", devices: true},
	{name: "mixed", core: true, spread: true, affinity: true, replicated: true, volumes: true},
}

// dice draws clusters.
type dice struct {
	*rand.Rand
	class
	pods int
}

func roll(seed uint64, c class) *dice { return &dice{Rand: rand.New(rand.NewPCG(seed, 1)), class: c} }

func (d *dice) one(in int) bool { return d.IntN(in) == 0 }

func of[T any](d *dice, list ...T) T { return list[d.IntN(len(list))] }

var namespaces = []string{"demo", "other"}

func (d *dice) world() *world {
	w := &world{}
	for i, name := range namespaces {
		w.namespaces = append(w.namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": of(d, "a", "b"), "n": fmt.Sprint(i)}}})
	}
	for i := range 2 + d.IntN(8) {
		w.nodes = append(w.nodes, d.node(fmt.Sprintf("n%d", i)))
	}
	for _, app := range []string{"a", "b"} {
		if d.one(3) {
			w.services = append(w.services, &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: app}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": app}},
			})
		}
		w.replicaSets = append(w.replicaSets, &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "rs-" + app}, Spec: appsv1.ReplicaSetSpec{Selector: d.selector()},
		})
	}
	if d.volumes {
		d.addStorage(w)
	}
	if d.devices {
		d.addDevices(w)
	}
	for range d.IntN(25) {
		p := d.pod()
		p.Spec.NodeName = of(d, w.nodes...).Name
		w.pods = append(w.pods, p)
	}
	return w
}

func (d *dice) node(name string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	if !d.one(10) {
		n.Labels[corev1.LabelHostname] = name
	}
	if !d.one(5) {
		n.Labels[corev1.LabelTopologyZone] = of(d, "x", "y", "z")
	}
	if d.one(2) {
		n.Labels["disk"] = of(d, "", "ssd", "hdd")
	}
	if d.one(4) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "dedicated", Effect: of(d, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule)})
	}
	n.Spec.Unschedulable = d.one(15)
	if d.core && d.one(2) {
		n.Status.DeclaredFeatures = []string{"RestartAllContainersOnContainerExits", "SomethingOfTomorrow"}
	}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourcePods: resource.MustParse(of(d, "4", "110")), corev1.ResourceCPU: resource.MustParse(of(d, "1", "4", "8")),
		corev1.ResourceMemory: resource.MustParse(of(d, "1Gi", "3Gi", "16Gi")),
	}
	if d.gpus && d.one(2) {
		n.Status.Allocatable["example.com/gpu"] = resource.MustParse(of(d, "2", "8"))
		n.Status.Allocatable[corev1.ResourceEphemeralStorage] = resource.MustParse(of(d, "10Gi", "40Gi"))
	}
	for _, image := range []corev1.ContainerImage{{Names: []string{"web:1"}, SizeBytes: 400 << 20}, {Names: []string{"db:2"}, SizeBytes: 2000 << 20}} {
		if d.one(3) {
			n.Status.Images = append(n.Status.Images, image)
		}
	}
	return n
}

func quantity(s string) resource.Quantity { return resource.MustParse(s) }

func (d *dice) pod() *corev1.Pod {
	d.pods++
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: of(d, "demo", "demo", "demo", "other"), Name: fmt.Sprintf("p%d", d.pods), Labels: map[string]string{"app": of(d, "a", "b", "c")}},
		Spec:       corev1.PodSpec{SchedulerName: "default-scheduler", Containers: []corev1.Container{{Name: "c", Image: of(d, "web:1", "db:2", "none:3")}}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
	p.UID = types.UID(p.Name)
	if d.one(2) {
		p.Labels["tier"] = of(d, "1", "2")
	}
	if !d.one(3) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(of(d, "50m", "250m", "1")), corev1.ResourceMemory: resource.MustParse(of(d, "64Mi", "300Mi")),
		}
	}
	if d.gpus && d.one(2) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
			"example.com/gpu": resource.MustParse(of(d, "1", "2")), corev1.ResourceEphemeralStorage: resource.MustParse(of(d, "1Gi", "8Gi")), corev1.ResourceCPU: resource.MustParse("100m"),
		}
	}
	if d.core {
		d.addCore(p)
	}
	if d.spread && !d.one(4) {
		for range 1 + d.IntN(3) {
			p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, d.constraint())
		}
	}
	if d.affinity && !d.one(4) {
		d.addAffinity(p)
	}
	if d.volumes {
		d.addVolumes(p)
	}
	if d.devices {
		d.addClaims(p)
	}
	if d.replicated {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: of(d, "ReplicaSet", "ReplicaSet", "Job"), Name: "rs-" + of(d, "a", "b"), UID: "u", Controller: &yes}}
	}
	return p
}

func (d *dice) addCore(p *corev1.Pod) {
	if d.one(4) {
		p.Spec.NodeSelector = map[string]string{"disk": of(d, "ssd", "hdd")}
	}
	if d.one(8) {
		p.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers}}
	}
	if d.one(3) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	}
	if d.one(4) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: of[int32](d, 80, 81), Protocol: corev1.ProtocolTCP}}
	}
	if d.one(3) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight:     int32(1 + d.IntN(100)),
			Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpExists}}},
		}}}}
	}
}

func (d *dice) key() string {
	return of(d, corev1.LabelHostname, corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyZone, "disk")
}

func (d *dice) selector() *metav1.LabelSelector {
	switch d.IntN(6) {
	case 0:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: of(d, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}}}
	case 1:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"a", "b"}}}}
	case 2:
		return of(d, nil, &metav1.LabelSelector{})
	default:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": of(d, "a", "b", "c")}}
	}
}

func (d *dice) constraint() corev1.TopologySpreadConstraint {
	c := corev1.TopologySpreadConstraint{
		MaxSkew: int32(1 + d.IntN(3)), TopologyKey: d.key(), LabelSelector: d.selector(), WhenUnsatisfiable: of(d, corev1.DoNotSchedule, corev1.ScheduleAnyway),
	}
	if d.one(4) {
		c.MatchLabelKeys = []string{"tier"}
	}
	if c.WhenUnsatisfiable == corev1.DoNotSchedule && d.one(4) {
		n := int32(1 + d.IntN(5))
		c.MinDomains = &n
	}
	if policies := []corev1.NodeInclusionPolicy{corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore}; d.one(3) {
		affinity, taints := of(d, policies...), of(d, policies...)
		c.NodeAffinityPolicy, c.NodeTaintsPolicy = &affinity, &taints
	}
	return c
}

func (d *dice) term() corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{LabelSelector: d.selector(), TopologyKey: d.key()}
	switch d.IntN(6) {
	case 0:
		t.Namespaces = []string{of(d, namespaces...)}
	case 1:
		t.NamespaceSelector = of(d, &metav1.LabelSelector{}, &metav1.LabelSelector{MatchLabels: map[string]string{"team": of(d, "a", "b")}})
	}
	return t
}

func (d *dice) weighted() (list []corev1.WeightedPodAffinityTerm) {
	for range d.IntN(3) {
		list = append(list, corev1.WeightedPodAffinityTerm{Weight: int32(1 + d.IntN(100)), PodAffinityTerm: d.term()})
	}
	return list
}

func (d *dice) required(chance int) (list []corev1.PodAffinityTerm) {
	for d.one(chance) {
		list = append(list, d.term())
	}
	return list
}

func (d *dice) addAffinity(p *corev1.Pod) {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	if d.one(2) {
		p.Spec.Affinity.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: d.required(3), PreferredDuringSchedulingIgnoredDuringExecution: d.weighted()}
	}
	if d.one(2) {
		p.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: d.required(5), PreferredDuringSchedulingIgnoredDuringExecution: d.weighted()}
	}
}
