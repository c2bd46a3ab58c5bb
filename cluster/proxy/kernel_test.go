//go:build iptables

package proxy_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheKernelAgrees gives the text of TestSave to the real iptables-restore;
// where a network namespace can be made, the kernel must give back the very same
// rules, and iptables -L must print what ours prints. It needs Debian's package
// iptables, so it is behind a build tag:
//
//	go test -tags iptables ./cluster/proxy -run Kernel
func TestTheKernelAgrees(t *testing.T) {
	saved := golden(t, "save.txt")
	if out, err := feed(saved, "iptables-nft-restore", "--test"); err != nil {
		t.Fatalf("iptables-nft-restore --test: %v\n%s", err, out)
	}
	if exec.Command("unshare", "-n", "true").Run() != nil {
		t.Log("no network namespace can be made here: iptables read the rules, the kernel was not asked")
		return
	}
	out, err := feed(saved, "unshare", "-n", "sh", "-c", "iptables-nft-restore && iptables-nft-save")
	if err != nil {
		t.Fatalf("the kernel refuses the rules: %v\n%s", err, out)
	}
	if diff := cmp.Diff(byChain(out), byChain(saved)); diff != "" {
		t.Errorf("-kernel +kviz:\n%s", diff)
	}
	list := "iptables-nft-restore"
	for _, chain := range listed {
		list += " && iptables-nft -t nat -L " + chain + " -n"
	}
	if out, err = feed(saved, "unshare", "-n", "sh", "-c", list); err != nil {
		t.Fatalf("iptables -L: %v\n%s", err, out)
	}
	if diff := cmp.Diff(out, golden(t, "list.txt")); diff != "" {
		t.Errorf("iptables -L (-real +kviz):\n%s", diff)
	}
}

func golden(t *testing.T, name string) string {
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func feed(input, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
