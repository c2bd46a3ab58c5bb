// Package names generates names and UIDs for objects (apiserver pkg/storage/names;
// apimachinery pkg/util/rand and uuid). Upstream's are random; here all of them come from the
// seed, so that a run can be repeated. Start reading at [Generator].
package names

import (
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/object"
)

// Generator draws from one stream of random numbers.
type Generator struct{ Stream *rand.Rand }

// Rand is the stream.
func (g *Generator) Rand() *rand.Rand { return g.Stream }

// UID draws a UUID.
func (g *Generator) UID() types.UID { return object.NewUID(g.Stream) }

// Generate makes a name of its beginning (SimpleNameGenerator).
func (g *Generator) Generate(base string) string {
	const most, random = 63, 5
	if len(base) > most-random {
		base = base[:most-random]
	}
	return base + g.suffix(random)
}

// suffix draws letters and digits that cannot form words (pkg/util/rand String).
func (g *Generator) suffix(n int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[g.Stream.IntN(len(letters))]
	}
	return string(b)
}
