package dbfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/lease/leasepb"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/mvcc"
)

// ErrDamaged is wrapped by the errors of [Read] for a file that is not a whole
// etcd database.
var ErrDamaged = errors.New("is damaged")

// ErrNoHash is wrapped by the error of [Read] for a file without the hash that
// snapshots have at their end, such as one copied from a data directory.
var ErrNoHash = errors.New("has no hash at its end, so that nobody can tell whether it is whole; " +
	"if it was copied from a data directory, say so (--skip-hash-check)")

// ReadOptions say what to believe without a hash.
type ReadOptions struct {
	// SkipHash believes a file whatever its hash, as etcdutl snapshot restore
	// --skip-hash-check does.
	SkipHash bool
}

// DataDirFile is where an etcd member keeps its database, in its data directory.
var DataDirFile = filepath.Join("member", "snap", "db")

// Read reads a snapshot file, or the database of an etcd data directory (etcd
// 3.4 to 3.7; etcd must not run on it). Of a data directory, what is only in the
// write-ahead log is not read: an etcd that was stopped, and not killed, leaves
// nothing there.
func Read(path string, opt ReadOptions) (*Content, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read an etcd database: %w", err)
	}
	if info.IsDir() {
		opt.SkipHash = true
		if path, err = inDataDir(path); err != nil {
			return nil, fmt.Errorf("read an etcd database: %w", err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read an etcd database: %w", err)
	}
	defer f.Close()
	// etcd holds the file with a lock of its own while it runs.
	if locked(f) {
		return nil, fmt.Errorf("%s is in use by a running etcd; take a snapshot of that instead: etcdctl snapshot save FILE", path)
	}
	if info, err = f.Stat(); err != nil {
		return nil, fmt.Errorf("read an etcd database: %w", err)
	}
	c, err := ReadFrom(f, info.Size(), opt)
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return c, nil
}

// inDataDir finds the database in a data directory.
func inDataDir(dir string) (string, error) {
	for _, name := range []string{DataDirFile, filepath.Join("snap", "db"), "db"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is no etcd data directory: it has no %s", dir, DataDirFile)
}

// ReadFrom is [Read] for size bytes of any source. Its errors go on after the
// file's name: "is damaged: …".
func ReadFrom(r io.ReaderAt, size int64, opt ReadOptions) (*Content, error) {
	end := size
	// A page is a multiple of 512 bytes, so what is left is the hash.
	if size%512 == sha256.Size {
		end -= sha256.Size
		if !opt.SkipHash {
			if err := checkHash(r, end); err != nil {
				return nil, err
			}
		}
	} else if !opt.SkipHash {
		return nil, ErrNoHash
	}
	c, err := read(r, end)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return c, nil
}

func checkHash(r io.ReaderAt, end int64) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(r, 0, end)); err != nil {
		return err
	}
	want := make([]byte, sha256.Size)
	if _, err := r.ReadAt(want, end); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if got := sum.Sum(nil); !bytes.Equal(got, want) {
		return fmt.Errorf("%w: the hash at its end is %x…, its content has %x…", ErrDamaged, want[:8], got[:8])
	}
	return nil
}

// reader collects what the buckets hold.
type reader struct {
	pages   *pages
	buckets map[string][]byte
	c       Content
	load    *mvcc.Loader

	finished, scheduled int64
}

