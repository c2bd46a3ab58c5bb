package scheduler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/storage/volume"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/sim"
	"kviz/raftstore/steady"
)

// Pods, nodes and volumes come and go, and nodes get other labels and taints; the scheduler, its API server and its watches
// end and start; pods of two profiles make room for others. At every step: no node holds more than it has, no two pods are on
// one node where one of them does not want the other, no pod is where its volume does not let it be, and a claim
// for one pod has one. Pods are checked after every step, so it does not matter when they were bound. What depends on labels and
// taints, which may change later, is checked when a node is reserved, by what the scheduler knows then (witness_test.go).
func TestNothingRequiredIsBroken(t *testing.T) {
	bound, evicted := 0, 0
	seen := &witness{did: map[string]int{}}
	steady.Check(t, func(r *rapid.T) {
		seen.broken = nil
		ops := rapid.SliceOfN(rapid.IntRange(0, 999), 10, 60).Draw(r, "ops")
		seed := rapid.Uint64().Draw(r, "seed")
		clienttest.Run(r, seed, func(b *clienttest.Bench, task *sim.Task) {
			e := seen.start(b)
			for i := range 3 {
				e.do(task, strings.Fields(fmt.Sprintf("volume pv%d class= size=1Gi on=n%d", i, i)))
				e.do(task, strings.Fields(fmt.Sprintf("claim c%d class= size=1Gi volume=pv%d mode=%s", i, i, []string{"ReadWriteOncePod", "ReadWriteOnce", "ReadWriteOnce"}[i])))
			}
			e.do(task, strings.Fields("budget web app:a allowed=1"))
			for i, op := range ops {
				if op%12 == 11 {
					e.p.Kill()
					e = seen.start(b)
				}
				e.churn(task, i, op)
				task.Sleep(time.Duration(op%7) * 300 * time.Millisecond)
				if len(seen.broken) > 0 {
					r.Fatalf("%s", seen.broken[0])
				}
				n, gone := checkRequired(r, b)
				bound, evicted = max(bound, n), max(evicted, gone)
			}
			b.SetDown(false)
			task.Sleep(10 * time.Minute)
			checkRequired(r, b)
		})
	})
	if bound < 3 || evicted == 0 {
		t.Errorf("at most %d pods were bound at once, and %d evicted: too little happened", bound, evicted)
	}
	for _, what := range []string{"profile default-scheduler", "profile packing", "selector", "taint", "port", "anti-affinity", "affinity", "spread", "claim"} {
		if seen.did[what] == 0 {
			t.Errorf("no pod was reserved a node that had to do with %s", what)
		}
	}
	t.Logf("reserved, and judged: %v", seen.did)
}

// churn does one of the things that happen to a cluster.
func (e *env) churn(task *sim.Task, i, op int) {
	e.SetDown(false)
	switch kind, n := op%12, op/12; kind {
	case 0, 1:
		if e.Object(client.Nodes, "", fmt.Sprintf("n%d", n%6)) == nil {
			e.do(task, strings.Fields(fmt.Sprintf("node n%d cpu=%d memory=4Gi labels=zone:%d,disk:%d", n%6, 1+n%3, n%2, n%3)))
		}
	case 2, 3, 4, 5, 6:
		clienttest.Must(client.Create(task, e.c, client.Pods, "demo", required(i, n)))
	case 7:
		if pods := e.Objects(client.Pods); len(pods) > 0 {
			e.do(task, []string{"delete", pods[n%len(pods)].(*corev1.Pod).Name})
		}
	case 8, 9: // the kubelets are done with what was evicted
		for _, o := range e.Objects(client.Pods) {
			if p := o.(*corev1.Pod); p.DeletionTimestamp != nil {
				e.do(task, []string{"delete", p.Name})
			}
		}
	case 10:
		switch n % 4 {
		case 0:
			e.SetDown(true)
		case 1:
			e.EndWatches()
		default: // labels and taints change under the pods
			if name := fmt.Sprintf("n%d", n/4%6); e.Object(client.Nodes, "", name) != nil {
				taints := []string{"", " taints=dedicated/x:NoSchedule"}[n/24%2]
				e.do(task, strings.Fields(fmt.Sprintf("change %s labels=zone:%d,disk:%d%s", name, n/8%3, n%3, taints)))
			}
		}
	}
}

