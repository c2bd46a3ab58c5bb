package view

import (
	"cmp"
	"sync"

	"github.com/tidwall/btree"
)

// tree is what a table keeps its entries in: a [btree.Map].
//
// It is an interface, and keeps values as any, for the compiler's sake: whoever imports
// this package would compile every method of every instance of a generic type again that
// its types lead to, and that took a third of kviz' own build.
type tree[K cmp.Ordered] interface {
	Get(K) (any, bool)
	Set(K, any) (any, bool)
	Delete(K) (any, bool)
	Len() int
	Scan(func(K, any) bool)
	Ascend(K, func(K, any) bool)
	Reverse(func(K, any) bool)
	Keys() []K
	PopMin() (K, any, bool)
	Copy() tree[K]
}

// degree is the most entries of a node of a tree, halved.
const degree = 16

// newTree makes a tree for one of the three types of keys that tables have.
func newTree[K cmp.Ordered]() tree[K] {
	var k K
	var t any
	switch any(k).(type) {
	case string:
		t = byString()
	case uint64:
		t = byUint64()
	case int64:
		t = byInt64()
	}
	return t.(tree[K])
}

// These name the instances, and so that no importer sees through them, they are not
// inlined.

//go:noinline
func byString() tree[string] { return instance[string]{btree.NewMap[string, any](degree)} }

//go:noinline
func byUint64() tree[uint64] { return instance[uint64]{btree.NewMap[uint64, any](degree)} }

//go:noinline
func byInt64() tree[int64] { return instance[int64]{btree.NewMap[int64, any](degree)} }

type instance[K cmp.Ordered] struct{ *btree.Map[K, any] }

// copying guards the one word that a copy changes in the tree it is taken
// from, which may be part of a state that others copy too.
var copying sync.Mutex

func (t instance[K]) Copy() tree[K] {
	copying.Lock()
	defer copying.Unlock()
	return instance[K]{t.Map.Copy()}
}
