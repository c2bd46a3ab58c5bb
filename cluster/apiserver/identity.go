package apiserver

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/sim"
)

// newUID draws a UUID from the seed.
func (s *Server) newUID() types.UID {
	return object.NewUID(s.rand)
}

// suffix draws letters and digits that cannot form words (apimachinery
// pkg/util/rand String).
func (s *Server) suffix(n int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[s.rand.IntN(len(letters))]
	}
	return string(b)
}

// generateName is apiserver pkg/storage/names SimpleNameGenerator.
func (s *Server) generateName(base string) string {
	const most, random = 63, 5
	if len(base) > most-random {
		base = base[:most-random]
	}
	return base + s.suffix(random)
}

// matchNamespace puts an object where the request's path says, or refuses a
// contradiction.
func (c *call) matchNamespace(m metav1.Object) error {
	ns := c.req.Namespace
	if !c.kind.Namespaced {
		ns = ""
	}
	switch m.GetNamespace() {
	case ns:
	case "":
		m.SetNamespace(ns)
	default:
		if ns == "" {
			m.SetNamespace("")
			break
		}
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// virtualClock is the kernel's time as Kubernetes' clocks have it.
type virtualClock struct{ k *sim.Kernel }

// Now is clock.PassiveClock.
func (c virtualClock) Now() time.Time { return c.k.Now() }

// Since is clock.PassiveClock.
func (c virtualClock) Since(t time.Time) time.Duration { return c.k.Now().Sub(t) }

// selfUser is the API server as its own client (genericapiserver's loopback).
var selfUser = authn.User{Name: "system:apiserver", Groups: []string{authn.Masters}}
