package cluster_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// The life of a claim as a person types it: testdata/storage.txt. The driver is called in the
// order of CSI, each call once, and back in the reverse order.
func TestStorage(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 21, Bare: true, Nodes: 2})
		golden(t, "storage", typed(t, c, "testdata/storage.txt", identities, []varies{{regexp.MustCompile(`(?m) +([0-9]+m)?[0-9]+s$`), "  AGE"}}))
		var calls []string
		for _, e := range everything(t, c) {
			if p, ok := e.Payload.(*trace.StorageCall); ok && (p.Volume == "disk-1" || p.Result == "disk-1") {
				if p.Error != "" {
					t.Errorf("#%s: %s: %s", e.ID, p.Call, p.Error)
				}
				calls = append(calls, strings.TrimSpace(p.Call+" "+p.Node))
			}
		}
		want := []string{
			"CreateVolume", "ControllerPublishVolume node-1", "NodeStageVolume node-1", "NodePublishVolume node-1",
			"ControllerExpandVolume", "NodeExpandVolume node-1",
			"NodeUnpublishVolume node-1", "NodeUnstageVolume node-1", "ControllerUnpublishVolume node-1",
			"ControllerPublishVolume node-2", "NodeStageVolume node-2", "NodePublishVolume node-2",
			"NodeUnpublishVolume node-2", "NodeUnstageVolume node-2", "ControllerUnpublishVolume node-2", "DeleteVolume",
		}
		if !slices.Equal(calls, want) {
			t.Errorf("the calls are\n%s\nwant\n%s", strings.Join(calls, "\n"), strings.Join(want, "\n"))
		}
	})
}
