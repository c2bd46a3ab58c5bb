package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A kubectl built from Kubernetes' own tree, in a process of its own, over HTTPS.
func TestKubectl(t *testing.T) {
	s := serve(t)
	bin := filepath.Join(t.TempDir(), "kubectl")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "k8s.io/kubernetes/cmd/kubectl").CombinedOutput(); err != nil {
		t.Fatalf("build kubectl: %v\n%s", err, out)
	}
	script, err := os.ReadFile("testdata/kubectl.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for line := range strings.Lines(string(script)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		command, want, _ := strings.Cut(line, " ==> ")
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "HOME="+dir, "PATH="+filepath.Dir(bin)+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if text, fails := strings.CutPrefix(want, "! "); fails {
			want = text
			if err == nil {
				t.Errorf("$ %s\nhas not failed\n%s", command, out)
			}
		} else if err != nil {
			t.Errorf("$ %s\n%v\n%s", command, err, out)
		}
		if !strings.Contains(string(out), want) {
			t.Errorf("$ %s\n%s\nwant %q", command, out, want)
		}
	}
}
