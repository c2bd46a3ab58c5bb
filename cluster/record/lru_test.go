package record

import (
	"testing"

	upstream "k8s.io/utils/lru"
	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

// What is kept and what is forgotten is what k8s.io/utils/lru keeps and forgets.
func TestLRU(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 6).Draw(t, "limit")
		mine, theirs := lru[int]{limit: limit}, upstream.New(limit)
		for n, k := range rapid.SliceOfN(rapid.Uint64Range(0, 9), 1, 60).Draw(t, "keys") {
			want, had := theirs.Get(key(k))
			got, has := mine.get(key(k))
			if has != had || had && *got != want.(int) || !had && *got != 0 {
				t.Fatalf("use %d, key %d: %d, %v; upstream has %v, %v", n, k, *got, has, want, had)
			}
			*got = n + 1
			theirs.Add(key(k), n+1)
		}
	})
}
