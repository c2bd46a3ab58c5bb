package cluster

import (
	"strings"
	"testing"

	"kviz/cluster/network"
	"kviz/cluster/sim"
)

// iptables-save prints all tables, or the one that -t names.
func TestIptablesSaveOptions(t *testing.T) {
	n := &node{net: network.New(sim.New(sim.Config{})).AddNode("node-1", "192.168.0.11", "10.244.1.0/24", nil)}
	for _, tt := range []struct {
		args string
		exit int
		want []string // what the answer starts its tables, or its complaint, with
	}{
		{"", 0, []string{"*mangle", "*filter", "*nat"}},
		{"-t nat", 0, []string{"*nat"}},
		{"--table filter", 0, []string{"*filter"}},
		{"-t nut", 1, []string{`iptables-save: there is no table "nut": one of mangle, filter, nat`}},
		{"-c", 2, []string{`iptables-save: ["-c"] is not simulated: only -t TABLE is`}},
	} {
		var out, errOut strings.Builder
		exit := iptablesSave(n, append([]string{"iptables-save"}, strings.Fields(tt.args)...), &out, &errOut)
		var got []string
		for line := range strings.Lines(out.String() + errOut.String()) {
			if strings.HasPrefix(line, "*") || errOut.Len() > 0 {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if exit != tt.exit || strings.Join(got, "; ") != strings.Join(tt.want, "; ") {
			t.Errorf("iptables-save %s: exit %d, %q; want %d, %q", tt.args, exit, got, tt.exit, tt.want)
		}
	}
}
