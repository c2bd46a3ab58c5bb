package clients

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"kviz/raftstore/steady"
)

// kubectl is one built from Kubernetes' own tree, in processes of its own, over
// HTTPS.
type kubectl struct {
	bin, dir   string
	kubeconfig string
}

func buildKubectl(t *testing.T) *kubectl {
	t.Helper()
	dir := t.TempDir()
	k := &kubectl{filepath.Join(t.TempDir(), "kubectl"), dir, ""}
	version, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatal(err)
	}
	// As Kubernetes' own build says which version it is: kubectl version refuses to
	// compare without one.
	stamp := "-X k8s.io/component-base/version.gitVersion=" + strings.TrimSpace(string(version))
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags", stamp, "-o", k.bin, "k8s.io/kubernetes/cmd/kubectl").CombinedOutput(); err != nil {
		t.Fatalf("build kubectl: %v\n%s", err, out)
	}
	return k
}

// sh runs a line of a shell in which kubectl is the one that was built.
func (k *kubectl) sh(t *testing.T, line, input string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir, cmd.Stdin = k.dir, strings.NewReader(input)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+k.kubeconfig, "KUBECACHEDIR="+filepath.Join(k.dir, "cache"), "PATIENCE="+steady.Patience(t).String(), "PATH="+filepath.Dir(k.bin)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Every line of testdata/kubectl.txt is answered as it says there; then kubectl makes, lists,
// describes and deletes an object of every kind that is served.
func TestKubectl(t *testing.T) {
	k := buildKubectl(t)
	s := serve(t)
	k.kubeconfig = s.kubeconfig
	t.Run("script", k.script)
	t.Run("every kind", func(t *testing.T) { k.kinds(t, s) })
}

func (k *kubectl) script(t *testing.T) {
	script, err := os.ReadFile("testdata/kubectl.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(script)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		command, want, _ := strings.Cut(line, " ==> ")
		out, err := k.sh(t, command, "")
		if text, fails := strings.CutPrefix(want, "! "); fails {
			want = text
			if err == nil {
				t.Errorf("$ %s\nhas not failed\n%s", command, out)
			}
		} else if err != nil {
			t.Errorf("$ %s\n%v\n%s", command, err, out)
		}
		if !strings.Contains(out, want) {
			t.Errorf("$ %s\n%s\nwant %q", command, out, want)
		}
	}
}

// kinds has kubectl handle one object of every kind, made of the samples with which
// kviz is compared with kube-apiserver.
func (k *kubectl) kinds(t *testing.T, s *served) {
	text, err := os.ReadFile("../proof/testdata/kinds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := k.sh(t, "kubectl create namespace kinds && kubectl config set-context --current --namespace=kinds", ""); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var samples map[string]sample
	if err := yaml.Unmarshal(text, &samples); err != nil {
		t.Fatal(err)
	}
	_, lists, err := s.api.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, list := range lists {
		group, version, _ := strings.Cut(list.GroupVersion, "/")
		if version == "" {
			group, version = "", group
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "create") || !slices.Contains(r.Verbs, "list") {
				continue
			}
			sample, ok := samples[strings.TrimSuffix(r.Name+"."+group, ".")]
			if !ok {
				t.Errorf("no sample of %s in %s", r.Name, list.GroupVersion)
				continue
			}
			seen++
			full := r.Name + "." + version + "." + group // kubectl knows the core group by an empty name
			t.Run(full, func(t *testing.T) { k.kind(t, full, list.GroupVersion, r, sample) })
		}
	}
	t.Logf("%d kinds", seen)
}

// sample is what kinds.yaml has of a kind, as far as one object needs it.
type sample struct {
	Object map[string]any
	Names  []string // where not every name will do
}

func (k *kubectl) kind(t *testing.T, full, groupVersion string, r metav1.APIResource, of sample) {
	o := map[string]any{"apiVersion": groupVersion, "kind": r.Kind}
	maps.Copy(o, of.Object)
	meta, _ := o["metadata"].(map[string]any)
	if meta = maps.Clone(meta); meta == nil {
		meta = map[string]any{}
	}
	if meta["name"] == nil {
		meta["name"] = "NAME"
	}
	meta["labels"] = map[string]any{"told": "yes"}
	o["metadata"] = meta
	doc, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	named := strings.NewReplacer("NAME", append(of.Names, "one")[0], "of-"+r.Name, "kinds")
	name := named.Replace(fmt.Sprint(meta["name"]))
	if out, err := k.sh(t, "kubectl create --validate=warn -f -", named.Replace(string(doc))); err != nil {
		t.Fatalf("create: %v\n%s", err, out)
	}
	for _, step := range []struct{ command, want string }{
		{"get " + full + " -l told=yes -o wide", name},
		{"get " + full + " " + name + " -o yaml", "kind: " + r.Kind},
		{"describe " + full + " " + name, "Name:"},
		{"explain " + r.Name + " --api-version=" + groupVersion, "KIND:       " + r.Kind},
		{"label " + full + " " + name + " told-", "unlabeled"},
		{"delete " + full + " " + name + " --now --timeout=$PATIENCE", "deleted"},
	} {
		out, err := k.sh(t, "kubectl "+step.command, "")
		if err != nil || !strings.Contains(out, step.want) {
			t.Errorf("$ kubectl %s\n%s\n%v, want %q", step.command, out, err, step.want)
		}
	}
}
