package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/tui/tuitest"
)

// acted is a tape on which a cluster does, step by step, what a tour's commands lead to.
type acted struct {
	*tuitest.Tape
	ends []int // after so many events each step is over
}

// step adds what happens next, as long after the step before as it takes; nothing happens in some, but that time passes.
func (a *acted) step(after time.Duration, does ...func()) {
	a.After(after)
	for _, do := range does {
		do()
	}
	if len(does) == 0 {
		a.Renew("kube-node-lease", "node-1")
	}
	a.ends = append(a.ends, int(a.Stream.Len()))
}

func (a *acted) deployment(wants, available int32) func() {
	return func() {
		d := tuitest.Deployment(wants, available)
		d.Namespace, d.Name, d.Status.Replicas, d.Status.AvailableReplicas = "demo", "hello-deploy", available, available
		a.Commit(tuitest.Ref("Deployment", "demo", "hello-deploy"), "deployments", d)
	}
}

func (a *acted) replicaset(wants, available int32) func() {
	return func() {
		r := tuitest.ReplicaSet(wants, wants, available)
		r.Namespace, r.Name = "demo", "hello-deploy-6566"
		r.Status = appsv1.ReplicaSetStatus{Replicas: wants, AvailableReplicas: available}
		a.Commit(tuitest.Ref("ReplicaSet", "demo", r.Name), "replicasets", r)
	}
}

// pod adds a pod, or marks one as one that is being deleted.
func (a *acted) pod(name string, ends bool) func() {
	return func() {
		p := tuitest.Pod("demo", name, "hello-deploy-6566", "node-1", "Ready", "10.244.1.2")
		if ends {
			p.DeletionTimestamp = &metav1.Time{Time: tuitest.Epoch}
		}
		a.Commit(tuitest.Ref("Pod", "demo", name), "pods", p)
	}
}

func (a *acted) gone(kind, resource, name string) func() {
	return func() { a.Commit(tuitest.Ref(kind, "demo", name), resource, nil) }
}

func (a *acted) node(name string, ready corev1.ConditionStatus) func() {
	return func() {
		n := tuitest.Node(name, "4")
		n.Status.Conditions[0].Status = ready
		a.Commit(tuitest.Ref("Node", "", name), "nodes", n)
	}
}

