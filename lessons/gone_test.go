package lessons_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/trace"
	"kviz/lessons"
	"kviz/tui/panes"
	"kviz/tui/tuitest"
)

// A goal that speaks of an object which is gone for good is a mistake, without a word of its author's; one whose object
// may come again, or is to be gone, is none.
func TestAGoalWhoseObjectIsGoneIsAMistake(t *testing.T) {
	web, set := tuitest.Ref("Deployment", "demo", "web"), tuitest.Ref("ReplicaSet", "demo", "web-7f9c")
	deployment := func(by string) runtime.Object {
		d := tuitest.Deployment(2, 2)
		d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: by}}
		return d
	}
	types := func(tape *tuitest.Tape, ends bool, does func(id trace.ID)) {
		id := tape.Emit(trace.CompSimulation, "", trace.CommandStart, trace.Ref{}, &trace.Command{Line: "kubectl delete", Source: "console"})
		does(id)
		if ends {
			tape.Emit(trace.CompSimulation, "", trace.CommandEnd, trace.Ref{}, &trace.Command{Line: "kubectl delete", Source: "console"}, id)
		}
	}
	deletes := func(tape *tuitest.Tape, ends bool) {
		types(tape, ends, func(id trace.ID) { tape.Commit(web, "deployments", nil, id) })
	}
	later := func(tape *tuitest.Tape, d time.Duration) {
		tape.After(d)
		broken(tape, "slow", "node/node-1")
	}
	const (
		scaled  = `object("deployments", "demo", "web") != null && object("deployments", "demo", "web").spec.replicas == 3`
		deleted = `object("deployments", "demo", "web") == null && store.leader == "nobody"`
		listed  = `object("replicasets", "demo", "web-7f9c") != null && store.leader == "nobody"`
		named   = `object("deployments", "demo", name) != null && store.leader == "nobody"`
		gone    = "Deployment web of namespace demo is gone, and nothing makes it again. It can no longer be so: all is well"
	)
	for _, c := range []struct {
		name, goal, offer, by string
		does                  func(tape *tuitest.Tape)
		want                  string
	}{
		{"it is deleted", scaled, "", "kubectl-create", func(tape *tuitest.Tape) { deletes(tape, true); later(tape, time.Second) }, gone},
		{"by a name of the lesson's", named, "", "kubectl-create", func(tape *tuitest.Tape) { deletes(tape, true); later(tape, time.Second) }, gone},
		{"the command runs", scaled, "", "kubectl-create", func(tape *tuitest.Tape) { deletes(tape, false); later(tape, time.Second) }, ""},
		{"the next command of the line may make it", scaled, "", "kubectl-create", func(tape *tuitest.Tape) { deletes(tape, true); later(tape, 10*time.Millisecond) }, ""},
		{"it was made again", scaled, "", "kubectl-create", func(tape *tuitest.Tape) {
			deletes(tape, true)
			types(tape, true, func(id trace.ID) { tape.Commit(web, "deployments", deployment("kubectl-create"), id) })
			later(tape, time.Second)
		}, ""},
		{"a controller made it", scaled, "", "kube-controller-manager", func(tape *tuitest.Tape) { deletes(tape, true); later(tape, time.Second) }, ""},
		{"the beat offers to make it", scaled, "kubectl create deployment web --image nginx", "kubectl-create", func(tape *tuitest.Tape) { deletes(tape, true); later(tape, time.Second) }, ""},
		{"it is to be gone", deleted, "", "kubectl-create", func(tape *tuitest.Tape) { deletes(tape, true); later(tape, time.Second) }, ""},
		{"its owner makes it again", listed, "", "kubectl-create", func(tape *tuitest.Tape) {
			types(tape, true, func(id trace.ID) { tape.Commit(set, "replicasets", nil, id) })
			later(tape, time.Second)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tape := tuitest.Calm(3, 3)
			tape.Commit(web, "deployments", deployment(c.by))
			tape.Commit(set, "replicasets", tuitest.ReplicaSet(2, 2, 2))
			offer := "kviz fault crash member/a"
			if c.offer != "" {
				offer = c.offer
			}
			text := beats("## A chapter\n", "## A chapter\n\n### Wait {#wait} do\n\nDo something.\n\n```stage\nshow: store/logs\nlet: {name: '\"web\"'}\n```\n\n```offer\n- "+offer+
				"\n```\n\n```goal\nid: well\nsay: all is well\nlevel: '"+c.goal+"'\nhints: [Look.]\n```\n")
			l, err := lessons.Parse("lesson.md", []byte(text), panes.Names())
			if err != nil {
				t.Fatal(err)
			}
			a := lessons.NewAttempt(l, tape.History().Latest(), tape.Stream, tape.Stream.Len())
			c.does(tape)
			for a.Look() {
			}
			_, words, at := a.Mistake()
			if words != c.want {
				t.Errorf("it says %q; want %q", words, c.want)
			}
			if e, _, ok := tape.Stream.At(at); words != "" && (!ok || e.Kind != trace.StoreCommit) {
				t.Errorf("it was noticed at #%s", at)
			}
			if runs := a.Runs(); runs != (c.want == "") {
				t.Errorf("the cluster runs: %v", runs)
			}
		})
	}
}
