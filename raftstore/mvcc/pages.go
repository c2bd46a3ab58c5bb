package mvcc

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// What bbolt's file is made of, in bytes.
const (
	pageSize    = 4096
	pageHeader  = 16
	element     = 16                  // of a page's directory, for each record
	revisionKey = 8 + 1 + 8           // "main_sub"; a tombstone's has one more
	fullPage    = pageSize * 90 / 100 // etcd fills pages to 90 %: it appends
	halfPage    = pageSize / 2        // what is split after deletes, to 50 %
	sparsePage  = pageSize / 4        // a page with less is merged with its neighbour
	branchKeys  = (fullPage - pageHeader) / (element + revisionKey)

	// rest is the two meta pages, the root and etcd's other buckets.
	rest = 4
	// rewritten is how many pages of the commits before are not free yet, beside
	// those of the last leaf: bbolt writes what changes (branches, roots) to new
	// places, and frees the old ones when nobody reads them.
	rewritten = 4
	// commitBatch is how many records are taken to be in a commit: etcd commits
	// ten times a second. A leaf is split when it is written.
	commitBatch = 100
	// compactBatch is how many records etcd looks at in one commit of a compaction.
	compactBatch = 1000
)

// layout is where etcd's database would have the store's records: which run of
// them shares a page of bbolt's B-tree. Nothing is written; it only accounts, so
// that quota, database size and defragmentation behave as they do in etcd.
//
// Records are appended in order of revision, so only the last leaf grows; one
// that is over full is split as bbolt splits. Compaction takes records out of
// leaves: a leaf below a quarter of a page is merged with its neighbour. Pages
// that get free stay in the file for later use; only defragmentation makes the
// file smaller.
//
// Mirrors go.etcd.io/bbolt node.go (split, rebalance) and etcd
// server/storage/backend/backend.go (size, sizeInUse, defrag).
type layout struct {
	leaves  tree[leaf] // all but the last, by first revision
	last    []record   // of the last leaf
	bytes   int        // of the last leaf's records
	pending int        // records since the last commit
	used    int64      // pages of leaves
	old     int64      // pages of the last leaf when it was written
	high    int64      // pages the file has
}

// leaf is a page, or several for records that do not fit into one.
type leaf struct {
	first Revision // no record before it, since it was made
	n     int
	bytes int
}

type record struct {
	rev  Revision
	size int32
}

func newLayout() layout {
	l := layout{leaves: newLeaves()}
	l.high = l.inUse() + 1
	return l
}

// pagesOf is how many pages that many bytes of records take.
func pagesOf(n int) int64 {
	if n == 0 {
		return 0
	}
	return int64(pageHeader+n+pageSize-1) / pageSize
}

// inUse is how many pages hold something.
func (l *layout) inUse() int64 {
	pages := rest + l.used + pagesOf(l.bytes)
	if l.used > 0 {
		pages += rewritten + 2*l.old
	}
	for n := l.leaves.Len() + 1; n > 1; { // the branch pages of each level
		n = (n + branchKeys - 1) / branchKeys
		pages += int64(n)
	}
	return pages
}

// append takes the next record.
func (l *layout) append(v version) {
	size, was := recordSize(v), pagesOf(l.bytes)
	l.last = append(l.last, record{v.rev, int32(size)})
	l.bytes += size
	if l.pending++; l.pending >= commitBatch {
		l.commit()
	} else if pagesOf(l.bytes) != was {
		l.high = max(l.high, l.inUse()+1)
	}
}

// commit splits the last leaf.
func (l *layout) commit() {
	l.pending = 0
	// bbolt leaves a node alone that has no more than twice the fewest keys.
	for len(l.last) > 4 && pageHeader+l.bytes >= pageSize {
		l.split()
	}
	l.old = pagesOf(l.bytes)
	l.high = max(l.high, l.inUse()+1)
}

// split closes the last leaf where it is full and begins the next one.
func (l *layout) split() {
	n, bytes := 0, 0
	for ; n < len(l.last)-3; n++ { // the next one gets three at least
		size := int(l.last[n].size)
		if n >= 2 && pageHeader+bytes+size > fullPage {
			break
		}
		bytes += size
	}
	l.leaves.Set(leaf{first: l.last[0].rev, n: n, bytes: bytes})
	l.used += pagesOf(bytes)
	l.last = append(l.last[:0], l.last[n:]...)
	l.bytes -= bytes
}

// compacted takes out what a compaction at a revision has removed, of so many
// records, from a file with so many pages in use before. Each of its commits writes the
// leaves again that it took records from, and merges one that is left nearly
// empty with the one before it.
func (l *layout) compacted(rev, before int64, records int, revisions tree[version]) {
	var old []leaf
	l.leaves.Scan(func(lf leaf) bool {
		if lf.first.Main <= rev {
			old = append(old, lf)
		}
		return lf.first.Main <= rev
	})
	now := l.recount(old, revisions)
	written := int64(0)
	var kept []leaf
	for i, lf := range now {
		l.used -= pagesOf(old[i].bytes)
		l.leaves.Delete(old[i])
		if lf.n == 0 {
			continue
		}
		if lf.n != old[i].n {
			written += pagesOf(lf.bytes)
			if sparse := lf.n <= 1 || pageHeader+lf.bytes <= sparsePage; sparse && len(kept) > 0 {
				last := len(kept) - 1
				kept = append(kept[:last], join(kept[last], lf, revisions)...)
				continue
			}
		}
		kept = append(kept, lf)
	}
	for _, lf := range kept {
		l.used += pagesOf(lf.bytes)
		l.leaves.Set(lf)
	}
	l.last = slices.DeleteFunc(l.last, func(r record) bool {
		gone := false
		if r.rev.Main <= rev {
			_, there := revisions.Get(version{rev: r.rev})
			gone = !there
		}
		if gone {
			l.bytes -= int(r.size)
		}
		return gone
	})
	if records > compactBatch {
		written = written * compactBatch / int64(records)
	}
	l.high = max(l.high, before+written+1, l.inUse())
}

