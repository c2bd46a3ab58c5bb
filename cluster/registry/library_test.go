package registry_test

import (
	"testing"

	"kviz/cluster/registry"
	"kviz/cluster/sim"
)

func TestAMisspeltImageIsNotThere(t *testing.T) {
	r := registry.New(sim.New(sim.Config{Seed: 1}))
	const denied, notFound = "denied", "not found"
	for ref, want := range map[string]string{
		"nginx": "", "nginx:1.27-alpine": "", "nginx:stable": "", "docker.io/library/redis:8.2": "", "alpine:20250108": "", "ubuntu:26.04": "",
		"ngnix": denied, "ngnix:1.27": denied, "webserver:404": denied, "docker.io/library/hello": denied,
		"nginx:404": notFound, "redis:9": notFound, "nginx:nosuch": notFound,
		"bitnami/ngnix": "", "quay.io/team/app:404": "", "team/nosuch": denied,
	} {
		_, err := r.Resolve(ref)
		got := ""
		if e, ok := err.(*registry.NotFoundError); ok {
			if got = notFound; e.Denied() {
				got = denied
			}
		} else if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q (%v)", ref, got, want, err)
		}
	}
}
