package beside

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Build builds a command of Kubernetes' tree, such as kube-scheduler, into a folder and gives its path. It is
// stamped with its version as Kubernetes' own build does. The module of the working folder says which version, and
// has the command as a tool.
func Build(ctx context.Context, folder, command string) (path string, err error) {
	version, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes").Output()
	if err != nil {
		return "", fmt.Errorf("the version of Kubernetes: %w", err)
	}
	path = filepath.Join(folder, command)
	stamp := ""
	for _, of := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} { // hack/lib/version.sh
		stamp += " -X " + of + ".gitVersion=" + strings.TrimSpace(string(version))
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-ldflags", stamp, "-o", path, "k8s.io/kubernetes/cmd/"+command).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", command, err, out)
	}
	return path, nil
}

// Run starts a program in the place of a component that the side is without, until the test ends. Where the test
// fails, what the program said last is in the log.
func (s *Side) Run(t testing.TB, component, program string, flags ...string) {
	t.Helper()
	conf := s.Lent[component]
	if conf == "" {
		t.Fatalf("%s: the place of the %s is not free", s.Name, component)
	}
	var said strings.Builder
	cmd := exec.CommandContext(t.Context(), program, append([]string{
		"--kubeconfig=" + conf, "--authentication-kubeconfig=" + conf, "--authorization-kubeconfig=" + conf, "--secure-port=0",
		"--kube-api-qps=1000", "--kube-api-burst=1000",
	}, flags...)...)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Cancel()
		_ = cmd.Wait() // it was stopped
		if t.Failed() {
			text := said.String()
			t.Logf("%s said last:\n%s", filepath.Base(program), text[max(0, len(text)-4000):])
		}
	})
}
