package mvcc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

// Snapshot is the store at one moment. Taking one costs the same however big
// the store is, and it may be used by another goroutine while the store goes on.
type Snapshot struct {
	currentRev, compactRev int64
	applied                uint64
	revisions              tree[version]
	leases                 tree[*lease]
	pages                  layout
}

// Snapshot takes a snapshot: the trees are copied on write from now on.
func (s *Store) Snapshot() *Snapshot {
	return &Snapshot{
		currentRev: s.currentRev,
		compactRev: s.compactRev,
		applied:    s.applied,
		revisions:  s.revisions.Copy(),
		leases:     s.leases.Copy(),
		pages:      s.pages.copy(),
	}
}

// Revision is the store's revision at that moment.
func (sn *Snapshot) Revision() int64 { return sn.currentRev }

// CompactRevision is the store's compacted revision at that moment.
func (sn *Snapshot) CompactRevision() int64 { return sn.compactRev }

// AppliedIndex is the store's applied index at that moment.
func (sn *Snapshot) AppliedIndex() uint64 { return sn.applied }

// Records calls fn for every revision of the snapshot in order, with the key
// and value bytes that etcd would hold in the "key" bucket of its database.
func (sn *Snapshot) Records(fn func(key, value []byte) error) error {
	var err error
	sn.revisions.Scan(func(v version) bool {
		err = fn(v.rev.appendKey(nil, v.tombstone()), appendKV(nil, v))
		return err == nil
	})
	return err
}

// Leases calls fn for every lease of the snapshot in order of ID.
func (sn *Snapshot) Leases(fn func(id, ttl int64) error) error {
	var err error
	sn.leases.Scan(func(l *lease) bool {
		err = fn(l.id, l.ttl)
		return err == nil
	})
	return err
}

// The file: magic, format version, then unsigned varints (revision, compacted
// revision + 1, applied index, leases, for each id, ttl and remaining ttl; revisions, for each
// main, sub, tombstone, length and the KeyValue's protobuf; pages of the database,
// its leaves, for each the number of records), then a CRC-32C of everything
// before it, little-endian.
const (
	snapshotMagic   = "kviz.mvcc"
	snapshotVersion = 2
	maxRecordBytes  = 64 << 20 // no request that big passes any server
)

// ErrDamaged is wrapped by the errors of [Store.Restore] for a file that is
// not a whole, unchanged snapshot.
var ErrDamaged = errors.New("snapshot is damaged")

// WriteTo writes the snapshot so that [Store.Restore] can read it.
func (sn *Snapshot) WriteTo(w io.Writer) (int64, error) {
	sum := crc32.New(castagnoli)
	out := &countingWriter{w: bufio.NewWriterSize(w, 1<<16), sum: sum}
	b := append([]byte(snapshotMagic), snapshotVersion)
	b = binary.AppendUvarint(b, uint64(sn.currentRev))
	b = binary.AppendUvarint(b, uint64(sn.compactRev+1))
	b = binary.AppendUvarint(b, sn.applied)
	b = binary.AppendUvarint(b, uint64(sn.leases.Len()))
	sn.leases.Scan(func(l *lease) bool {
		b = binary.AppendUvarint(b, uint64(l.id))
		b = binary.AppendUvarint(b, uint64(l.ttl))
		b = binary.AppendUvarint(b, uint64(l.remaining))
		return true
	})
	b = binary.AppendUvarint(b, uint64(sn.revisions.Len()))
	out.Write(b)
	var kv []byte
	sn.revisions.Scan(func(v version) bool {
		dead := uint64(0)
		if v.tombstone() {
			dead = 1
		}
		kv = appendKV(kv[:0], v)
		b = binary.AppendUvarint(b[:0], uint64(v.rev.Main))
		b = binary.AppendUvarint(b, uint64(v.rev.Sub))
		b = binary.AppendUvarint(b, dead)
		b = binary.AppendUvarint(b, uint64(len(kv)))
		out.Write(b)
		out.Write(kv)
		return out.err == nil
	})
	b = binary.AppendUvarint(b[:0], uint64(sn.pages.high))
	b = binary.AppendUvarint(b, uint64(sn.pages.leaves.Len()))
	sn.pages.leaves.Scan(func(l leaf) bool {
		b = binary.AppendUvarint(b, uint64(l.n))
		return true
	})
	out.Write(b)
	out.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32()))
	if out.err == nil {
		out.err = out.w.Flush()
	}
	return out.n, out.err
}

