package expr_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/expr"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// small is the state of a small cluster, and its last event.
func small() (*view.State, *trace.Event) {
	b := view.NewBuilder()
	seq := uint64(0)
	at := time.Duration(0)
	emit := func(k trace.Kind, lane string, payload any) {
		id := trace.ID{Seq: seq, Sub: 1}
		if !k.Info().Outside {
			seq++
			id = trace.ID{Seq: seq}
		}
		at += time.Second
		c, i, _ := strings.Cut(lane, "/")
		b.Apply(&trace.Event{
			ID: id, At: at, Lane: trace.Lane{Component: c, Instance: i}, Kind: k, Payload: payload,
			Object: trace.Ref{APIVersion: "v1", Kind: "Pod", Namespace: "demo", Name: "web-1"},
		})
	}
	for _, m := range []string{"a", "b", "c"} {
		role := "follower"
		if m == "b" {
			role = "leader"
		}
		emit(trace.MemberRole, "member/"+m, &trace.MemberState{Member: m, Role: role, Term: 4, Leader: "b", Last: 9})
	}
	emit(trace.MemberDown, "member/c", &trace.MemberState{Member: "c", Role: "stopped"})
	emit(trace.FaultInjected, "kviz", &trace.Fault{Fault: "stop", Target: "member/c"})
	ready := int32(2)
	for i, name := range []string{"web-1", "web-2"} {
		emit(trace.StoreCommit, "store", &trace.Commit{Revision: int64(10 + i), Changes: []trace.KeyChange{{
			Key:    "/registry/pods/demo/" + name,
			Object: trace.Ref{Kind: "Pod", Namespace: "demo", Name: name}, Value: trace.Obj(&corev1.Pod{
				TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
				ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "demo"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
			}),
		}}})
	}
	emit(trace.StoreCommit, "store", &trace.Commit{Revision: 12, Changes: []trace.KeyChange{{
		Key:    "/registry/deployments/demo/web",
		Object: trace.Ref{Kind: "Deployment", Namespace: "demo", Name: "web"}, Value: trace.Obj(&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "demo"}, Spec: appsv1.DeploymentSpec{Replicas: &ready},
			Status: appsv1.DeploymentStatus{ReadyReplicas: 2},
		}),
	}}})
	emit(trace.NodeStatus, "kubelet/node-1", &trace.NodeReport{Node: "node-1", By: "kubelet", Ready: "True", Taints: []string{"dedicated=gpu:NoSchedule"}})
	emit(trace.ContainerChange, "kubelet/node-1", &trace.ContainerState{Node: "node-1", Pod: "demo/web-1", Container: "web", State: "running", Restarts: 3})
	emit(trace.RuleChange, "proxy/node-1", &trace.Rule{Node: "node-1", Table: "nat", Chain: "KUBE-SERVICES", Text: "-A KUBE-SERVICES -d 10.96.0.10/32 -j KUBE-SVC-X", Service: "demo/web:http"})
	emit(trace.QueueAdd, "replicaset-controller", &trace.QueueItem{Queue: "replicaset", Key: "demo/web", Ready: 1})
	emit(trace.SchedDecision, "scheduler", &trace.Decision{Pod: "demo/web-1", Node: "node-1", Total: 498})
	s := b.Mark()
	return s, s.Event
}

