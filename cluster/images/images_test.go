package images_test

import (
	"strings"
	"testing"

	"kviz/cluster/images"
)

// The repository of an image, and its tag where that matters, say what is known of it. Of an image without a row neither
// its user nor its programs are known.
func TestWhatIsKnownOfAnImage(t *testing.T) {
	for full, want := range map[string]struct {
		known bool
		user  string
		lacks string // a program that it has and one that it lacks; "" where neither is known
	}{
		"docker.io/library/nginx:1.27":                      {true, "", "bash ps"},
		"docker.io/library/nginx:1.27-alpine":               {true, "", "ps bash"},
		"docker.io/nginxinc/nginx-unprivileged:stable":      {true, "101", "/docker-entrypoint.sh /entrypoint.sh"},
		"docker.io/library/busybox:1.36":                    {true, "", "/bin/wget /usr/bin/curl"},
		"docker.io/library/redis@sha256:0000":               {true, "", "redis-cli redis"},
		"docker.io/curlimages/curl:8.15.0":                  {true, "curl_user", "curl kubectl"},
		"docker.io/prom/prometheus:v3.5.0":                  {true, "nobody", ""},
		"docker.io/bitnami/postgresql:17":                   {true, "1001", ""},
		"docker.io/bitnami/minideb:bookworm":                {true, "", ""},
		"gcr.io/distroless/static-debian12:nonroot":         {true, "65532", ""},
		"gcr.io/distroless/static-debian12:latest":          {true, "0", ""},
		"registry.k8s.io/pause:3.10.1":                      {true, "65535", "/pause sh"},
		"registry.k8s.io/kube-scheduler:v1.37.1":            {true, "", "/usr/local/bin/kube-scheduler sh"},
		"registry.k8s.io/descheduler/descheduler:v0.36.0":   {true, "1000", "/bin/descheduler sh"},
		"docker.io/traefik/whoami:latest":                   {true, "", "/whoami sh"},
		"quay.io/example/operator:v1.4.0":                   {},
		"harbor.acme.io:8443/library/nginx:1":               {},
		"europe-west3-docker.pkg.dev/example/shop/cart:2.1": {},
		"docker.io/library/nginx-not:1":                     {},
	} {
		img, known := images.Of(images.Split(full))
		if known != want.known || img.User != want.user {
			t.Errorf("%s: known %v, user %q", full, known, img.User)
		}
		if want.lacks == "" {
			if img.Lacks("/nosuchbinary") && full != "gcr.io/distroless/static-debian12:nonroot" && full != "gcr.io/distroless/static-debian12:latest" {
				t.Errorf("%s: its programs are known", full)
			}
			continue
		}
		has, not, _ := strings.Cut(want.lacks, " ")
		if img.Lacks(has) || !img.Lacks(not) {
			t.Errorf("%s: lacks %s: %v, %s: %v", full, has, img.Lacks(has), not, img.Lacks(not))
		}
	}
}
