package tui

import (
	"strings"
	"testing"

	"kviz/cluster/control"
	"kviz/tui/tuitest"
)

// breakable is a cluster with two API servers.
type breakable struct{ *tuitest.Cluster }

func (breakable) Faults() []control.FaultKind {
	return []control.FaultKind{
		{Name: "fill", Target: "member", Heals: "free"},
		{Name: "fill", Target: "audit", Heals: "free"},
		{Name: "free", Target: "member"},
		{Name: "free", Target: "audit"},
		{Name: "cut", Target: "member", Args: "[MEMBER…]"},
		{Name: "cut", Target: "node"},
		{Name: "delay", Target: "member", Args: "PEER DURATION"},
		{Name: "pressure", Target: "node", Args: "memory|disk|pid"},
		{Name: "slow", Target: "member", Args: "DURATION"},
	}
}

func (breakable) Targets() []string {
	return []string{"apiserver", "apiserver/b", "audit", "audit/b", "member/a", "member/b", "member/c", "node/node-1"}
}

// A line is completed from the cluster's own language, catalogue and targets, so also by
// the files of a second API server.
func TestWordsComplete(t *testing.T) {
	d := explore(t, 120, 40, -1, func(cfg *Config) { cfg.Cluster = breakable{cfg.Cluster.(*tuitest.Cluster)} })
	for line, want := range map[string]string{
		"kviz fau":                      "fault",
		"kviz fault f":                  "fill free",
		"kviz fault l":                  "list",
		"kviz fault fill ":              "audit audit/b member/a member/b member/c",
		"kviz fault fill audit/":        "audit/b",
		"kviz fault free au":            "audit audit/b",
		"kviz fault cut ":               "member/a member/b member/c node/node-1",
		"kviz fault cut member/a ":      "b c",
		"kviz fault cut member/a b ":    "b c",
		"kviz fault cut node/node-1 ":   "",
		"kviz fault delay member/b ":    "a c",
		"kviz fault delay member/b a ":  "",
		"kviz fault pressure node/n":    "node/node-1",
		"kviz fault pressure x m":       "memory",
		"kviz fault slow member/a ":     "",
		"kviz fault nonsense ":          "",
		"kviz fault fill audit/b some ": "",
	} {
		if got := strings.Join(d.m.drawer.Complete(line, d.m.travel.State(), d.m.cluster), " "); got != want {
			t.Errorf("%q is completed by %q, want %q", line, got, want)
		}
	}
	for line, want := range map[string]string{
		"k":                                    "kill kubectl kviz",
		"kubectl ":                             "describe get rollout",
		"kubectl rollout ":                     "status undo",
		"kubectl get no":                       "nodes",
		"kubectl get nodes node-1":             "node-1",
		"kubectl rollout status deploym":       "deployments",
		"kviz why ":                            "",
		"kviz why --":                          "--full",
		"kviz apiserver ":                      "audit remove",
		"kviz apiserver --server apiserver/b ": "audit remove",
		"on node-":                             "node-1 node-2 node-3",
		"on node-1 ":                           "crictl iptables-save",
		"on node-1 crictl ":                    "",
		"nft ":                                 "",
	} {
		if got := strings.Join(d.m.drawer.Complete(line, d.m.travel.State(), d.m.cluster), " "); got != want {
			t.Errorf("%q is completed by %q, want %q", line, got, want)
		}
	}
	d.press(":").typed("kviz fault fill audit/").press("tab").press("enter")
	d.m.safe.Wait()
	d.asked("exec kviz fault fill audit/b")
	d.m.connect(nil, nil) // while it boots
	if got := d.m.drawer.Complete("kviz fault f", d.m.travel.State(), d.m.cluster); len(got) > 0 {
		t.Errorf("without a cluster there are %q", got)
	}
}