// The tours as they are told: each of their commands, and each change that comes of it once it has happened, in a sentence of
// its own that stays for as long as it takes to read it; at 80x24 the same.
func TestToursAreTold(t *testing.T) {
	acts := map[string]func(a *acted){
		"declarative": func(a *acted) {
			a.step(time.Second, a.deployment(2, 0))
			a.step(time.Millisecond, a.replicaset(2, 0))
			a.step(time.Millisecond, a.pod("hello-deploy-1", false), a.pod("hello-deploy-2", false))
			a.step(2*time.Second, a.replicaset(2, 2), a.deployment(2, 2))
			a.step(8 * time.Second) // the next leg but one begins
			a.step(time.Second, a.deployment(3, 2), a.pod("hello-deploy-3", false))
			a.step(2*time.Second, a.replicaset(3, 3), a.deployment(3, 3))
			a.step(time.Second, a.replicaset(3, 0))
			a.step(2*time.Second, a.replicaset(3, 3))
			a.step(7 * time.Second)
			a.step(time.Second, a.gone("Pod", "pods", "hello-deploy-3"), a.replicaset(2, 2), a.deployment(2, 2))
			a.step(9 * time.Second)
		},
		"convergence": func(a *acted) {
			for n := 1; n <= 3; n++ {
				a.node(fmt.Sprintf("node-%d", n), "True")()
			}
			a.step(time.Second, a.replicaset(2, 0), a.deployment(2, 0), a.pod("hello-deploy-1", false), a.pod("hello-deploy-2", false))
			a.step(3*time.Second, a.replicaset(2, 2), a.deployment(2, 2))
			a.step(time.Millisecond, a.deployment(2, 0), a.pod("hello-deploy-1", true), a.pod("hello-deploy-2", true), a.pod("hello-deploy-3", false), a.pod("hello-deploy-4", false))
			a.step(2*time.Second, a.gone("Pod", "pods", "hello-deploy-1"), a.gone("Pod", "pods", "hello-deploy-2"), a.deployment(2, 2))
			a.step(9 * time.Second)
			a.step(time.Millisecond, a.replicaset(5, 2))
			a.step(time.Second, a.replicaset(2, 2))
			a.step(9 * time.Second)
			a.step(40*time.Second, a.node("node-1", "Unknown"))
			a.step(300*time.Second, a.pod("hello-deploy-3", true), a.pod("hello-deploy-5", false))
			a.step(200 * time.Second)
			a.step(9*time.Second, a.node("node-1", "True"), a.gone("Pod", "pods", "hello-deploy-3"))
			a.step(25 * time.Second)
		},
		"distributed": func(a *acted) {
			a.step(time.Second)
			a.step(time.Millisecond, func() { a.Down("a", "crashed") })
			a.step(500*time.Millisecond, func() { a.Elect("b") })
			a.step(4 * time.Second)
			a.step(4 * time.Second)
			a.step(time.Millisecond, func() { a.Down("b", "crashed") })
			a.step(3 * time.Second)
			a.step(4 * time.Second)
			a.step(time.Millisecond, func() { a.Members("a", "b") })
			a.step(500*time.Millisecond, func() { a.Elect("c") })
			a.step(9 * time.Second)
			a.step(9 * time.Second)
		},
	}
	for name, act := range acts {
		t.Run(name, func(t *testing.T) {
			told := toured(t, name, act, 120, 40)
			tuitest.Golden(t, "narration-"+name, told)
			if small := toured(t, name, act, 80, 24); small != told {
				t.Errorf("at 80x24 something else is told:\n%s", small)
			}
			for _, l := range tourOf(name).legs {
				says := []string{l.says}
				for _, x := range l.then {
					says = append(says, x.says)
				}
				for _, said := range says {
					if !strings.Contains(told, said) {
						t.Errorf("%q is not told", said)
					}
				}
			}
		})
	}
}

// toured is what the explanation line tells while a tour goes on, each sentence with how long it stays, and the commands.
func toured(t *testing.T, name string, act func(*acted), w, h int) string {
	t.Helper()
	a := &acted{Tape: tuitest.Calm(3, 3)}
	begun := int(a.Stream.Len())
	act(a)
	c := tuitest.NewCluster(a.Tape, begun)
	d := exploreCluster(t, c, w, h, func(c *Config) { c.Preset = "" })
	d.press(map[string]string{"declarative": "f2", "convergence": "f3", "distributed": "f4"}[name]).settle()
	type sentence struct {
		says   string
		stayed time.Duration
	}
	var all []sentence
	look := func() {
		before := d.m.moving.teller.Now()
		d.m.history().CatchUp(0)
		d.m.pull(d.m.rate())
		d.settle()
		said := d.m.notice.text
		if said == "" && d.m.moving.teller.Saying() { // what the tour says; the rest is the narration's
			said = d.m.explain().Words
		}
		switch n := len(all); {
		case said == "":
			return
		case n == 0 || all[n-1].says != said:
			all = append(all, sentence{says: said})
		}
		all[len(all)-1].stayed += d.m.moving.teller.Now() - before
	}
	played := begun
	for _, end := range append(a.ends, a.ends[len(a.ends)-1]) {
		for range 6 * 30 { // longer than any sentence stays
			look()
		}
		c.Play(end - played)
		played = end
	}
	var told strings.Builder
	legs, at := tourOf(name).legs, 0
	var commands []string
	for _, asked := range c.Asked {
		if line, ok := strings.CutPrefix(asked, "exec "); ok {
			commands = append(commands, line)
		}
	}
	for _, x := range all {
		if at < len(legs) && x.says == legs[at].says {
			fmt.Fprintf(&told, "$ %s\n", commands[at])
			at++
		}
		fmt.Fprintf(&told, "  %s (%s)\n", x.says, x.stayed.Round(time.Second))
	}
	return told.String()
}
