package mvcc

import (
	"fmt"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// foo is the key index of the doc comment's example.
func foo() *keyIndex {
	ki := newKeyIndex("foo")
	alive := func(main int64) version {
		return version{Revision{Main: main}, &mvccpb.KeyValue{CreateRevision: main}}
	}
	dead := func(main int64) version { return version{Revision{Main: main}, &mvccpb.KeyValue{}} }
	ki.put(alive(1))
	ki.put(alive(2))
	ki.tombstone(dead(3))
	ki.put(alive(4))
	ki.tombstone(dead(5))
	return ki
}

func Example_keyIndex() {
	fmt.Println(foo())
	for _, rev := range []int64{2, 4, 5, 6} {
		ki := foo()
		ki.compact(rev)
		fmt.Printf("compact(%d): %v\n", rev, ki)
	}
	// Output:
	// {1.0, 2.0, 3.0(t)} {4.0, 5.0(t)} {}
	// compact(2): {2.0, 3.0(t)} {4.0, 5.0(t)} {}
	// compact(4): {4.0, 5.0(t)} {}
	// compact(5): {5.0(t)} {}
	// compact(6): {}
}

func TestKeyIndexFindsTheStateAtEachRevision(t *testing.T) {
	ki := foo()
	for rev, want := range []int64{0, 1, 2, 0, 4, 0, 0} { // 2 and 4 name the version's own creation here
		got := ki.get(int64(rev)).GetCreateRevision()
		if got != want {
			t.Errorf("at revision %d: version %d, want %d", rev, got, want)
		}
	}
}

func TestKeyIndexRefusesARevisionThatIsNotNewer(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an old revision was appended")
		}
	}()
	ki := foo()
	ki.put(version{Revision{Main: 5}, &mvccpb.KeyValue{CreateRevision: 5}})
}
