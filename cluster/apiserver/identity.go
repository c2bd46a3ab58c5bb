package apiserver

import (
	"fmt"
	"math/rand/v2"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// newUID draws a UUID from the seed.
func (s *Server) newUID() types.UID {
	return drawUID(s.rand)
}

// drawUID draws a random UUID.
func drawUID(r *rand.Rand) types.UID {
	hi, lo := r.Uint64(), r.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(3<<62) | 2<<62
	return types.UID(fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&0xffffffffffff))
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

// place puts an object where the request's path says, or refuses a
// contradiction.
func (c *call) place(m metav1.Object) error {
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
