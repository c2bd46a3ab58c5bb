package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// story is what happens to both sides alike, one thing after another. Between two the schedulers come to rest.
type story struct {
	draw  *rand.Rand
	nodes []string
	pods  []string
	next  int // the number of the next pod or node
}

// step is one thing that happens, to be done to each side.
type step struct {
	says  string
	do    func(ctx context.Context, s *side) error
	frees bool // it may give a place to a pod that waits
}

var priorities = map[string]int32{"last": -1_000_000, "low": 10, "usual": 100, "high": 1000}

// begin makes what stories take for granted.
func begin(ctx context.Context, s *side) error {
	for name, value := range priorities {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		if _, err := s.API.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// pod is one that asks for so much.
func pod(name, cpu string, memoryMi int64) *corev1.Pod {
	ask := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	if memoryMi > 0 {
		ask[corev1.ResourceMemory] = *resource.NewQuantity(memoryMi<<20, resource.BinarySI)
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.27", Resources: corev1.ResourceRequirements{Requests: ask}}}},
	}
}

// tell draws the next step.
func (st *story) tell() step {
	switch n := st.draw.IntN(20); {
	case len(st.nodes) < 3 || n == 0 && len(st.nodes) < 7:
		return st.addNode()
	case n <= 11:
		return st.addPod()
	case n <= 14 && len(st.pods) > 0:
		name := st.pods[st.draw.IntN(len(st.pods))]
		st.pods = slices.DeleteFunc(st.pods, func(p string) bool { return p == name })
		return step{"delete " + name, func(ctx context.Context, s *side) error {
			err := s.API.CoreV1().Pods(namespace).Delete(ctx, name, *metav1.NewDeleteOptions(0))
			return ignoreNotFound(err)
		}, true}
	case n <= 16:
		return st.taint()
	case n == 17:
		return st.cordon()
	}
	return st.addPod()
}

// ignoreNotFound is for a pod that waited, and went before the step that makes room.
func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (st *story) name(kind string) string {
	st.next++
	return fmt.Sprintf("%s-%d", kind, st.next)
}

func (st *story) addNode() step {
	name := st.name("node")
	st.nodes = append(st.nodes, name)
	room := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(1000+500*st.draw.IntN(5)), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(1+st.draw.IntN(4))<<30, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(int64(4+st.draw.IntN(8)), resource.DecimalSI),
	}
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: []string{"a", "b", "c"}[st.draw.IntN(3)], "disk": []string{"ssd", "hdd"}[st.draw.IntN(2)],
		}},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room},
	}
	return step{"add " + name, func(ctx context.Context, s *side) error {
		made, err := s.API.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		made.Status = n.Status
		if made, err = s.API.CoreV1().Nodes().UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
			return err
		}
		made.Spec.Taints = nil // the one that admission puts on every new node
		_, err = s.API.CoreV1().Nodes().Update(ctx, made, metav1.UpdateOptions{})
		return err
	}, true}
}

// change updates a node.
func change(says, node string, frees bool, f func(*corev1.Node)) step {
	return step{says, func(ctx context.Context, s *side) error {
		n, err := s.API.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		f(n)
		_, err = s.API.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{})
		return err
	}, frees}
}

func (st *story) taint() step {
	node := st.nodes[st.draw.IntN(len(st.nodes))]
	effect := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule}[st.draw.IntN(2)]
	return change(fmt.Sprintf("taint %s %s or take it off", node, effect), node, true, func(n *corev1.Node) {
		if len(n.Spec.Taints) > 0 {
			n.Spec.Taints = nil
			return
		}
		n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "batch", Effect: effect}}
	})
}

func (st *story) cordon() step {
	node := st.nodes[st.draw.IntN(len(st.nodes))]
	return change("cordon or uncordon "+node, node, true, func(n *corev1.Node) {
		n.Spec.Unschedulable = !n.Spec.Unschedulable
		if !n.Spec.Unschedulable {
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable })
		}
	})
}

func (st *story) addPod() step {
	name := st.name("pod")
	st.pods = append(st.pods, name)
	p := pod(name, fmt.Sprintf("%dm", 100*(1+st.draw.IntN(9))), int64(64*st.draw.IntN(12)))
	app := []string{"web", "db", "job"}[st.draw.IntN(3)]
	p.Labels["app"] = app
	p.Spec.PriorityClassName = []string{"low", "usual", "usual", "high"}[st.draw.IntN(4)]
	if st.draw.IntN(3) == 0 {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	}
	switch st.draw.IntN(8) {
	case 0:
		p.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	case 1:
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight: int32(1 + st.draw.IntN(50)), Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"a", "b"}},
			}},
		}}}}
	case 2:
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{near(app, corev1.LabelHostname)}}}
	case 3:
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: 30, PodAffinityTerm: near("db", corev1.LabelTopologyZone)},
		}}}
	case 4:
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: int32(1 + st.draw.IntN(2)), TopologyKey: []string{corev1.LabelTopologyZone, corev1.LabelHostname}[st.draw.IntN(2)],
			WhenUnsatisfiable: []corev1.UnsatisfiableConstraintAction{corev1.DoNotSchedule, corev1.ScheduleAnyway}[st.draw.IntN(2)],
			LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		}}
	case 5:
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: int32(8080 + st.draw.IntN(2))}}
	}
	return step{fmt.Sprintf("add %s (%s)", name, p.Spec.PriorityClassName), func(ctx context.Context, s *side) error {
		_, err := s.API.CoreV1().Pods(namespace).Create(ctx, p, metav1.CreateOptions{})
		return err
	}, false}
}

func near(app, by string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, TopologyKey: by}
}

// startOf is when a pod of a number began, which preemption looks at.
func startOf(t *testing.T, number int) metav1.Time {
	t.Helper()
	return metav1.NewTime(time.Date(2026, 1, 1, 0, number, 0, 0, time.UTC))
}
