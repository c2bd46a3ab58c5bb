package member

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// A log file is looked through before bbolt opens it. bbolt has a checksum for its
// two meta pages only: of a page that is not what it was it says nothing, or panics
// (and then keeps the file locked), or silently reads less. Here every page must be
// either in the tree, once, or in the list of free pages, and hold what its header
// says. What the entries themselves hold is checked afterwards (checksum.go).
//
// Mirrors go.etcd.io/bbolt internal/common/page.go and tx_check.go.

const (
	metaMagic    = 0xED0CDAED
	metaSumStart = 56 // the checksum's place in a meta
	metaSize     = metaSumStart + 8

	pageHeader = 16
	pageBranch = 0x01
	pageLeaf   = 0x02
	pageFree   = 0x10

	elementSize  = 16
	bucketHeader = 16
	bucketLeaf   = 0x01
)

// forgotten is what must not happen to a member without it knowing.
const forgotten = "a member that has forgotten its votes must not come back under its old name"

// inspect looks at a log file before bbolt does. It says what is wrong with it.
func inspect(path string) error {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("is missing; " + forgotten)
	case err != nil:
		return err
	case len(data) == 0:
		return errors.New("is empty; " + forgotten)
	}
	f := &boltFile{data: data}
	if err := f.check(); err != nil {
		return fmt.Errorf("is damaged: %w", err)
	}
	return nil
}

// boltFile is the bytes of a bbolt file.
type boltFile struct {
	data []byte
	size uint64 // of a page
	end  uint64 // how many pages are in use, or were
	used []bool
	tree []uint64 // the pages with keys and values
}

// meta is what is needed of a meta page.
type meta struct{ root, freelist, end, txid uint64 }

func (f *boltFile) check() error {
	m, err := f.metas()
	if err != nil {
		return err
	}
	f.end = m.end
	if f.end < 4 || f.end > uint64(len(f.data))/f.size {
		return fmt.Errorf("it should have %d pages of %d bytes, but has %d bytes", f.end, f.size, len(f.data))
	}
	f.used = make([]bool, f.end)
	f.used[0], f.used[1] = true, true
	if err := f.walk(m.root, nil, nil, 0); err != nil {
		return err
	}
	return f.freelist(m.freelist)
}

// metas gives the newer meta. bbolt writes the two in turn; one that is not whole
// makes it fall back on the other, that is, forget the last write.
func (f *boltFile) metas() (newest meta, err error) {
	f.size = uint64(os.Getpagesize())
	for page := range uint64(2) {
		at := page*f.size + pageHeader
		if at+metaSize > uint64(len(f.data)) {
			return newest, fmt.Errorf("its meta page %d is missing", page)
		}
		b := f.data[at : at+metaSize]
		if binary.NativeEndian.Uint32(b) != metaMagic || binary.NativeEndian.Uint64(b[metaSumStart:]) != fnv64a(b[:metaSumStart]) {
			return newest, fmt.Errorf("its meta page %d is not whole, so its last write may be lost", page)
		}
		if size := binary.NativeEndian.Uint32(b[8:]); uint64(size) != f.size {
			return newest, fmt.Errorf("its pages have %d bytes; this machine's have %d", size, f.size)
		}
		m := meta{
			root: binary.NativeEndian.Uint64(b[16:]), freelist: binary.NativeEndian.Uint64(b[32:]),
			end: binary.NativeEndian.Uint64(b[40:]), txid: binary.NativeEndian.Uint64(b[48:]),
		}
		if m.txid%2 != page || page == 1 && m.txid != newest.txid+1 && m.txid+1 != newest.txid {
			return newest, fmt.Errorf("its meta page %d is of write %d, which is not its turn", page, m.txid)
		}
		if page == 0 || m.txid > newest.txid {
			newest = m
		}
	}
	return newest, nil
}

// page is a page with those that overflow from it.
type page struct {
	id    uint64
	flags uint16
	count uint16
	body  []byte // after the header
}

// take gives a page, which nothing else may have taken.
func (f *boltFile) take(id uint64, kinds uint16) (p page, err error) {
	if id < 2 || id >= f.end {
		return p, fmt.Errorf("something points to page %d of %d", id, f.end)
	}
	b := f.data[id*f.size : (id+1)*f.size]
	p = page{id: id, flags: binary.NativeEndian.Uint16(b[8:]), count: binary.NativeEndian.Uint16(b[10:])}
	more := uint64(binary.NativeEndian.Uint32(b[12:]))
	switch {
	case binary.NativeEndian.Uint64(b) != id:
		return p, fmt.Errorf("page %d says that it is page %d", id, binary.NativeEndian.Uint64(b))
	case p.flags&kinds == 0 || p.flags&(p.flags-1) != 0:
		return p, fmt.Errorf("page %d is of kind %#x", id, p.flags)
	case more >= f.end-id:
		return p, fmt.Errorf("page %d goes on for %d pages, beyond the end", id, more)
	}
	for i := id; i <= id+more; i++ {
		if f.used[i] {
			return p, fmt.Errorf("page %d is in two places", i)
		}
		f.used[i] = true
	}
	p.body = f.data[id*f.size+pageHeader : (id+more+1)*f.size]
	return p, nil
}

