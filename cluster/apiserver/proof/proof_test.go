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
)

// sides starts both servers.
func sides(t *testing.T) (upstream, kviz *side) {
	t.Helper()
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
	return upstream, kviz
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
	if only := os.Getenv("KVIZ_PROOF"); only != "" {
		scripts = slices.DeleteFunc(scripts, func(s script) bool { return !slices.Contains(strings.Split(only, ","), s.name) })
	}
	used, cases, equal := make([]int, len(different)), 0, 0
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			once := map[string]int{}
			for _, st := range s.steps {
				once[st.name]++
				if n := once[st.name]; n > 1 {
					st.name += fmt.Sprintf(" (%d)", n)
				}
				cases++
				a, err := upstream.ask(st)
				if err != nil {
					t.Fatal(err)
				}
				b, err := kviz.ask(st)
				if err != nil {
					t.Fatal(err)
				}
				want, got := normal(a), normal(b)
				which := listed(s.name, st.name)
				switch {
				case want == got:
					equal++
				case which >= 0:
					used[which]++
				default:
					t.Errorf("%s: %s (%s %s)\n(-kube-apiserver +kviz)\n%s", s.name, st.name, st.method, st.path, diff(want, got))
				}
			}
		})
	}
	listed := 0
	for i, n := range used {
		listed += n
		if d := different[i]; n == 0 && os.Getenv("KVIZ_PROOF") == "" {
			t.Errorf("%s: %s does not differ any more, though it was said that %s", d.script, d.step, d.why)
		}
	}
	t.Logf("%d cases of %d kinds: %d equal, %d differ for the %d reasons listed", cases, len(served), equal, listed, len(different))
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