// countingWriter keeps the first error, so that the writing code reads straight.
type countingWriter struct {
	w   *bufio.Writer
	sum hash.Hash32
	n   int64
	err error
}

func (c *countingWriter) Write(b []byte) {
	if c.err != nil {
		return
	}
	c.sum.Write(b)
	n, err := c.w.Write(b)
	c.n, c.err = c.n+int64(n), err
}

// Restore replaces the store's contents by a snapshot. If it fails, the store
// is as it was.
//
// Mirrors etcd server/storage/mvcc/kvstore.go restore: the index is rebuilt
// from the revisions.
func (s *Store) Restore(r io.Reader) error {
	in := &snapshotReader{r: bufio.NewReaderSize(r, 1<<16), sum: crc32.New(castagnoli)}
	fresh, err := in.read()
	if err != nil {
		return fmt.Errorf("mvcc: restore: %w", err)
	}
	*s = *fresh
	return nil
}

type snapshotReader struct {
	r   *bufio.Reader
	sum hash.Hash32
	err error
}

// ReadByte lets binary.ReadUvarint read through the checksum.
func (in *snapshotReader) ReadByte() (byte, error) {
	c, err := in.r.ReadByte()
	if err == nil {
		in.sum.Write([]byte{c})
	}
	return c, err
}

func (in *snapshotReader) uvarint() uint64 {
	if in.err != nil {
		return 0
	}
	var x uint64
	x, in.err = binary.ReadUvarint(in)
	return x
}

// bytes reads n bytes; memory grows with what is really there, not with n.
func (in *snapshotReader) bytes(n uint64) []byte {
	if in.err == nil && n > maxRecordBytes {
		in.err = fmt.Errorf("a record of %d bytes", n)
	}
	if in.err != nil {
		return nil
	}
	var buf bytes.Buffer
	_, in.err = io.CopyN(&buf, in.r, int64(n))
	in.sum.Write(buf.Bytes())
	return buf.Bytes()
}

func (in *snapshotReader) read() (*Store, error) {
	head := in.bytes(uint64(len(snapshotMagic)) + 1)
	if in.err == nil && string(head[:len(snapshotMagic)]) != snapshotMagic {
		return nil, fmt.Errorf("%w: it does not begin with %q, so it is not a snapshot of this store", ErrDamaged, snapshotMagic)
	}
	if in.err == nil && head[len(snapshotMagic)] != snapshotVersion {
		return nil, fmt.Errorf("snapshot has format %d, this program reads format %d", head[len(snapshotMagic)], snapshotVersion)
	}
	s := New()
	s.currentRev = int64(in.uvarint())
	s.compactRev = int64(in.uvarint()) - 1
	s.applied = in.uvarint()
	if in.err == nil && (s.currentRev < 1 || s.compactRev < -1 || s.compactRev > s.currentRev) {
		return nil, fmt.Errorf("%w: revision %d with compacted revision %d", ErrDamaged, s.currentRev, s.compactRev)
	}
	for n := in.uvarint(); n > 0 && in.err == nil; n-- {
		l := &lease{id: int64(in.uvarint()), ttl: int64(in.uvarint()), remaining: int64(in.uvarint()), keys: map[string]struct{}{}}
		s.leases.Set(l)
	}
	last := Revision{Main: -1}
	for n := in.uvarint(); n > 0 && in.err == nil; n-- {
		v := in.version(s)
		if in.err == nil && !last.Less(v.rev) {
			in.err = fmt.Errorf("revision %v after %v", v.rev, last)
		}
		if in.err == nil {
			in.err = s.restoreVersion(v)
		}
		last = v.rev
	}
	in.pages(s)
	in.trailer()
	if in.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, unexpectedEnd(in.err))
	}
	s.reattach()
	return s, nil
}

