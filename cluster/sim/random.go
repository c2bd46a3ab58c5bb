package sim

import (
	"hash/fnv"
	"math/rand/v2"
	"sync/atomic"
)

// randomness is where all streams of a kernel come from.
type randomness struct {
	seed  atomic.Uint64
	again atomic.Uint64 // how often the seed was changed
}

// Rand returns a source of randomness for the named purpose, fixed by the
// seed. Streams of different names are independent, so that one component's
// draws do not shift another's.
func (k *Kernel) Rand(name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(&stream{of: &k.streams, name: h.Sum64()})
}

// Reseed restarts every stream from another seed: all random choices from here on
// differ.
func (k *Kernel) Reseed(seed uint64) {
	k.streams.seed.Store(seed)
	k.streams.again.Add(1)
}

// stream is one stream of randomness.
type stream struct {
	of   *randomness
	name uint64
	rand *rand.PCG // nil before the first draw
	from uint64    // of.again when rand was made
}

// Uint64 draws.
func (s *stream) Uint64() uint64 {
	if now := s.of.again.Load(); s.rand == nil || s.from != now {
		s.rand, s.from = rand.NewPCG(s.of.seed.Load(), s.name), now
	}
	return s.rand.Uint64()
}

// Fill draws bytes.
func Fill(r *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}
