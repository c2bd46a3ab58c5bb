package cluster_test

import (
	"slices"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// How one comes to a certificate without the authority's key: testdata/certificate.txt
// is what is typed and what is seen. Jane asks, an administrator approves, the signer
// signs, the certificate makes her jane until it expires; what is improper is refused
// by admission, by the signer, or by a person. A kubelet's request is approved by
// itself if it may ask.
func TestCertificateSigningRequests(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 1})
		golden(t, "certificate", typed(t, c, "testdata/certificate.txt"))
	})
}

// Credentials whose time is over: testdata/expired.txt. Who shows them is nobody; a
// node whose kubelet does is soon not ready.
func TestExpiredCredentials(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 2})
		golden(t, "expired", typed(t, c, "testdata/expired.txt"))

		// Each refusal has its author and leads to the fault.
		faults, by := map[trace.ID]bool{}, map[string]int{}
		for _, e := range after(t, c, trace.ID{}) {
			switch p := e.Payload.(type) {
			case *trace.Fault:
				faults[e.ID] = true
			case *trace.Stage:
				if p.Stage != trace.StageAuthentication || p.Verdict != "refuse" {
					continue
				}
				if !slices.ContainsFunc(e.Causes, func(id trace.ID) bool { return faults[id] }) {
					t.Errorf("nothing says why: %s by %s: %s", e.ID, p.By, p.Note)
				}
				by[p.By]++
			}
		}
		if by["x509"] < 3 || by["service account token"] != 1 {
			t.Errorf("refused by %v", by)
		}
	})
}

// Storage that is in use does not go: testdata/claim-in-use.txt. A claim that a pod has
// mounted and a volume that is bound are Terminating until they are free. Last the
// control plane says how it is.
func TestClaimInUse(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 1})
		golden(t, "claim-in-use", typed(t, c, "testdata/claim-in-use.txt"))
	})
}
