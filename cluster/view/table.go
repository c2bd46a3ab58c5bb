package view

import "cmp"

// table is an ordered map that is copied in constant time and shares with its
// copies what neither has changed since. The zero table can be read.
type table[K cmp.Ordered, V any] struct {
	m tree[K]
}

func newTable[K cmp.Ordered, V any]() table[K, V] { return table[K, V]{newTree[K]()} }

func (t table[K, V]) copy() table[K, V] {
	if t.m == nil {
		return newTable[K, V]()
	}
	return table[K, V]{t.m.Copy()}
}

func (t table[K, V]) get(k K) (v V, ok bool) {
	if t.m == nil {
		return v, false
	}
	x, ok := t.m.Get(k)
	if ok {
		v = x.(V)
	}
	return v, ok
}

func (t table[K, V]) set(k K, v V) { t.m.Set(k, v) }

func (t table[K, V]) delete(k K) (v V, ok bool) {
	x, ok := t.m.Delete(k)
	if ok {
		v = x.(V)
	}
	return v, ok
}

func (t table[K, V]) len() int {
	if t.m == nil {
		return 0
	}
	return t.m.Len()
}

// all visits the entries in key order until f returns false.
func (t table[K, V]) all(f func(K, V) bool) {
	if t.m != nil {
		t.m.Scan(func(k K, x any) bool { return f(k, x.(V)) })
	}
}

// from visits the entries from k on in key order until f returns false.
func (t table[K, V]) from(k K, f func(K, V) bool) {
	if t.m != nil {
		t.m.Ascend(k, func(k K, x any) bool { return f(k, x.(V)) })
	}
}

// back visits the entries in reverse key order until f returns false.
func (t table[K, V]) back(f func(K, V) bool) {
	if t.m != nil {
		t.m.Reverse(func(k K, x any) bool { return f(k, x.(V)) })
	}
}

func (t table[K, V]) values() []V {
	if t.m == nil {
		return nil
	}
	out := make([]V, 0, t.m.Len())
	t.all(func(_ K, v V) bool { out = append(out, v); return true })
	return out
}

func (t table[K, V]) keys() []K {
	if t.m == nil {
		return nil
	}
	return t.m.Keys()
}

// trim takes the smallest keys out until at most n entries are left.
func (t table[K, V]) trim(n int) {
	for t.m.Len() > n {
		t.m.PopMin()
	}
}

// record is a value in a table that is changed in place while only the builder
// has it, and copied before a change once a mark shares it.
type record[T any] interface {
	*T
	owner() *uint64 // the generation of the builder that may change it
	seal()          // called on a fresh shallow copy: stop sharing slices and tables
}

// gen is embedded in records; see [record].
type gen struct{ n uint64 }

func (g *gen) owner() *uint64 { return &g.n }

// edit gives the record at k ready to be changed, a new one if there is none.
func edit[K cmp.Ordered, T any, P record[T]](b *Builder, t table[K, P], k K) P {
	old, ok := t.get(k)
	if ok && *old.owner() == b.gen {
		return old
	}
	fresh := P(new(T))
	if ok {
		*fresh = *old
		fresh.seal()
	}
	*fresh.owner() = b.gen
	t.set(k, fresh)
	return fresh
}

// clip ends the sharing of a slice's spare capacity, so that appending to it
// never writes where another state may look.
func clip[T any](s *[]T) { *s = (*s)[:len(*s):len(*s)] }

// recent appends to a slice that keeps about the last n elements.
func recent[T any](s []T, x T, n int) []T {
	if len(s) >= 2*n {
		s = append(make([]T, 0, 2*n), s[len(s)-n+1:]...)
	}
	return append(s, x)
}

// last gives up to the last n elements.
func last[T any](s []T, n int) []T {
	if len(s) > n {
		s = s[len(s)-n:]
	}
	return s[:len(s):len(s)]
}
