package mvcc

import "github.com/tidwall/btree"

// tree is a sorted set that is copied in constant time: a [btree.BTreeG], behind an
// interface so that the packages that import this one do not each compile its methods again
// for each type of items, as the compiler would.
type tree[T any] interface {
	Len() int
	Get(like T) (T, bool)
	Set(T) (replaced T, had bool)
	Delete(like T) (deleted T, had bool)
	Ascend(from T, visit func(T) bool)
	Scan(visit func(T) bool)
	Copy() tree[T]
}

type sorted[T any] struct{ *btree.BTreeG[T] }

// Copy is tree.
func (s sorted[T]) Copy() tree[T] { return sorted[T]{s.BTreeG.Copy()} }

var noLocks = btree.Options{NoLocks: true}

// These are not inlined, so that nobody else sees what they make.

//go:noinline
func newIndex() tree[*keyIndex] {
	return sorted[*keyIndex]{btree.NewBTreeGOptions(keyIndexLess, noLocks)}
}

//go:noinline
func newRevisions() tree[version] {
	return sorted[version]{btree.NewBTreeGOptions(versionLess, noLocks)}
}

//go:noinline
func newLeases() tree[*lease] {
	return sorted[*lease]{btree.NewBTreeGOptions(func(a, b *lease) bool { return a.id < b.id }, noLocks)}
}

//go:noinline
func newLeaves() tree[leaf] {
	return sorted[leaf]{btree.NewBTreeGOptions(func(a, b leaf) bool { return a.first.Less(b.first) }, noLocks)}
}
