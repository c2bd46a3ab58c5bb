package proof

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscovery "k8s.io/api/apidiscovery/v2"

	"kviz/raftstore/steady"
)

// sides starts both servers.
func sides(t *testing.T) (upstream, kviz *side) {
	t.Helper()
	steady.RealTime(t, "kube-apiserver knows no other time")
	upstream, stop, err := startUpstream(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	kviz, end, err := startKviz(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	upstream.patience, kviz.patience = steady.Patience(t), steady.Patience(t)
	return upstream, kviz
}

// chosen are the scripts of a run that names none in KVIZ_PROOF; all are run
// with KVIZ_PROOF=all.
var chosen = []string{
	"paths", "pages", "who may", "refusals", "nodes and what is theirs", "secrets of accounts", "questions", "namespaces and their end", "pods and what is beneath them", "evictions", "services and their addresses",
	"what comes first", "protobuf", "merging", "bodies", "configmaps", "services", "deployments.apps",
}

// The same requests to kube-apiserver and to kviz: the same answers, but for
// what is listed.
func TestTheyAnswerTheSame(t *testing.T) {
	upstream, kviz := sides(t)
	served, bare, err := kinds(discovered(t, kviz)...)
	if err != nil {
		t.Fatal(err)
	}
	if len(bare) > 0 {
		t.Errorf("served without a sample in testdata/kinds.yaml: %s", strings.Join(bare, ", "))
	}
	scripts := machinery()
	for _, k := range served {
		scripts = append(scripts, k.script())
	}
	only := os.Getenv("KVIZ_PROOF")
	if only != "all" {
		names := chosen
		if only != "" {
			names = strings.Split(only, ",")
		}
		scripts = slices.DeleteFunc(scripts, func(s script) bool { return !slices.Contains(names, s.name) })
	}
	known, err := differences()
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{known: known, used: map[string]int{}}
	cases, equal, differ := 0, 0, 0
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			seen := map[string]int{}
			for _, st := range s.steps {
				seen[st.name]++
				if n := seen[st.name]; n > 1 {
					st.name += fmt.Sprintf(" (%d)", n)
				}
				cases++
				switch want, got := both(t, upstream, kviz, st); {
				case want == got:
					equal++
				case l.allows(s.name, st.name):
					differ++
					if testing.Verbose() {
						t.Logf("known: %s: %s (%s %s)\n(-kube-apiserver +kviz)\n%s", s.name, st.name, st.method, st.path, diff(want, got))
					}
				default:
					t.Errorf("%s: %s (%s %s)\n(-kube-apiserver +kviz)\n%s", s.name, st.name, st.method, st.path, diff(want, got))
				}
			}
		})
	}
	if only == "" || only == "all" {
		for _, s := range l.stale(scripts, only == "all") {
			t.Error(s)
		}
	}
	t.Logf("%d cases of %d kinds: %d equal, %d differ for the %d reasons listed", cases, len(served), equal, differ, len(known))
}

// both are the two answers to a step's request.
func both(t *testing.T, upstream, kviz *side, st step) (want, got string) {
	t.Helper()
	a, err := upstream.ask(st)
	if err != nil {
		t.Error(err)
	}
	b, err := kviz.ask(st)
	if err != nil {
		t.Error(err)
	}
	return normal(a), normal(b)
}

// discovered is what a server says that it serves.
func discovered(t *testing.T, s *side) []apidiscovery.APIGroupDiscoveryList {
	t.Helper()
	docs := make([]apidiscovery.APIGroupDiscoveryList, 2)
	for i, path := range []string{"/api", "/apis"} {
		a, err := s.ask(step{method: "GET", path: path, accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"})
		if err == nil {
			err = json.Unmarshal(a.body, &docs[i])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return docs
}

func diff(want, got string) string {
	return cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))
}
