package proof

import (
	"os/exec"
	"strings"
	"testing"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/beside"
)

// The binary is a kube-scheduler of the version whose packages kviz imports, and it has the name by which
// RBAC knows it.
func TestTheBinaryIsTheRealOne(t *testing.T) {
	path, err := beside.Build(t.Context(), t.TempDir(), "kube-scheduler")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, "--version").CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "Kubernetes v1.37.1" {
		t.Errorf("%s --version: %v\n%s", path, err, got)
	}
	if got := authn.Component("kube-scheduler").Name; got != "system:kube-scheduler" {
		t.Errorf("RBAC knows it as %s", got)
	}
}
