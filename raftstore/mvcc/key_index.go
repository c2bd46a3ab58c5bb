package mvcc

import (
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// keyIndex holds the history of one key, grouped in generations: a generation
// is one life of the key, from the put that created it to the tombstone that
// ended it. The last generation is empty while the key does not exist.
//
// For example put at 1, put at 2, delete at 3, put at 4, delete at 5 on "foo":
//
//	{1.0, 2.0, 3.0(t)} {4.0, 5.0(t)} {}
//
// Compaction at a revision removes what no read at that revision or later can
// see: of the versions at or below it, the newest one stays. So from the
// history above
//
//	compact(2): {2.0, 3.0(t)} {4.0, 5.0(t)} {}
//	compact(4): {4.0, 5.0(t)} {}
//	compact(5): {5.0(t)} {}
//	compact(6): {}                              the key is gone from the index
//
// A tombstone exactly at the compacted revision stays, because a watch may
// still start there. Example_keyIndex in the tests runs these very lines.
//
// Mirrors etcd server/storage/mvcc/key_index.go keyIndex. Etcd's index holds
// only revisions and looks values up in its database; here each revision
// carries its value.
type keyIndex struct {
	key         string
	generations []generation // never empty; only the last may have no versions
}

// generation is one life of a key, oldest version first.
type generation []version

func newKeyIndex(key string) *keyIndex {
	ki := &struct {
		keyIndex
		first [1]generation // most keys live once,
		only  [1]version    // and many have one version: these need no piece of memory more
	}{keyIndex: keyIndex{key: key}}
	ki.first[0] = ki.only[:0]
	ki.generations = ki.first[:]
	return &ki.keyIndex
}

// put appends a version. It must be newer than every other one.
func (ki *keyIndex) put(v version) {
	if last, ok := ki.newest(); ok && !last.rev.Less(v.rev) {
		panic(fmt.Sprintf("mvcc: revision %v of key %q after %v", v.rev, ki.key, last.rev))
	}
	g := &ki.generations[len(ki.generations)-1]
	*g = grow(*g, v)
}

// grow appends, and empties the place that a slice has moved away from: it may be part
// of the index' own piece of memory, and what it held is to go when it is compacted.
func grow[S ~[]E, E any](s S, e E) S {
	grown := append(s, e)
	if len(s) == cap(s) {
		clear(s)
	}
	return grown
}

// tombstone appends a tombstone and opens the next generation.
func (ki *keyIndex) tombstone(v version) {
	ki.put(v)
	ki.generations = grow(ki.generations, nil)
}

// newest is the last version, tombstone or not.
func (ki *keyIndex) newest() (version, bool) {
	for i := len(ki.generations) - 1; i >= 0; i-- {
		if g := ki.generations[i]; len(g) > 0 {
			return g[len(g)-1], true
		}
	}
	return version{}, false
}

// live is the key's present state, nil if it does not exist; so is it of a nil index.
func (ki *keyIndex) live() *mvccpb.KeyValue {
	if ki == nil {
		return nil
	}
	g := ki.generations[len(ki.generations)-1]
	if len(g) == 0 {
		return nil
	}
	return g[len(g)-1].kv
}

// get is the key's state at a revision, nil if it did not exist then.
func (ki *keyIndex) get(atRev int64) *mvccpb.KeyValue {
	g := ki.findGeneration(atRev)
	if i := g.newestAt(atRev); i >= 0 {
		return g[i].kv
	}
	return nil
}

// findGeneration is the life the key was in at a revision; nil when the
// revision falls in the gap between two lives, or before the first.
func (ki *keyIndex) findGeneration(atRev int64) generation {
	last := len(ki.generations) - 1
	for i := last; i >= 0; i-- {
		g := ki.generations[i]
		if len(g) == 0 {
			continue
		}
		if i != last && g[len(g)-1].rev.Main <= atRev {
			return nil // its tombstone is not later than atRev
		}
		if g[0].rev.Main <= atRev {
			return g
		}
	}
	return nil
}

// newestAt is the position of the newest version at or below atRev, or -1.
func (g generation) newestAt(atRev int64) int {
	for i := len(g) - 1; i >= 0; i-- {
		if g[i].rev.Main <= atRev {
			return i
		}
	}
	return -1
}

// compact removes what compaction at atRev hides and returns it.
func (ki *keyIndex) compact(atRev int64) (removed []version) {
	gi, vi := ki.keepFrom(atRev)
	for _, g := range ki.generations[:gi] {
		removed = append(removed, g...)
		clear(g)
	}
	if g := &ki.generations[gi]; vi > 0 {
		removed = append(removed, (*g)[:vi]...)
		kept := append(generation(nil), (*g)[vi:]...)
		clear(*g)
		*g = kept
	}
	if gi > 0 {
		kept := append([]generation(nil), ki.generations[gi:]...)
		clear(ki.generations)
		ki.generations = kept
	}
	return removed
}

// keep is the version at or below atRev that a compaction there would keep and
// that is not a tombstone.
func (ki *keyIndex) keep(atRev int64) (version, bool) {
	gi, vi := ki.keepFrom(atRev)
	if vi < 0 || ki.generations[gi][vi].tombstone() {
		return version{}, false
	}
	return ki.generations[gi][vi], true
}

// keepFrom finds the first version that a compaction at atRev keeps; vi is -1
// when every version of the generation is later.
func (ki *keyIndex) keepFrom(atRev int64) (gi, vi int) {
	for gi < len(ki.generations)-1 {
		g := ki.generations[gi]
		if g[len(g)-1].rev.Main >= atRev {
			break // includes atRev, or began after it
		}
		gi++
	}
	return gi, ki.generations[gi].newestAt(atRev)
}

// gone reports whether nothing is left of the key.
func (ki *keyIndex) gone() bool { return len(ki.generations) == 1 && len(ki.generations[0]) == 0 }

// String writes the generations as the type's comment does.
func (ki *keyIndex) String() string {
	var b strings.Builder
	for i, g := range ki.generations {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('{')
		for j, v := range g {
			if j > 0 {
				b.WriteString(", ")
			}
			b.WriteString(v.rev.String())
			if v.tombstone() {
				b.WriteString("(t)")
			}
		}
		b.WriteByte('}')
	}
	return b.String()
}

func keyIndexLess(a, b *keyIndex) bool { return a.key < b.key }