func read(r io.ReaderAt, end int64) (*Content, error) {
	p, err := openPages(r, end)
	if err != nil {
		return nil, err
	}
	in := &reader{pages: p, load: mvcc.NewLoader()}
	if in.buckets, err = p.buckets(); err != nil {
		return nil, err
	}
	for _, name := range []string{bucketKey, bucketMeta} {
		if in.buckets[name] == nil {
			return nil, fmt.Errorf("it has no bucket %q, so it is no etcd database", name)
		}
	}
	for _, b := range []struct {
		name string
		fn   func(key, value []byte) error
	}{
		{bucketMeta, in.meta},
		{bucketLease, in.lease},
		{bucketKey, in.load.Record},
		{bucketAlarm, in.alarm},
		{bucketCluster, in.cluster},
		{bucketMembers, in.member},
		{bucketMembersRemoved, in.removed},
		{bucketAuth, in.auth},
		{bucketAuthUsers, in.user},
		{bucketAuthRoles, in.role},
	} {
		header := in.buckets[b.name]
		if header == nil {
			continue // an older etcd had no need of it
		}
		if err := p.bucket(header, b.fn); err != nil {
			return nil, fmt.Errorf("bucket %q: %w", b.name, err)
		}
	}
	kv, err := in.load.Store(in.finished, in.scheduled, in.c.ConsistentIndex)
	if err != nil {
		return nil, err
	}
	in.c.KV = kv.Snapshot()
	return &in.c, nil
}

func (in *reader) meta(key, value []byte) (err error) {
	switch string(key) {
	case keyConsistentIndex:
		in.c.ConsistentIndex, err = number(key, value)
	case keyTerm:
		in.c.Term, err = number(key, value)
	case keyStorageVersion:
		in.c.StorageVersion = string(value)
	case keyFinished:
		in.finished, err = compaction(key, value)
	case keyScheduled:
		in.scheduled, err = compaction(key, value)
	}
	return err
}

func number(key, value []byte) (uint64, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("%s has %d bytes, not 8", key, len(value))
	}
	return binary.BigEndian.Uint64(value), nil
}

// compaction reads a revision as etcd writes it, main_sub.
func compaction(key, value []byte) (int64, error) {
	if len(value) < 8 || int64(binary.BigEndian.Uint64(value)) < 0 {
		return 0, fmt.Errorf("%s is no revision", key)
	}
	return int64(binary.BigEndian.Uint64(value)), nil
}

func (in *reader) lease(key, value []byte) error {
	var l leasepb.Lease
	if err := proto.Unmarshal(value, &l); err != nil {
		return fmt.Errorf("lease %x: %w", key, err)
	}
	return in.load.Lease(l.ID, l.TTL)
}

func (in *reader) alarm(key, _ []byte) error {
	a := &pb.AlarmMember{}
	if err := proto.Unmarshal(key, a); err != nil {
		return fmt.Errorf("alarm %x: %w", key, err)
	}
	in.c.Alarms = append(in.c.Alarms, a)
	return nil
}

func (in *reader) cluster(key, value []byte) error {
	if string(key) == keyClusterVersion {
		in.c.ClusterVersion = string(value)
	}
	return nil
}

func (in *reader) member(key, value []byte) error {
	var m Member
	if err := json.Unmarshal(value, &m); err != nil {
		return fmt.Errorf("member %s: %w", key, err)
	}
	in.c.Members = append(in.c.Members, m)
	return nil
}

func (in *reader) removed(key, _ []byte) error {
	id, err := strconv.ParseUint(string(key), 16, 64)
	if err != nil {
		return fmt.Errorf("%q is no member's ID", key)
	}
	in.c.Removed = append(in.c.Removed, id)
	return nil
}

func (in *reader) auth(key, value []byte) (err error) {
	switch string(key) {
	case keyAuthEnabled:
		in.c.Auth.Enabled = bytes.Equal(value, []byte{1})
	case keyAuthRevision:
		in.c.Auth.Revision, err = number(key, value)
	}
	return err
}

func (in *reader) user(key, value []byte) error {
	u := &authpb.User{}
	if err := proto.Unmarshal(value, u); err != nil {
		return fmt.Errorf("user %q: %w", key, err)
	}
	in.c.Auth.Users = append(in.c.Auth.Users, u)
	return nil
}

func (in *reader) role(key, value []byte) error {
	r := &authpb.Role{}
	if err := proto.Unmarshal(value, r); err != nil {
		return fmt.Errorf("role %q: %w", key, err)
	}
	in.c.Auth.Roles = append(in.c.Auth.Roles, r)
	return nil
}