func TestWhatExpressionsSee(t *testing.T) {
	s, e := small()
	for src, want := range map[string]bool{
		`store.leader == "b" && store.term == 4`:                              true,
		`store.members["b"].role == "leader"`:                                 true,
		`store.members["c"].up`:                                               false,
		`store.members.exists(m, store.members[m].role == "stopped")`:         true,
		`store.quorum.have == 2 && store.quorum.ok && store.quorum.need == 2`: true,
		`store.revision > 11 && store.revision < 12.5`:                        true,
		`objects("pods", "demo").size() == 2`:                                 true,
		`objects("pods").all(p, p.status.phase == "Running")`:                 true,
		`objects("Pod", "other").size() == 0`:                                 true,
		`object("deployments", "demo", "web").status.readyReplicas == object("deploy", "demo", "web").spec.replicas`:  true,
		`object("deployments", "demo", "none") == null`:                                                               true,
		`object("deployments", "demo", "none").status.readyReplicas == 1`:                                             false,
		`!has(object("deployments", "demo", "web").status.conditions)`:                                                true,
		`object("pods", "demo", "web-1").status.podIP != ""`:                                                          false, // missing, so nothing is known
		`has(object("pods", "demo", "web-1").status.podIP)`:                                                           false,
		`queues["replicaset"].depth == 1 && queues["replicaset"].waiting[0].key == "demo/web"`:                        true,
		`queues["nosuch"].depth == 0`:                                                                                 false,
		`"replicaset" in queues && queues.size() == 1`:                                                                true,
		`nodes["node-1"].ready && nodes["node-1"].taints.exists(t, t.startsWith("dedicated"))`:                        true,
		`nodes["node-1"].rules.exists(r, r.service == "demo/web:http" && r.text.contains("KUBE-SVC"))`:                true,
		`nodes["node-1"].pods["demo/web-1"].containers["web"].restarts == 3`:                                          true,
		`pod("demo/web-1").containers["web"].state == "running"`:                                                      true,
		`pod("demo/web-9") == null`:                                                                                   true,
		`faults.exists(f, f.target == "member/c" && f.fault == "stop")`:                                               true,
		`event.kind == "sched.decision" && event.payload.node == "node-1" && event.payload.total > 400`:               true,
		`event.object.name == "web-1" && event.lane == "scheduler" && event.grain == "decision"`:                      true,
		`time > duration("3s") && time < duration("1h")`:                                                              true,
		`clock.paused || clock.speed == 1.0`:                                                                          true,
		`run.ready`:                                                                                                   false,
		`scheduler.unschedulable == 0 && lanes["scheduler"].events == 1`:                                              true,
		`event.id == "9" || event.number == 8`:                                                                        true,
		`objects("pods", "demo").filter(p, p.metadata.name.endsWith("-2")).map(p, p.metadata.namespace)[0] == "demo"`: true,
	} {
		p, err := expr.Compile(src)
		if err != nil {
			t.Errorf("%s\n%v", src, err)
			continue
		}
		got, err := p.Eval(s, e)
		if err != nil || got != want {
			t.Errorf("%s is %v (%v), want %v", src, got, err, want)
		}
	}
}

func TestRefusalsSayWhereAndWhatIsKnown(t *testing.T) {
	for src, want := range map[string]string{
		`stroe.leader == "a"`:                      `column 1: unknown name "stroe"; did you mean "store"? (known: autoscalers, balancer, `,
		`store.leadr == "a"`:                       `column 6: store has no "leadr"; did you mean "leader"? (known: alarms, `,
		`store.members["a"].rol == "leader"`:       `store.members[…] has no "rol"; did you mean "role"?`,
		`nodes["node-1"].redy`:                     `nodes[…] has no "redy"; did you mean "ready"?`,
		`faults.exists(f, f.tarket == "member/a")`: `f has no "tarket"; did you mean "target"?`,
		`event.kind == "sched.decide"`:             `column 15: there is no event kind "sched.decide"; did you mean "sched.decision"?`,
		`store.leader`:                             ``, // a text: found when it is evaluated
		`1 + 1`:                                    `it is a int, but must be true or false`,
		`objects("pods", )`:                        `column 17`,
		`objects(1)`:                               `objects is used so: objects("pods", "demo")`,
		`store.leader == `:                         `column`,
		`   `:                                      `it is empty`,
		`event.lane.component == "x"`:              `event.lane is a plain text`,
		`store.commits.revision == 1`:              `store.commits is a list; it has no "revision"`,
	} {
		_, err := expr.Compile(src)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", src, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s\ngives %v\nwant  …%s…", src, err, want)
		}
	}
}

func TestAMistakeIsNotSilentlyFalse(t *testing.T) {
	s, e := small()
	for _, src := range []string{`store.leader > 3`, `store.leader`, `store.term.matches("x")`} {
		p, err := expr.Compile(src)
		if err != nil {
			continue // refused even earlier
		}
		if ok, err := p.Eval(s, e); err == nil {
			t.Errorf("%s is %v without a complaint", src, ok)
		}
	}
}

func TestEveryNameHasAMeaningAndAValue(t *testing.T) {
	s, e := small()
	for _, n := range expr.Names() {
		if n.Means == "" {
			t.Errorf("%s has no meaning", n.Name)
		}
		if _, err := expr.MustCompile(n.Name+` != "no such value"`).Eval(s, e); err != nil {
			t.Errorf("%s: %v", n.Name, err)
		}
	}
	if ok, err := expr.MustCompile(`event.kind == "sched.decision"`).Eval(s, nil); ok || err != nil {
		t.Errorf("without an event, event.kind is %v, %v", ok, err)
	}
}

func BenchmarkEval(b *testing.B) {
	s, e := small()
	for _, src := range []string{
		`event.kind == "queue.add" && event.payload.queue == "replicaset"`, `store.leader == "a"`,
		`object("deployments", "demo", "web").status.readyReplicas == 3`,
	} {
		p := expr.MustCompile(src)
		b.Run(src[:12], func(b *testing.B) {
			for b.Loop() {
				p.Eval(s, e)
			}
		})
	}
}
