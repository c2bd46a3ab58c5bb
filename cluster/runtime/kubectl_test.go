package runtime_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/registry"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
)

// A program in a pod writes through the API, as the pod's ServiceAccount, and is
// told when it cannot.
func TestAProgramInAPodUsesTheAPI(t *testing.T) {
	clienttest.Run(t, 1, func(cb *clienttest.Bench, tk *sim.Task) {
		reg := registry.New(cb.Kernel)
		rt := runtime.New(cb.Kernel, reg, runtime.Config{Node: "node-1", PodCIDR: "10.244.1.0/24", Images: []string{"bitnami/kubectl", "busybox"}})
		asked := ""
		rt.SetAPI(func(namespace, account, pod string) client.Interface {
			asked = account + " for " + pod
			return cb.Server.Client()
		})
		tk.Sleep(time.Second)
		if _, err := cb.Server.Client().Create(tk, client.ConfigMaps, "demo", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "ledger"}}); err != nil {
			t.Fatal(err)
		}
		inside := func(image string) func(line string) string {
			s, err := rt.RunPodSandbox(tk, runtime.SandboxConfig{PodUID: image, Namespace: "demo", Name: "writer", ServiceAccount: "scribe"})
			if err != nil {
				t.Fatal(err)
			}
			id, err := rt.CreateContainer(tk, s, runtime.ContainerConfig{Name: "app", Image: image, Command: []string{"sleep", "1d"}})
			if err == nil {
				err = rt.StartContainer(tk, id)
			}
			if err != nil {
				t.Fatal(err)
			}
			return func(line string) string {
				r, err := rt.Exec(tk, id, []string{"sh", "-c", line}, 0)
				if err != nil {
					t.Fatal(err)
				}
				return strings.TrimSpace(r.Stdout + r.Stderr)
			}
		}
		sh := inside("bitnami/kubectl")
		for _, c := range []struct{ line, want string }{
			{`kubectl patch cm ledger --type=merge -p '{"data":{"number":"7"}}'`, "configmap/ledger patched"},
			{`kubectl get configmap/ledger`, "configmap/ledger"},
			{`kubectl get configmap nosuch`, "Error from server (NotFound)"},
			{`kubectl get gadgets x`, `the server doesn't have a resource type "gadgets"`},
			{`kubectl patch cm ledger --type=odd -p x`, "--type must be one of"},
			{`kubectl delete cm ledger`, "in a simulated container kubectl knows"},
			{`kubectl get cm ledger -n`, "flag needs an argument: -n"},
		} {
			if got := sh(c.line); !strings.Contains(got, c.want) {
				t.Errorf("%s says %q, want …%s…", c.line, got, c.want)
			}
		}
		if got := cb.Server.Object(client.ConfigMaps, "demo", "ledger").(*corev1.ConfigMap).Data["number"]; got != "7" {
			t.Errorf("the server has the number %q", got)
		}
		if asked != "scribe for demo/writer" {
			t.Errorf("asked as %s", asked)
		}
		cb.Server.SetDown(true)
		if got := sh(`kubectl get cm ledger || echo "status $?"`); !strings.Contains(got, "was refused") || !strings.Contains(got, "status 1") {
			t.Errorf("a server that is down: %q", got)
		}
		if got := inside("busybox")("kubectl get cm ledger"); !strings.Contains(got, "not found") {
			t.Errorf("an image without kubectl: %q", got)
		}
	})
}