func (in *snapshotReader) version(s *Store) version {
	v := version{rev: Revision{Main: int64(in.uvarint()), Sub: int64(in.uvarint())}, kv: &mvccpb.KeyValue{}}
	dead := in.uvarint()
	data := in.bytes(in.uvarint())
	if in.err != nil {
		return v
	}
	if in.err = proto.Unmarshal(data, v.kv); in.err != nil {
		return v
	}
	switch kv := v.kv; {
	case v.rev.Main < 0 || v.rev.Main > s.currentRev || v.rev.Sub < 0:
		in.err = fmt.Errorf("revision %v in a store at revision %d", v.rev, s.currentRev)
	case len(kv.Key) == 0:
		in.err = fmt.Errorf("revision %v has no key", v.rev)
	case dead > 1 || dead == 1 && (kv.CreateRevision != 0 || kv.ModRevision != 0):
		in.err = fmt.Errorf("the tombstone at revision %v is no tombstone", v.rev)
	case dead == 1:
		kv.ModRevision = v.rev.Main
	case kv.ModRevision != v.rev.Main || kv.CreateRevision < 1 || kv.CreateRevision > kv.ModRevision:
		in.err = fmt.Errorf("revision %v says it was created at %d and modified at %d", v.rev, kv.CreateRevision, kv.ModRevision)
	}
	return v
}

// restoreVersion files one version; versions come in the order they happened.
func (s *Store) restoreVersion(v version) error {
	_, known := s.keys[string(v.kv.Key)]
	ki := s.keyIndex(v.kv.Key)
	s.revisions.Set(v)
	if !v.tombstone() {
		ki.put(v)
		return nil
	}
	// A tombstone may stand alone only where compaction left it.
	if ki.live() == nil && (known || v.rev.Main != s.compactRev) {
		return fmt.Errorf("revision %v deletes key %q, which does not exist then", v.rev, ki.key)
	}
	ki.tombstone(v)
	return nil
}

// pages reads where the records would be in the database.
func (in *snapshotReader) pages(s *Store) {
	high, leaves := in.uvarint(), in.uvarint()
	if in.err == nil && leaves > uint64(s.revisions.Len()) {
		in.err = fmt.Errorf("%d records in %d leaves", s.revisions.Len(), leaves)
	}
	if in.err != nil {
		return
	}
	ns := make([]int, leaves)
	left := uint64(s.revisions.Len())
	for i := range ns {
		n := in.uvarint()
		if in.err == nil && (n == 0 || n > left) {
			in.err = fmt.Errorf("a leaf of %d records where %d are left", n, left)
		}
		if in.err != nil {
			return
		}
		ns[i], left = int(n), left-n
	}
	s.pages.lay(s.revisions, ns)
	in.err = s.pages.reach(high)
}

// reattach gives the leases their keys back.
func (s *Store) reattach() {
	s.index.Scan(func(ki *keyIndex) bool {
		if kv := ki.live(); kv != nil {
			s.attach(kv.Lease, ki.key)
		}
		return true
	})
}

// trailer compares the checksum and makes sure that nothing follows.
func (in *snapshotReader) trailer() {
	if in.err != nil {
		return
	}
	want := in.sum.Sum32()
	var b [4]byte
	if _, in.err = io.ReadFull(in.r, b[:]); in.err != nil {
		return
	}
	if got := binary.LittleEndian.Uint32(b[:]); got != want {
		in.err = fmt.Errorf("its checksum is %08x, its contents have %08x", got, want)
		return
	}
	if _, err := in.r.ReadByte(); err != io.EOF {
		in.err = errors.New("something follows its end")
	}
}

func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	return err
}