// maxDepth is more than a tree of the smallest pages can have.
const maxDepth = 64

// walk goes through a tree of pages whose keys are from low up to below high (nil:
// no bound).
func (f *boltFile) walk(id uint64, low, high []byte, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("page %d is too deep in the tree", id)
	}
	p, err := f.take(id, pageBranch|pageLeaf)
	if err != nil {
		return err
	}
	f.tree = append(f.tree, id)
	if p.flags == pageBranch {
		return f.branch(p, low, high, depth)
	}
	return f.leaf(p, low, high, depth)
}

func (f *boltFile) branch(p page, low, high []byte, depth int) error {
	n := int(p.count)
	if n == 0 || n*elementSize > len(p.body) {
		return fmt.Errorf("page %d has %d branches", p.id, n)
	}
	keys, children := make([][]byte, n+1), make([]uint64, n)
	for i := range n {
		e := p.body[i*elementSize:]
		key, _, err := p.slice(i, binary.NativeEndian.Uint32(e), binary.NativeEndian.Uint32(e[4:]), 0)
		if err != nil {
			return err
		}
		if err := p.inOrder(i, keys, key, low, high); err != nil {
			return err
		}
		keys[i], children[i] = key, binary.NativeEndian.Uint64(e[8:])
	}
	keys[n] = high
	for i, child := range children {
		if err := f.walk(child, keys[i], keys[i+1], depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (f *boltFile) leaf(p page, low, high []byte, depth int) error {
	n := int(p.count)
	if n*elementSize > len(p.body) {
		return fmt.Errorf("page %d has %d elements", p.id, n)
	}
	keys := make([][]byte, n)
	for i := range n {
		e := p.body[i*elementSize:]
		flags := binary.NativeEndian.Uint32(e)
		key, value, err := p.slice(i, binary.NativeEndian.Uint32(e[4:]), binary.NativeEndian.Uint32(e[8:]), binary.NativeEndian.Uint32(e[12:]))
		if err != nil {
			return err
		}
		if err := p.inOrder(i, keys, key, low, high); err != nil {
			return err
		}
		keys[i] = key
		switch {
		case flags&^uint32(bucketLeaf) != 0:
			return fmt.Errorf("element %d of page %d is of kind %#x", i, p.id, flags)
		case flags == bucketLeaf:
			if err := f.bucket(p, value, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// bucket is a bucket within another: a tree of its own, or, if it is small, one
// leaf inside the element.
func (f *boltFile) bucket(p page, value []byte, depth int) error {
	if len(value) < bucketHeader {
		return fmt.Errorf("page %d holds a bucket of %d bytes", p.id, len(value))
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return f.walk(root, nil, nil, depth+1)
	}
	b := value[bucketHeader:]
	if len(b) < pageHeader || binary.NativeEndian.Uint16(b[8:]) != pageLeaf || depth > maxDepth {
		return fmt.Errorf("page %d holds a bucket that is none", p.id)
	}
	return f.leaf(page{id: p.id, flags: pageLeaf, count: binary.NativeEndian.Uint16(b[10:]), body: b[pageHeader:]}, nil, nil, depth+1)
}

// slice is the key and value of an element, which begin pos bytes after it.
func (p *page) slice(i int, pos, key, value uint32) (k, v []byte, err error) {
	start := uint64(i*elementSize) + uint64(pos)
	mid := start + uint64(key)
	end := mid + uint64(value)
	if start < uint64(p.count)*elementSize || end > uint64(len(p.body)) || key == 0 {
		return nil, nil, fmt.Errorf("element %d of page %d is not within its page", i, p.id)
	}
	return p.body[start:mid], p.body[mid:end], nil
}

func (p *page) inOrder(i int, keys [][]byte, key, low, high []byte) error {
	if i > 0 && bytes.Compare(keys[i-1], key) >= 0 || i == 0 && low != nil && bytes.Compare(low, key) > 0 || high != nil && bytes.Compare(key, high) >= 0 {
		return fmt.Errorf("element %d of page %d is not in order", i, p.id)
	}
	return nil
}

// freelist checks that every page is free or in the tree, and none both.
func (f *boltFile) freelist(id uint64) error {
	p, err := f.take(id, pageFree)
	if err != nil {
		return err
	}
	n, ids := uint64(p.count), p.body
	if p.count == 0xFFFF {
		n, ids = binary.NativeEndian.Uint64(ids), ids[8:]
	}
	if n > uint64(len(ids))/8 {
		return fmt.Errorf("page %d lists %d free pages", p.id, n)
	}
	for i := range n {
		free := binary.NativeEndian.Uint64(ids[8*i:])
		if free < 2 || free >= f.end {
			return fmt.Errorf("page %d of %d is said to be free", free, f.end)
		}
		if f.used[free] {
			return fmt.Errorf("page %d is said to be free, and is not", free)
		}
		f.used[free] = true
	}
	for id, used := range f.used {
		if !used {
			return fmt.Errorf("page %d belongs to nothing", id)
		}
	}
	return nil
}

func fnv64a(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
