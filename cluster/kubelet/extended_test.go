package kubelet_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
)

// What somebody writes into a Node's capacity that the kubelet does not know of is allocatable, follows
// each change, and is not when it is taken away again (nodestatus/setters.go MachineInfo).
func TestExtendedResourcesAreAllocatable(t *testing.T) {
	runStore(t, func(s *store) {
		const dongle = "example.com/dongle"
		write := func(capacity string) {
			clienttest.Must(s.Client().Patch(s.t, client.Nodes, "", "node-1", types.MergePatchType, []byte(`{"status":{"capacity":{"`+dongle+`":`+capacity+`}}}`), "status"))
		}
		expect := func(within time.Duration, want string) {
			t.Helper()
			s.t.Sleep(within)
			q, has := s.node().Status.Allocatable[dongle]
			if got := q.String(); has != (want != "") || has && got != want {
				t.Errorf("%s are allocatable (%v), want %q", got, has, want)
			}
			if c := s.node().Status.Capacity[dongle]; c.String() != q.String() {
				t.Errorf("the capacity is %s, and %s are allocatable", c.String(), q.String())
			}
		}
		before := s.node().Status.Allocatable.DeepCopy()
		write(`"4"`)
		expect(6*time.Minute, "4")
		write(`"5"`)
		expect(12*time.Second, "5")
		write(`null`)
		expect(12*time.Second, "")
		if now := s.node().Status.Allocatable; len(now) != len(before) || now.Cpu().Cmp(*before.Cpu()) != 0 {
			t.Errorf("what is allocatable is %v, and was %v", now, before)
		}
	})
}
