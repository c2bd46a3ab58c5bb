package apply

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/mvcc"
)

// Frozen is a State at one moment. Taking one costs the same however much the
// state holds, and it may be used by another goroutine while the state goes on.
type Frozen struct {
	KV     *mvcc.Snapshot
	Alarms []*pb.AlarmMember // by type, then member; not to be changed
	users  authContent

	Versions Versions
}

// Users is what etcd's buckets for users and roles hold.
type Users struct {
	Enabled  bool
	Revision uint64
	Users    []*authpb.User // by name
	Roles    []*authpb.Role // by name
}

// Snapshot takes a snapshot.
func (s *State) Snapshot() *Frozen {
	return &Frozen{KV: s.KV.Snapshot(), Alarms: s.alarms, users: s.users.snapshot(), Versions: s.versions}
}

// Users are the users and roles at that moment.
func (f *Frozen) Users() Users {
	u := &f.users
	return Users{Enabled: u.enabled, Revision: u.revision, Users: u.UnsafeGetAllUsers(), Roles: u.UnsafeGetAllRoles()}
}

// The file: magic, format version, length of the head, the head (see
// appendHead), its CRC-32C, then the key-value state as mvcc writes it.
const (
	snapshotMagic   = "kviz.state"
	snapshotVersion = 1
	mostHead        = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged is wrapped by the errors of [State.Restore] for a file that is
// not a whole, unchanged snapshot.
var ErrDamaged = mvcc.ErrDamaged

// WriteTo writes the snapshot so that [State.Restore] can read it.
func (f *Frozen) WriteTo(w io.Writer) (int64, error) {
	head := f.appendHead(nil)
	b := append([]byte(snapshotMagic), snapshotVersion)
	b = binary.AppendUvarint(b, uint64(len(head)))
	b = append(b, head...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	n, err := w.Write(b)
	if err != nil {
		return int64(n), err
	}
	m, err := f.KV.WriteTo(w)
	return int64(n) + m, err
}

// appendHead appends the alarms (number, then type and member of each), then
// of the users whether auth is on, its revision, and the users and roles
// (number, then length and protobuf of each), then the versions, if they are not
// the usual ones (whether a downgrade is under way, length and text of the
// cluster's version and the downgrade's target).
func (f *Frozen) appendHead(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(f.Alarms)))
	for _, a := range f.Alarms {
		b = binary.AppendUvarint(b, uint64(a.Alarm))
		b = binary.AppendUvarint(b, a.MemberID)
	}
	on := byte(0)
	if f.users.enabled {
		on = 1
	}
	b = append(b, on)
	b = binary.AppendUvarint(b, f.users.revision)
	b = appendTree(b, f.users.users)
	return f.Versions.append(appendTree(b, f.users.roles))
}

// Restore replaces the state by a snapshot's. If it fails, the state is as it
// was. Tokens are not in snapshots: whoever had one must ask for another.
func (s *State) Restore(r io.Reader) error {
	head, err := readHead(r)
	if err != nil {
		return fmt.Errorf("apply: restore: %w", err)
	}
	c := Contents{KV: mvcc.New()}
	if err := c.decode(head); err != nil {
		return fmt.Errorf("apply: restore: %w: %w", ErrDamaged, err)
	}
	if err := c.KV.Restore(r); err != nil {
		return err
	}
	fresh, err := Load(s.limits, c)
	if err != nil {
		return fmt.Errorf("apply: restore: %w", err)
	}
	fresh.Reached(s.reached)
	s.KV, s.users, s.auth = fresh.KV, fresh.users, fresh.auth
	s.setAlarms(fresh.alarms)
	s.guarded, s.versions = fresh.guarded, fresh.versions
	s.measure()
	return nil
}

// Contents is what a State can be made of, see [Load].
type Contents struct {
	KV     *mvcc.Store
	Alarms []*pb.AlarmMember
	Users  Users

	Versions Versions // the zero value is a new cluster's
}

// readHead reads up to where the key-value state begins, byte by byte where
// the length is not known.
func readHead(r io.Reader) ([]byte, error) {
	sum := crc32.New(castagnoli)
	in := io.TeeReader(r, sum)
	start := make([]byte, len(snapshotMagic)+1)
	if _, err := io.ReadFull(in, start); err != nil {
		return nil, fmt.Errorf("%w: it ends before its contents begin", ErrDamaged)
	}
	if bytes.HasPrefix(start, []byte("kviz.mvcc")) {
		return nil, errors.New("the snapshot was written by a kviz that knew no alarms and users; this one does not read it")
	}
	if string(start[:len(snapshotMagic)]) != snapshotMagic {
		return nil, fmt.Errorf("%w: it does not begin with %q, so it is not a snapshot of this store", ErrDamaged, snapshotMagic)
	}
	if v := start[len(snapshotMagic)]; v != snapshotVersion {
		return nil, fmt.Errorf("snapshot has format %d, this program reads format %d", v, snapshotVersion)
	}
	n, err := binary.ReadUvarint(byteReader{in})
	if err != nil || n > mostHead {
		return nil, fmt.Errorf("%w: its head has no length", ErrDamaged)
	}
	var head bytes.Buffer
	if _, err := io.CopyN(&head, in, int64(n)); err != nil {
		return nil, fmt.Errorf("%w: it ends too early", ErrDamaged)
	}
	want := sum.Sum32()
	var b [4]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return nil, fmt.Errorf("%w: it ends too early", ErrDamaged)
	}
	if got := binary.LittleEndian.Uint32(b[:]); got != want {
		return nil, fmt.Errorf("%w: the checksum of its head is %08x, the head has %08x", ErrDamaged, got, want)
	}
	return head.Bytes(), nil
}

type byteReader struct{ io.Reader }

func (r byteReader) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(r.Reader, b[:])
	return b[0], err
}

// decode reads what appendHead wrote.
func (c *Contents) decode(b []byte) error {
	in := &headReader{b: b}
	for n := in.uvarint(); n > 0 && in.err == nil; n-- {
		c.Alarms = append(c.Alarms, &pb.AlarmMember{Alarm: pb.AlarmType(in.uvarint()), MemberID: in.uvarint()})
	}
	on := in.bytes(1)
	c.Users.Enabled = in.err == nil && on[0] == 1
	c.Users.Revision = in.uvarint()
	for n := in.uvarint(); n > 0 && in.err == nil; n-- {
		u := &authpb.User{}
		in.message(u)
		c.Users.Users = append(c.Users.Users, u)
	}
	for n := in.uvarint(); n > 0 && in.err == nil; n-- {
		r := &authpb.Role{}
		in.message(r)
		c.Users.Roles = append(c.Users.Roles, r)
	}
	c.Versions = in.versions()
	if in.err == nil && len(in.b) > 0 {
		in.err = errors.New("something follows its head's end")
	}
	return in.err
}

type headReader struct {
	b   []byte
	err error
}

func (in *headReader) uvarint() uint64 {
	x, n := binary.Uvarint(in.b)
	if n <= 0 {
		in.fail()
		return 0
	}
	in.b = in.b[n:]
	return x
}

func (in *headReader) bytes(n uint64) []byte {
	if n > uint64(len(in.b)) {
		in.fail()
		return nil
	}
	b := in.b[:n]
	in.b = in.b[n:]
	return b
}

func (in *headReader) message(m proto.Message) {
	b := in.bytes(in.uvarint())
	if in.err == nil {
		in.err = proto.Unmarshal(b, m)
	}
}

func (in *headReader) fail() {
	in.b = nil
	if in.err == nil {
		in.err = errors.New("its head ends too early")
	}
}
