package cluster_test

import (
	"os"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/fault"
	"kviz/raftstore/steady"
)

// What every fault does is felt, and what mends it mends it:
// testdata/every-fault.sh, every-store-fault.sh and every-cloud-fault.sh, each in a cluster of its
// own, the last in one whose machines are instances of a cloud. A fault of the catalogue that no section tries fails the test.
func TestEveryFaultIsFelt(t *testing.T) {
	t.Parallel()
	untried := map[string]bool{}
	for _, f := range fault.Catalogue() {
		untried[f.Name+" "+f.Target] = true
	}
	for _, file := range []string{"every-fault", "every-store-fault", "every-cloud-fault"} {
		t.Run(file, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				b, err := os.ReadFile("testdata/" + file + ".sh")
				if err != nil {
					t.Fatal(err)
				}
				c := boot(t, cluster.Config{Seed: 5, NoSync: true, External: file == "every-cloud-fault"})
				feel(t, c, strings.Split(string(b), "\n##"), untried)
			})
		})
	}
	for pair := range untried {
		t.Errorf("no section of testdata/every-fault.sh, every-store-fault.sh or every-cloud-fault.sh tries %s", pair)
	}
}

// feel runs the sections of a file, the first before each of the others.
func feel(t *testing.T, c *cluster.Cluster, sections []string, untried map[string]bool) {
	for _, s := range sections[1:] {
		title, script, _ := strings.Cut(s, "\n")
		for _, pair := range strings.Split(strings.TrimSpace(title), ", ") {
			name, kind, ok := strings.Cut(pair, " ")
			if ok && !strings.Contains(script, "kviz fault "+name+" "+kind) {
				t.Errorf("section %q does not try %s", title, pair)
			}
			delete(untried, pair)
		}
		t.Log(strings.TrimSpace(title))
		run(t, c, sections[0]+"\n"+script)
	}
}
