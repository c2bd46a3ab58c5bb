package proof

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build builds kube-scheduler from Kubernetes' tree into a folder and gives its path. It is stamped with
// its version as Kubernetes' own build does.
func Build(ctx context.Context, folder string) (path string, err error) {
	version, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes").Output()
	if err != nil {
		return "", fmt.Errorf("the version of Kubernetes: %w", err)
	}
	path = filepath.Join(folder, "kube-scheduler")
	stamp := ""
	for _, of := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} { // hack/lib/version.sh
		stamp += " -X " + of + ".gitVersion=" + strings.TrimSpace(string(version))
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-ldflags", stamp, "-o", path, "k8s.io/kubernetes/cmd/kube-scheduler").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build kube-scheduler: %w\n%s", err, out)
	}
	return path, nil
}
