package cluster_test

import (
	"os"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/fault"
)

// What every fault does is felt, and what mends it mends it:
// testdata/every-fault.sh. A fault of the catalogue that no section tries fails
// the test.
func TestEveryFaultIsFelt(t *testing.T) {
	b, err := os.ReadFile("testdata/every-fault.sh")
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(b), "\n##")
	untried := map[string]bool{}
	for _, f := range fault.Catalogue() {
		for _, kind := range f.Targets {
			untried[f.Name+" "+kind] = true
		}
	}
	c := boot(t, cluster.Config{Seed: 5, NoSync: true})
	for _, s := range sections[1:] {
		title, script, _ := strings.Cut(s, "\n")
		pairs := strings.Split(strings.TrimSpace(title), ", ")
		for _, pair := range pairs {
			name, kind, ok := strings.Cut(pair, " ")
			if ok && !strings.Contains(script, "kviz fault "+name+" "+kind) {
				t.Errorf("section %q does not try %s", title, pair)
			}
			delete(untried, pair)
		}
		if !t.Run(strings.TrimSpace(title), func(t *testing.T) { run(t, c, sections[0]+"\n"+script) }) {
			t.FailNow() // what follows would begin with something broken
		}
	}
	for pair := range untried {
		t.Errorf("no section of testdata/every-fault.sh tries %s", pair)
	}
}
