package dbfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// pages reads a bbolt file without bbolt. Every offset, count and page number
// is checked before it is used, no page is read twice in one walk, and nothing
// is allocated that the file is not big enough for: whatever the file holds,
// the end is an error at worst.
//
// The layout is bbolt's internal/common: page.go, meta.go, bucket.go, inode.go.
type pages struct {
	r    io.ReaderAt
	end  int64 // bytes of the file that are pages
	size int64 // of a page
	high uint64
	root uint64
	seen map[uint64]bool // in the tree that is being walked
}

const (
	pageHeader   = 16
	elementSize  = 16
	bucketHeader = 16
	metaSize     = 64

	flagBranch = 0x01
	flagLeaf   = 0x02
	flagMeta   = 0x04

	elementBucket = 0x01

	boltMagic   = 0xED0CDAED
	boltVersion = 2

	maxDepth = 64
)

var order = binary.NativeEndian

// openPages looks at the two meta pages, which bbolt writes in turn. One that
// is not whole would make bbolt fall back on the other, that is, forget the
// last write.
func openPages(r io.ReaderAt, end int64) (*pages, error) {
	p := &pages{r: r, end: end}
	first, err := p.meta(0)
	if err != nil {
		return nil, err
	}
	p.size = int64(first.size)
	second, err := p.meta(p.size)
	if err != nil {
		return nil, err
	}
	newer := first
	if second.txid > first.txid {
		newer = second
	}
	if second.size != first.size {
		return nil, fmt.Errorf("its meta pages disagree about the size of a page: %d and %d", first.size, second.size)
	}
	p.high, p.root = newer.high, newer.root
	if p.high > uint64(end/p.size) {
		return nil, fmt.Errorf("it ends too early: it should have %d pages of %d bytes, and has %d bytes", p.high, p.size, end)
	}
	return p, nil
}

type meta struct {
	size             uint32
	root, high, txid uint64
}

func (p *pages) meta(at int64) (m meta, err error) {
	which := "first"
	if at > 0 {
		which = "second"
	}
	b := make([]byte, pageHeader+metaSize)
	if at+int64(len(b)) > p.end {
		return m, errors.New("it ends before its meta pages do")
	}
	if _, err := p.r.ReadAt(b, at); err != nil {
		return m, err
	}
	b = b[pageHeader:]
	sum := fnv.New64a()
	sum.Write(b[:metaSize-8])
	switch {
	case order.Uint32(b) != boltMagic:
		return m, fmt.Errorf("its %s meta page is none: this is no etcd database, or its beginning is damaged", which)
	case order.Uint64(b[metaSize-8:]) != sum.Sum64():
		return m, fmt.Errorf("its %s meta page is not whole, so its last write may be lost", which)
	case order.Uint32(b[4:]) != boltVersion:
		return m, fmt.Errorf("it has bbolt's format %d, and %d is what etcd writes", order.Uint32(b[4:]), boltVersion)
	}
	m = meta{size: order.Uint32(b[8:]), root: order.Uint64(b[16:]), high: order.Uint64(b[40:]), txid: order.Uint64(b[48:])}
	if m.size < 512 || m.size > 1<<20 || m.size&(m.size-1) != 0 {
		return m, fmt.Errorf("its pages have %d bytes each, which no etcd writes", m.size)
	}
	return m, nil
}

// page is one page with what overflows from it.
type page struct {
	id    uint64
	flags uint16
	count int
	data  []byte
}

// read reads a page and checks its header.
func (p *pages) read(id uint64) (pg page, err error) {
	if id < 2 || id >= p.high {
		return pg, fmt.Errorf("page %d is named, and there are pages 2 to %d", id, p.high-1)
	}
	if p.seen[id] {
		return pg, fmt.Errorf("page %d is in the tree twice", id)
	}
	p.seen[id] = true
	head := make([]byte, pageHeader)
	if _, err := p.r.ReadAt(head, int64(id)*p.size); err != nil {
		return pg, fmt.Errorf("page %d: %w", id, err)
	}
	overflow := uint64(order.Uint32(head[12:]))
	if got := order.Uint64(head); got != id {
		return pg, fmt.Errorf("page %d says it is page %d", id, got)
	}
	if overflow >= p.high-id {
		return pg, fmt.Errorf("page %d goes on for %d pages, beyond the end", id, overflow)
	}
	data := make([]byte, int64(overflow+1)*p.size)
	if _, err := p.r.ReadAt(data, int64(id)*p.size); err != nil {
		return pg, fmt.Errorf("page %d: %w", id, err)
	}
	return parsePage(id, data)
}

