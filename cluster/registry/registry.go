// Package registry is the image registry the cluster's nodes pull from: a
// stand-in for docker.io, registry.k8s.io and quay.io in one.
//
// In a real cluster containerd resolves a reference to a manifest, downloads
// the layers it lacks, and unpacks them. Here a reference resolves to a name, a
// size and a digest, and a pull takes modelled time. What the kubelet can
// notice is the same: found or not found, in containerd's words; slow;
// unreachable.
//
// Simplified: there is a list of what exists only for docker.io/library, and for a
// few of its images the highest version (library.go). Any other reference is found
// unless its name or tag contains a word such as "nosuch" (see absent), and every public
// host is a registry (hosts.go), to which the nodes have credentials. Start reading at
// [Registry.Pull].
package registry

import (
	"strings"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Containers, How: simulated.Simulated,
	What: "of Docker's official images (nginx, not bitnami/nginx) only those that exist are found, and no version above the newest; any other reference is found unless its name or tag contains \"" + strings.Join(absent, "\", \"") + "\"; every host name that the public DNS could have is a registry, but for those one letter from a well-known one, and the nodes have credentials for all of them",
	Seen: "the pod's status and Events when a pull fails",
})

// Registry is the image registry. One serves all nodes.
type Registry struct {
	k           *sim.Kernel
	unreachable bool
	slow        float64
	delays      map[string]time.Duration
}

// Image is what a reference resolves to.
type Image struct {
	Name   string // normalized: "docker.io/library/nginx:1.27"
	Digest string // "sha256:…"
	Size   int64  // bytes, compressed
}

// New makes a registry that answers.
func New(k *sim.Kernel) *Registry {
	return &Registry{k: k, slow: 1, delays: map[string]time.Duration{}}
}

// SetReachable cuts the registry off, or joins it again: every pull fails with
// a dial timeout while it is cut off.
func (r *Registry) SetReachable(ok bool) { r.unreachable = !ok }

// Reachable reports whether pulls can get through.
func (r *Registry) Reachable() bool { return !r.unreachable }

// SetSlow makes pulls take factor times as long; 1 is normal.
func (r *Registry) SetSlow(factor float64) { r.slow = max(factor, 0) }
