//go:build netns

package remote_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"kviz/raftstore/member"
)

// Three members on three machines as far as the network goes: a namespace each,
// wired to a bridge. What is cut here is the cable, not a link in wire. Needs root
// and iproute2: go test -tags netns ./raftstore/remote -run Namespaces
func TestAcrossNetworkNamespaces(t *testing.T) {
	ip := func(args string, more ...any) {
		t.Helper()
		args = fmt.Sprintf(args, more...)
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v\n%s", args, err, out)
		}
	}
	const bridge = "kvizbr0"
	ip("link add %s type bridge", bridge)
	t.Cleanup(func() { _ = exec.Command("ip", "link", "del", bridge).Run() })
	ip("addr add 10.211.77.1/24 dev %s", bridge)
	ip("link set %s up", bridge)
	f := newFarm(t)
	for i, name := range []string{"a", "b", "c"} {
		ns := "kviz-" + name
		ip("netns add %s", ns)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", ns).Run() })
		ip("link add kviz%s type veth peer name eth0 netns %s", name, ns)
		ip("link set kviz%s master %s up", name, bridge)
		ip("-n %s addr add 10.211.77.%d/24 dev eth0", ns, 11+i)
		ip("-n %s link set eth0 up", ns)
		ip("-n %s link set lo up", ns)
		f.certify(name)
		f.inside[name] = ns
		f.addrs[name] = fmt.Sprintf("10.211.77.%d:7001", 11+i)
		f.launch(name)
	}
	// Namespaces go after the processes in them.
	t.Cleanup(func() {
		for _, name := range f.names() {
			f.kill(name)
		}
	})
	s, l := f.driver()
	f.put(s, "x", "1")
	w := write(s, 4)
	leader := f.leader(s)
	mark := l.len()
	ip("link set kviz%s down", leader)
	// No reset comes over a cable that was pulled: silence tells.
	f.eventually("the leader is seen to be gone", func() bool { return len(l.of(member.KindDown, leader, mark)) == 1 })
	f.leader(s)
	f.put(s, "x", "2")
	ip("link set kviz%s up", leader)
	f.eventually("all are back", s.Whole)
	w.end(f)
	f.want(s, "x", "2")
	f.equal(s)
}
