package proof

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/beside"
)

var built = flag.String("binary", "", "a kube-controller-manager that is built already")

// folder is where the binary is built, once for all tests.
var folder string

func TestMain(m *testing.M) { os.Exit(inFolder(m)) }

func inFolder(m *testing.M) int {
	flag.Parse()
	var err error
	if folder, err = os.MkdirTemp("", "kviz-proof"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	return m.Run()
}

var build = sync.OnceValues(func() (string, error) {
	return beside.Build(context.Background(), folder, "kube-controller-manager")
})

// program is kube-controller-manager, built now unless it is given.
func program(t *testing.T) string {
	t.Helper()
	if *built != "" {
		return *built
	}
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// flags are those without which the binary would touch the machine: it makes the folder of volume plugins.
func flags(t *testing.T) []string {
	t.Helper()
	return []string{"--flex-volume-plugin-dir=" + t.TempDir(), "--use-service-account-credentials"}
}

// The binary is a kube-controller-manager of the version whose packages kviz imports, and it has the name by which
// RBAC knows it.
func TestTheBinaryIsTheRealOne(t *testing.T) {
	path := program(t)
	out, err := exec.CommandContext(t.Context(), path, "--version").CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "Kubernetes v1.37.1" {
		t.Errorf("%s --version: %v\n%s", path, err, got)
	}
	if got := authn.Component("kube-controller-manager").Name; got != "system:kube-controller-manager" {
		t.Errorf("RBAC knows it as %s", got)
	}
}