// required is a pod that wants things of its node and of the pods around it.
func required(i, n int) *corev1.Pod {
	args := map[string]string{"cpu": fmt.Sprintf("%d00m", 1+n%9), "priority": fmt.Sprint([]int{0, 0, 10, 100}[n%4]), "labels": "app:" + string(rune('a'+n%3))}
	if n%5 == 0 {
		args["selector"] = fmt.Sprintf("disk:%d", n%3)
	}
	if n%3 == 0 {
		args["claim"] = fmt.Sprintf("c%d", n%4%3)
	}
	p := pod(fmt.Sprintf("p%d", i), args)
	if n%2 == 0 {
		p.Spec.SchedulerName = "packing"
	}
	if n%7 == 0 {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80, Protocol: corev1.ProtocolTCP}}
	}
	if n%4 < 2 {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	}
	topology := []string{"zone", corev1.LabelHostname}[n/3%2]
	if n%6 == 3 {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: topology, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: metav1.SetAsLabelSelector(p.Labels),
		}}
	}
	if n%8 == 6 {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: metav1.SetAsLabelSelector(p.Labels), TopologyKey: topology,
		}}}}
	}
	if n%4 == 1 {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": string(rune('a' + n%2))}}, TopologyKey: []string{"zone", corev1.LabelHostname}[n%2],
		}}}}
	}
	return p
}

// checkRequired gives how many pods are bound, and how many of them are being evicted.
func checkRequired(r *rapid.T, b *clienttest.Bench) (bound, evicted int) {
	nodes, free, users := map[string]*corev1.Node{}, map[string]int64{}, map[string]string{}
	for _, o := range b.Objects(client.Nodes) {
		n := o.(*corev1.Node)
		nodes[n.Name], free[n.Name] = n, n.Status.Allocatable.Cpu().MilliValue()
	}
	var pods []*corev1.Pod
	for _, o := range b.Objects(client.Pods) {
		p := o.(*corev1.Pod)
		if p.Spec.NodeName == "" {
			continue
		}
		pods = append(pods, p)
		if p.DeletionTimestamp != nil {
			evicted++
		}
		node := nodes[p.Spec.NodeName]
		if free[node.Name] -= p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue(); free[node.Name] < 0 {
			r.Fatalf("%s is overcommitted by %dm", node.Name, -free[node.Name])
		}
		for _, v := range p.Spec.Volumes {
			checkClaim(r, b, p, node, v.PersistentVolumeClaim.ClaimName, users)
		}
	}
	for _, p := range pods {
		for _, other := range pods {
			if p != other && unwanted(p, other, nodes) {
				r.Fatalf("%s on %s does not want %s, which is on %s", p.Name, p.Spec.NodeName, other.Name, other.Spec.NodeName)
			}
		}
	}
	return len(pods), evicted
}

func checkClaim(r *rapid.T, b *clienttest.Bench, p *corev1.Pod, node *corev1.Node, name string, users map[string]string) {
	claim := b.Object(client.PersistentVolumeClaims, "demo", name).(*corev1.PersistentVolumeClaim)
	v := b.Object(client.PersistentVolumes, "", claim.Spec.VolumeName).(*corev1.PersistentVolume)
	if err := volume.CheckNodeAffinity(v, node.Labels); err != nil {
		r.Fatalf("%s is on %s, and its volume %s cannot be reached from there", p.Name, node.Name, v.Name)
	}
	if claim.Spec.AccessModes[0] != corev1.ReadWriteOncePod {
		return
	}
	if other := users[name]; other != "" {
		r.Fatalf("%s and %s both have the claim %s, which is for one pod", p.Name, other, name)
	}
	users[name] = p.Name
}

// unwanted reports whether one of two pods has required anti-affinity to the other where it is.
func unwanted(p, other *corev1.Pod, nodes map[string]*corev1.Node) bool {
	if p.Spec.Affinity == nil || p.Spec.Affinity.PodAntiAffinity == nil {
		return false
	}
	for _, term := range p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if term.TopologyKey != corev1.LabelHostname { // nodes get other zones
			continue
		}
		a, b := nodes[p.Spec.NodeName].Labels[term.TopologyKey], nodes[other.Spec.NodeName].Labels[term.TopologyKey]
		if a == b && labels.SelectorFromSet(term.LabelSelector.MatchLabels).Matches(labels.Set(other.Labels)) {
			return true
		}
	}
	return false
}
