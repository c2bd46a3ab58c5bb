package expr_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kviz/cluster/expr"
	"kviz/raftstore/steady"
)

// What is typed is completed: the names that an expression begins with, fields at any depth,
// kinds of events, and what there is in the cluster.
func TestComplete(t *testing.T) {
	s, _ := small()
	for _, c := range []struct {
		src  string
		want string // what completes it, with | between
	}{
		{`sto`, `store`},
		{`store.leade`, `store.leader`},
		{`store.quorum.o`, `store.quorum.ok`},
		{`store.leader == "`, `store.leader == "a"|store.leader == "b"|store.leader == "c"`},
		{`store.members["a"].ro`, `store.members["a"].role`},
		{`1 < 2 && store.members.a.ro`, `1 < 2 && store.members.a.role`},
		{`nodes["`, `nodes["node-1"`},
		{`nodes.`, `nodes["node-1"]`},
		{`nodes["node-1"].rules`, `nodes["node-1"].rules`},
		{`event.ki`, `event.kind`},
		{`event.kind == "sched.d`, `event.kind == "sched.decision"`},
		{`event.kind == "sched.decision" && event.payload.no`, `event.kind == "sched.decision" && event.payload.node|event.kind == "sched.decision" && event.payload.nominated`},
		{`event.payload.stage == "val`, `event.payload.stage == "validating-admission"|event.payload.stage == "validation"`},
		{`event.object.kind == "D`, `event.object.kind == "Deployment"`},
		{`event.object.name == "web-`, `event.object.name == "web-1"|event.object.name == "web-2"`},
		{`object("dep`, `object("deployments"`},
		{`object("pods", "`, `object("pods", "demo"`},
		{`object("pods", "demo", "web-1`, `object("pods", "demo", "web-1"`},
		{`object("deployments", "demo", "web").status.readyR`, `object("deployments", "demo", "web").status.readyReplicas`},
		{`object("pods", "demo", "web-1").status.phase == "Ru`, `object("pods", "demo", "web-1").status.phase == "Running"`},
		{`objects("pods", "demo").al`, `objects("pods", "demo").all(x, `},
		{`objects("pods", "demo").all(pod1, po`, `objects("pods", "demo").all(pod1, pod("|objects("pods", "demo").all(pod1, pod1`},
		{`objects("pods", "demo").all(p, p.metadata.na`, `objects("pods", "demo").all(p, p.metadata.name|objects("pods", "demo").all(p, p.metadata.namespace`},
		{`objects("pods", "demo").all(p, p.status.conditions.exists(c, c.ty`, `objects("pods", "demo").all(p, p.status.conditions.exists(c, c.type`},
		{`faults.exists(f, f.tar`, `faults.exists(f, f.target`},
		{`pod("demo/`, `pod("demo/web-1"`},
		{`key("/registry/d`, `key("/registry/deployments/demo/web"`},
		{`store.leader == "b" `, ``}, // nothing is begun
		{`nosuch.`, ``},
	} {
		head, words := expr.Complete(c.src, s)
		var got []string
		for _, w := range words {
			got = append(got, head+w)
		}
		if c.want == "" && c.src == `store.leader == "b" ` {
			if !slices.Contains(words, "store") {
				t.Errorf("after a blank, %q", words)
			}
			continue
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s\n is completed by %q\nwant %q", c.src, got, c.want)
		}
	}
}

// Whatever is typed, completing it does no harm, and without a cluster there are the names of
// the language.
func TestCompleteAnything(t *testing.T) {
	s, _ := small()
	if _, words := expr.Complete("store.t", nil); !slices.Contains(words, "term") {
		t.Errorf("without a state, store.t is completed by %q", words)
	}
	parts := []string{"store", ".", "[", "]", "(", ")", `"`, "'", "nodes", "object", "pods", ",", " ", "event.payload", "all(p, p", "==", "é", `\`}
	steady.Check(t, func(r *rapid.T) {
		src := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 12).Draw(r, "parts"), "")
		if head, _ := expr.Complete(src, s); !strings.HasPrefix(src, head) {
			r.Fatalf("%q is completed after %q", src, head)
		}
	})
}

// A field that is misspelt is refused with the nearest name, also where it depends on the kind of
// the event, or on that of the object.
func TestMisspeltFieldsOfPayloadsAndObjects(t *testing.T) {
	for src, want := range map[string]string{
		`event.payload.stgae == "storage"`:                                               `no payload has a "stgae"; did you mean "stage"?`,
		`event.kind == "api.stage" && event.payload.stgae == "storage"`:                  `the payload of api.stage has no "stgae"; did you mean "stage"?`,
		`event.kind == "api.stage" && event.payload.node == "a"`:                         `the payload of api.stage has no "node"`,
		`event.payload.node == "a" || event.kind == "api.stage"`:                         ``, // of another kind
		`event.kind == "api.stage" && (event.payload.stage == "a" || event.payload.nod)`: `has no "nod"`,
		`event.kind in ["sched.bind", "api.stage"] && event.payload.node == "node-1"`:    ``,
		`event.kind == "run.ready" && event.payload.node == "a"`:                         `run.ready has no payload`,
		`object("deployments", "demo", "web").status.readyReplica == 3`:                  `has no "readyReplica"; did you mean "readyReplicas"?`,
		`object("deploy", "demo", "web").spec.template.spec.container.size() == 1`:       `has no "container"; did you mean "containers"?`,
		`objects("pods", "demo").all(p, p.status.phsae == "Running")`:                    `has no "phsae"; did you mean "phase"?`,
		`objects("pods").exists(p, p.status.conditions.exists(c, c.typ == "Ready"))`:     `has no "typ"; did you mean "type"?`,
		`object("pods", "demo", "web").metadata.labels.whatever == "x"`:                  ``,
		`object("pods", "demo", "web").metadata.labels["a.b/c"] == "x"`:                  ``,
		`object("pods", "demo", "web").spec.containers[0].imag == "x"`:                   `has no "imag"; did you mean "image"?`,
		`object("widgets", "demo", "web").spec.anything == "x"`:                          ``, // as its definition says
		`object("configmaps", "demo", "web").data.key == "x"`:                            ``,
		`object("pods", "demo", "web").status.startTime != ""`:                           ``,
	} {
		_, err := expr.Compile(src)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s\ngives %v\nwant  %s", src, err, want)
		}
	}
}