// recount is the leaves, which are the first of all, with what is still in them.
func (l *layout) recount(old []leaf, revisions tree[version]) []leaf {
	if len(old) == 0 {
		return nil
	}
	now := make([]leaf, len(old))
	for i, lf := range old {
		now[i].first = lf.first
	}
	end := Revision{Main: math.MaxInt64}
	if len(l.last) > 0 {
		end = l.last[0].rev
	}
	l.leaves.Ascend(old[len(old)-1], func(lf leaf) bool {
		if lf.first != old[len(old)-1].first {
			end = lf.first
			return false
		}
		return true
	})
	i := 0
	revisions.Ascend(version{rev: old[0].first}, func(v version) bool {
		if !v.rev.Less(end) {
			return false
		}
		for i+1 < len(old) && !v.rev.Less(old[i+1].first) {
			i++
		}
		now[i].n++
		now[i].bytes += recordSize(v)
		return true
	})
	return now
}

// join makes one leaf of two neighbours, or two of about the same size.
func join(left, right leaf, revisions tree[version]) []leaf {
	n, bytes := left.n+right.n, left.bytes+right.bytes
	if n <= 4 || pageHeader+bytes < pageSize {
		return []leaf{{first: left.first, n: n, bytes: bytes}}
	}
	a := leaf{first: left.first}
	b := leaf{}
	revisions.Ascend(version{rev: left.first}, func(v version) bool {
		size := recordSize(v)
		if a.n >= n-2 || a.n >= 2 && pageHeader+a.bytes+size > halfPage {
			b.first = v.rev
			return false
		}
		a.n, a.bytes = a.n+1, a.bytes+size
		return true
	})
	b.n, b.bytes = n-a.n, bytes-a.bytes
	return []leaf{a, b}
}

// pack lays the records out again, as defragmentation does.
func (l *layout) pack(revisions tree[version]) {
	*l = newLayout()
	revisions.Scan(func(v version) bool {
		l.append(v)
		return true
	})
	l.commit()
	l.old = 0
	l.high = l.inUse()
}

// lay lays the records out in leaves of so many records each; what is left is in
// the last one.
func (l *layout) lay(revisions tree[version], leaves []int) {
	*l = newLayout()
	revisions.Scan(func(v version) bool {
		size := recordSize(v)
		l.last = append(l.last, record{v.rev, int32(size)})
		l.bytes += size
		if len(leaves) > 0 && len(l.last) == leaves[0] {
			l.leaves.Set(leaf{first: l.last[0].rev, n: len(l.last), bytes: l.bytes})
			l.used += pagesOf(l.bytes)
			l.last, l.bytes, leaves = l.last[:0], 0, leaves[1:]
		}
		return true
	})
}

// reach says how big the file is.
func (l *layout) reach(pages uint64) error {
	if need := l.inUse(); pages < uint64(need) || pages > 1<<40 {
		return fmt.Errorf("a database of %d pages with %d in use", pages, need)
	}
	l.high = int64(pages)
	return nil
}

// copy is for a snapshot.
func (l *layout) copy() layout {
	c := *l
	c.leaves = l.leaves.Copy()
	c.last = append([]record(nil), l.last...)
	return c
}

// recordSize is how many bytes a version takes in a page: its place in the
// page's directory, its revision, and the KeyValue as protobuf.
func recordSize(v version) int {
	kv := v.kv
	n := element + revisionKey + bytesSize(len(kv.Key))
	if v.tombstone() {
		return n + 1
	}
	return n + intSize(kv.CreateRevision) + intSize(kv.ModRevision) + intSize(kv.Version) + bytesSize(len(kv.Value)) + intSize(kv.Lease)
}

// bytesSize is the size of a protobuf field of n bytes, intSize that of an
// integer; fields with nothing in them are left out.
func bytesSize(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + (bits.Len64(uint64(n))+6)/7 + n
}

func intSize(x int64) int {
	if x == 0 {
		return 0
	}
	return 1 + (bits.Len64(uint64(x))+6)/7
}

// Size is how many bytes etcd's database file would have: it grows, and only
// Defragment makes it smaller.
func (s *Store) Size() int64 { return s.pages.high * pageSize }

// SizeInUse is how many bytes of the file would hold something.
func (s *Store) SizeInUse() int64 { return s.pages.inUse() * pageSize }

// Defragment packs the file. What clients see of the store does not change.
func (s *Store) Defragment() { s.pages.pack(s.revisions) }
