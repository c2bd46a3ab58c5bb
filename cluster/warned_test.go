package cluster_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// The warnings that one kubectl gets are printed by that one, also while others run in the
// same process.
func TestKubectlsAreWarnedApart(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		var told [2]string
		var both sync.WaitGroup
		for i := range told {
			c := boot(t, cluster.Config{Seed: uint64(i + 1), Bare: true, Nodes: 1})
			both.Go(func() {
				for n := range 15 {
					told[i] += run(t, c, fmt.Sprintf(`echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"warned-%d"},"only%d":1}' | kubectl create --validate=warn -f - 2>&1`, n, i))
				}
			})
		}
		both.Wait()
		for i, text := range told {
			mine, others := strings.Count(text, fmt.Sprintf(`unknown field "only%d"`, i)), strings.Count(text, fmt.Sprintf(`unknown field "only%d"`, 1-i))
			if mine != 15 || others != 0 {
				t.Errorf("kubectl %d told %d warnings of its own and %d of the other's:\n%s", i, mine, others, text)
			}
		}
	})
}
