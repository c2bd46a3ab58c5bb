package registry_test

import (
	"strings"
	"testing"

	"kviz/cluster/registry"
	"kviz/cluster/sim"
)

// Which registries there are is not for a list to say: every name that the public DNS could
// have is one. What containerd would not reach is refused in its words.
func TestAnyPublicHostIsARegistry(t *testing.T) {
	r := registry.New(sim.New(sim.Config{Seed: 1}))
	const none = "no such host"
	for ref, want := range map[string]string{
		"europe-west3-docker.pkg.dev/example/shop/cart:2.1": "", "us-docker.pkg.dev/p/r/i": "", "me-central2-docker.pkg.dev/p/r/i": "",
		"acme.azurecr.io/web:1": "", "123456789012.dkr.ecr.eu-central-1.amazonaws.com/web:1": "", "public.ecr.aws/nginx/nginx:1.27": "",
		"nvcr.io/nvidia/cuda:12.4.1-base-ubuntu22.04": "", "registry.gitlab.com/group/project/web:main": "", "k8s.gcr.io/pause:3.9": "",
		"harbor.acme.co.uk/team/web:1": "", "harbor.acme.io:8443/team/web:1": "", "quay.io/example/operator:v1.4.0": "", "icr.io/x/y": "", "ghcr.io/x/y": "",

		"quay.oi/x/y": none, "docker.oi/x/y": none, "ghcr.oi/x/y": none, "qauy.io/x/y": none, "gchr.io/x/y": none, "ghrc.io/x/y": none, "registry.k8s.oi/pause": none, "registy.k8s.io/pause": none,
		"registry.example/x": none, "registry.example.com/x": none, "registry.test/x": none, "registry.invalid/x": none, "registry.local/x": none,
		"registry.kube-system.svc.cluster.local:5000/x": none, "registry.corp/x": none, "registry:5000/x": none, "co.uk/x": none, "sub.localhost/x": none,

		"localhost:5000/x:1": `Head "http://localhost:5000/v2/x/manifests/1": dial tcp [::1]:5000: connect: connection refused`,
		"127.0.0.1:5000/x:1": `Head "http://127.0.0.1:5000/v2/x/manifests/1": dial tcp 127.0.0.1:5000: connect: connection refused`,
		"[::1]:5000/x:1":     `Head "http://[::1]:5000/v2/x/manifests/1": dial tcp [::1]:5000: connect: connection refused`,
		"localhost/x:1":      `Head "https://localhost/v2/x/manifests/1": dial tcp [::1]:443: connect: connection refused`,
		"10.0.0.5:5000/x:1":  `Head "https://10.0.0.5:5000/v2/x/manifests/1": dial tcp 10.0.0.5:5000: i/o timeout`,
		"registry:5000/x:1":  `Head "https://registry:5000/v2/x/manifests/1": dial tcp: lookup registry: no such host`,

		strings.Repeat("a.", 4000) + "io/x": none, strings.Repeat("a", 64) + ".io/x": none, strings.Repeat("a.", 126) + "io/x": none,
	} {
		img, err := r.Resolve(ref)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if want == "" && (got != "" || img.Size == 0) || !strings.HasSuffix(got, want) {
			t.Errorf("%.80s: %.300q, want %q", ref, got, want)
		}
	}
}
