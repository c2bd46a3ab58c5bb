package cluster_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// What is mounted from ConfigMaps and Secrets changes under a running container, as far as it
// does in Kubernetes.
func TestConfigVolumesAreRenewed(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 52, Bare: true, Nodes: 1})
		golden(t, "config-volumes", typed(t, c, "testdata/config-volumes.txt", drawn, []varies{
			{regexp.MustCompile(`(?m) +([0-9]+s ago\)|[0-9]+s)( +[0-9]+s)?$`), "  AGE"},
		}))
		updated := map[string]bool{}
		all := everything(t, c)
		for _, e := range all {
			if p, ok := e.Payload.(*trace.PodStep); ok && p.What == "volume updated" {
				updated[p.Detail+" by "+typedAt(all, e)] = true
			}
		}
		for _, want := range []string{"cmv: f, k, new by kubectl patch cm", "sv: pw by kubectl replace", "proj: labels by kubectl label", "proj: f, k, new, pw by kubectl patch cm", "cmv: new by kubectl patch cm"} {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(updated)), func(had string) bool { return strings.HasPrefix(had, want) }) {
				t.Errorf("no update of %s; there are %q", want, slices.Sorted(maps.Keys(updated)))
			}
		}
	})
}

// typedAt is the command that an event's first causes lead back to.
func typedAt(all []*trace.Event, e *trace.Event) string {
	by := map[trace.ID]*trace.Event{}
	for _, e := range all {
		by[e.ID] = e
	}
	for e != nil && len(e.Causes) > 0 {
		e = by[e.Causes[0]]
	}
	if e == nil {
		return "nobody"
	}
	if p, ok := e.Payload.(*trace.Command); ok {
		return p.Line
	}
	return string(e.Kind)
}