func parsePage(id uint64, data []byte) (pg page, err error) {
	if len(data) < pageHeader {
		return pg, fmt.Errorf("page %d is too short", id)
	}
	pg = page{id: id, flags: order.Uint16(data[8:]), count: int(order.Uint16(data[10:])), data: data}
	if pg.flags != flagBranch && pg.flags != flagLeaf {
		return pg, fmt.Errorf("page %d is neither leaf nor branch (flags %#x)", id, pg.flags)
	}
	if pageHeader+pg.count*elementSize > len(data) {
		return pg, fmt.Errorf("page %d has %d elements, more than fit", id, pg.count)
	}
	return pg, nil
}

// part is a piece of the page, counted from the element's own place.
func (pg page) part(element int, pos, size uint32) ([]byte, error) {
	from := uint64(pageHeader+element*elementSize) + uint64(pos)
	if from+uint64(size) > uint64(len(pg.data)) {
		return nil, fmt.Errorf("element %d of page %d reaches beyond its end", element, pg.id)
	}
	return pg.data[from : from+uint64(size) : from+uint64(size)], nil
}

// walk calls fn for the elements of the tree below a page, in order of key.
func (p *pages) walk(id uint64, depth int, fn func(flags uint32, key, value []byte) error) error {
	pg, err := p.read(id)
	if err != nil {
		return err
	}
	return p.elements(pg, depth, fn)
}

func (p *pages) elements(pg page, depth int, fn func(flags uint32, key, value []byte) error) error {
	if depth > maxDepth {
		return fmt.Errorf("page %d is %d levels deep", pg.id, depth)
	}
	for i := range pg.count {
		e := pg.data[pageHeader+i*elementSize:]
		if pg.flags == flagBranch {
			if err := p.walk(order.Uint64(e[8:]), depth+1, fn); err != nil {
				return err
			}
			continue
		}
		pos, ksize, vsize := order.Uint32(e[4:]), order.Uint32(e[8:]), order.Uint32(e[12:])
		key, err := pg.part(i, pos, ksize)
		if err != nil {
			return err
		}
		both, err := pg.part(i, pos, ksize+min(vsize, ^ksize))
		if err != nil {
			return err
		}
		if err := fn(order.Uint32(e), key, both[ksize:]); err != nil {
			return err
		}
	}
	return nil
}

// buckets lists the buckets of the file: the name of each, and what its header
// says.
func (p *pages) buckets() (map[string][]byte, error) {
	p.seen = map[uint64]bool{}
	found := map[string][]byte{}
	err := p.walk(p.root, 0, func(flags uint32, key, value []byte) error {
		if flags&elementBucket == 0 {
			return fmt.Errorf("%q is at its top and is no bucket", key)
		}
		if len(value) < bucketHeader {
			return fmt.Errorf("bucket %q has no header", key)
		}
		found[string(key)] = value
		return nil
	})
	return found, err
}

// bucket calls fn for every key of a bucket, in order. What fn is given is its
// own to keep.
func (p *pages) bucket(header []byte, fn func(key, value []byte) error) error {
	p.seen = map[uint64]bool{}
	var last []byte
	each := func(flags uint32, key, value []byte) error {
		if flags != 0 {
			return fmt.Errorf("%q is no plain key (flags %#x)", key, flags)
		}
		if last != nil && string(last) >= string(key) {
			return fmt.Errorf("key %q comes after %q", key, last)
		}
		last = key
		return fn(key, value)
	}
	if root := order.Uint64(header); root != 0 {
		return p.walk(root, 0, each)
	}
	// A small bucket is kept whole behind its header.
	pg, err := parsePage(0, header[bucketHeader:])
	if err != nil {
		return err
	}
	if pg.flags != flagLeaf {
		return errors.New("a small bucket that is no leaf")
	}
	return p.elements(pg, 0, each)
}
