package dbfile

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/server/v3/lease/leasepb"
	"google.golang.org/protobuf/proto"
)

const (
	storageVersion = "3.7.0" // the layout that is written
	fillPercent    = 0.9     // as etcd's defragmentation: keys come in order
	batch          = 10_000  // records in one transaction
)

// pageSize is that of nearly every machine that runs etcd; files with other
// ones are read just as well.
const pageSize = 4096

// Write writes the content as a snapshot file: the database, then its SHA-256.
// The same content gives the same bytes. It needs a temporary file of that size.
//
// Mirrors etcd server/storage/backend/backend.go Defrag for the layout, and
// server/etcdserver/api/v3rpc/maintenance.go Snapshot for the trailer.
func Write(w io.Writer, c Content) (err error) {
	dir, err := os.MkdirTemp("", "kviz-snapshot-")
	if err != nil {
		return fmt.Errorf("write a database file: %w", err)
	}
	defer os.RemoveAll(dir)
	db, err := bbolt.Open(filepath.Join(dir, "db"), 0o600, &bbolt.Options{
		Timeout: time.Second, NoSync: true, NoGrowSync: true, NoFreelistSync: true,
		FreelistType: bbolt.FreelistMapType, PageSize: pageSize,
	})
	if err != nil {
		return fmt.Errorf("write a database file: %w", err)
	}
	defer db.Close()
	if err := fill(db, c); err != nil {
		return fmt.Errorf("write a database file: %w", err)
	}
	sum := sha256.New()
	if err := db.View(func(tx *bbolt.Tx) error {
		_, err := tx.WriteTo(io.MultiWriter(w, sum))
		return err
	}); err != nil {
		return fmt.Errorf("write a database file: %w", err)
	}
	if _, err := w.Write(sum.Sum(nil)); err != nil {
		return fmt.Errorf("write a database file: %w", err)
	}
	return nil
}

func fill(db *bbolt.DB, c Content) error {
	if err := db.Update(func(tx *bbolt.Tx) error { return small(tx, c) }); err != nil {
		return err
	}
	f := filler{db: db}
	if err := c.KV.Records(f.put); err != nil {
		f.rollback()
		return err
	}
	return f.commit()
}

// filler puts records into the "key" bucket, many in one transaction.
type filler struct {
	db *bbolt.DB
	tx *bbolt.Tx
	b  *bbolt.Bucket
	n  int
}

func (f *filler) put(key, value []byte) (err error) {
	if f.tx == nil {
		if f.tx, err = f.db.Begin(true); err != nil {
			return err
		}
		f.b = f.tx.Bucket([]byte(bucketKey))
		f.b.FillPercent = fillPercent
	}
	if err := f.b.Put(key, value); err != nil {
		return err
	}
	if f.n++; f.n%batch == 0 {
		return f.commit()
	}
	return nil
}

func (f *filler) commit() error {
	if f.tx == nil {
		return nil
	}
	tx := f.tx
	f.tx = nil
	return tx.Commit()
}

func (f *filler) rollback() {
	if f.tx != nil {
		_ = f.tx.Rollback() // the error that led here is the one to tell
	}
}

// small writes everything but the keys.
func small(tx *bbolt.Tx, c Content) error {
	p := putter{tx: tx}
	for _, name := range []string{
		bucketKey, bucketMeta, bucketLease, bucketAlarm, bucketCluster,
		bucketMembers, bucketMembersRemoved, bucketAuth, bucketAuthUsers, bucketAuthRoles,
	} {
		p.bucket(name)
	}
	p.meta(c)
	p.members(c)
	for _, a := range c.Alarms {
		p.put(bucketAlarm, p.marshal(a), nil)
	}
	enabled := byte(0)
	if c.Auth.Enabled {
		enabled = 1
	}
	p.put(bucketAuth, []byte(keyAuthEnabled), []byte{enabled})
	p.put(bucketAuth, []byte(keyAuthRevision), big(c.Auth.Revision))
	for _, u := range c.Auth.Users {
		p.put(bucketAuthUsers, u.Name, p.marshal(u))
	}
	for _, r := range c.Auth.Roles {
		p.put(bucketAuthRoles, r.Name, p.marshal(r))
	}
	if p.err != nil {
		return p.err
	}
	return c.KV.Leases(func(id, ttl int64) error {
		p.put(bucketLease, big(uint64(id)), p.marshal(&leasepb.Lease{ID: id, TTL: ttl}))
		return p.err
	})
}

// putter keeps the first error, so that the writing code reads straight.
type putter struct {
	tx  *bbolt.Tx
	err error
}

func (p *putter) bucket(name string) {
	if p.err == nil {
		_, p.err = p.tx.CreateBucketIfNotExists([]byte(name))
	}
}

func (p *putter) put(bucket string, key, value []byte) {
	if p.err == nil {
		p.err = p.tx.Bucket([]byte(bucket)).Put(key, value)
	}
}

func (p *putter) marshal(m proto.Message) (b []byte) {
	if p.err == nil {
		b, p.err = proto.MarshalOptions{Deterministic: true}.Marshal(m)
	}
	return b
}

func (p *putter) json(v any) (b []byte) {
	if p.err == nil {
		b, p.err = json.Marshal(v)
	}
	return b
}

func (p *putter) meta(c Content) {
	if c.ConsistentIndex > 0 {
		p.put(bucketMeta, []byte(keyConsistentIndex), big(c.ConsistentIndex))
	}
	if c.Term > 0 {
		p.put(bucketMeta, []byte(keyTerm), big(c.Term))
	}
	if rev := c.KV.CompactRevision(); rev > 0 {
		key := append(append(big(uint64(rev)), '_'), big(0)...)
		p.put(bucketMeta, []byte(keyScheduled), key)
		p.put(bucketMeta, []byte(keyFinished), key)
	}
	p.put(bucketMeta, []byte(keyStorageVersion), []byte(cmp.Or(c.WriteAs, storageVersion)))
	p.put(bucketMeta, []byte(keyConfState), p.json(confStateOf(c.Members)))
	p.put(bucketCluster, []byte(keyClusterVersion), []byte(cmp.Or(c.ClusterVersion, version.Cluster(version.Version)+".0")))
	p.put(bucketCluster, []byte(keyDowngrade), p.json(downgrade{c.DowngradeTo, c.DowngradeTo != ""}))
}

func (p *putter) members(c Content) {
	for _, m := range c.Members {
		p.put(bucketMembers, memberKey(m.ID), p.json(m))
	}
	for _, id := range c.Removed {
		p.put(bucketMembersRemoved, memberKey(id), []byte("removed"))
	}
}

// downgrade is its record in the bucket "cluster".
//
// Mirrors etcd server/etcdserver/version/downgrade.go DowngradeInfo.
type downgrade struct {
	Target  string `json:"target-version"`
	Enabled bool   `json:"enabled"`
}

// memberKey is client/pkg/types/id.go ID.String.
func memberKey(id uint64) []byte { return []byte(strconv.FormatUint(id, 16)) }

// confState is raftpb.ConfState as etcd writes it.
type confState struct {
	Voters    []uint64 `json:"voters,omitempty"`
	Learners  []uint64 `json:"learners,omitempty"`
	AutoLeave bool     `json:"auto_leave"`
}

func confStateOf(members []Member) (s confState) {
	for _, m := range members {
		if m.IsLearner {
			s.Learners = append(s.Learners, m.ID)
		} else {
			s.Voters = append(s.Voters, m.ID)
		}
	}
	slices.Sort(s.Voters)
	slices.Sort(s.Learners)
	return s
}

func big(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
