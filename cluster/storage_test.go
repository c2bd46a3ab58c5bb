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

// stored is a run with a disk that a second pod finds on another node, and with a driver that fails.
const stored = `
kubectl create -f - <<END
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
END
user() {
  kubectl run $1 --image=busybox --overrides='{"spec":{"nodeSelector":{"kubernetes.io/hostname":"'$2'"},"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}],"containers":[{"name":"app","image":"busybox","command":["sh","-c","cat /d/f; hostname > /d/f; sleep 36000"],"volumeMounts":[{"name":"d","mountPath":"/d"}]}]}}'
}
kviz fault fail csi-driver create
user first node-1
sleep 10
kviz fault heal csi-driver
kubectl wait --for=condition=Ready pod/first --timeout=10m
kubectl delete pod first --grace-period=1
kviz fault slow csi-driver 3s
user second node-2
kubectl wait --for=condition=Ready pod/second --timeout=10m
kubectl logs second | grep first
`

// A run with disks is the same with the same seed, and can be forked: the disks hold what they
// held.
func TestARunWithDisksIsRunAgain(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		var hashes []string
		var events []*trace.Event
		for range 2 {
			c := boot(t, cluster.Config{Seed: 4, Bare: true, Nodes: 2, Demand: true})
			run(t, c, stored)
			events = past(t, c)
			hashes = append(hashes, sum(t, events))
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if hashes[0] != hashes[1] {
			t.Error("the same seed gave another trace")
		}
		tryForks(t, events)
	})
}
