package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/view"
	"kviz/raftstore/steady"
)

// The rules that are folded from the trace stand in each chain as iptables prints them, also
// after Services came and went and their pods changed.
func TestRulesStandAsIPTablesHasThem(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 61, Bare: true})
		same := func() {
			t.Helper()
			h := view.NewHistory(c.Trace())
			h.CatchUp(0)
			node, compared := h.Latest().Node("node-1"), 0
			for _, table := range node.Tables() {
				saved := map[string][]string{}
				for _, line := range strings.Split(run(t, c, "on node-1 iptables-save -t "+table), "\n") {
					if rule, ok := strings.CutPrefix(line, "-A "); ok {
						chain, _, _ := strings.Cut(rule, " ")
						saved[chain] = append(saved[chain], strings.TrimSpace(line))
					}
				}
				for _, chain := range node.Chains(table) {
					var rules []string
					for _, r := range chain.Rules() {
						rules = append(rules, strings.TrimSpace(r.Text))
					}
					compared += len(rules)
					if !slices.Equal(rules, saved[chain.Name]) {
						t.Errorf("chain %s of %s is folded as\n%s\nand iptables has\n%s", chain.Name, table, strings.Join(rules, "\n"), strings.Join(saved[chain.Name], "\n"))
					}
				}
			}
			if compared == 0 {
				t.Error("no rule was compared")
			}
		}
		run(t, c, "kubectl create deployment hello --image=nginx --replicas=2\nkubectl expose deployment hello --port=80 --type=NodePort\nsleep 20\n")
		same()
		run(t, c, "kubectl create deployment b --image=nginx\nkubectl expose deployment b --port=80\nkubectl create service nodeport a --tcp=80:80\nkubectl scale deployment hello --replicas=4\nsleep 20\n")
		same()
		run(t, c, "kubectl delete service hello\nkubectl expose deployment hello --port=8080 --name=aaa --type=NodePort\nsleep 10\n")
		same()
	})
}
