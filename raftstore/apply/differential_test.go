package apply

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/lease/leasepb"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"kviz/raftstore/mvcc"
)

// TestAgainstEtcd gives the same random requests to a State and to etcd's own
// appliers, auth store, lessor and key-value store (etcd_test.go): the answers,
// errors, events, hashes, leases, alarms, users and tokens must be the same.
// KVIZ_OPS says how many requests in all, KVIZ_SEEDS over how many seeds.
func TestAgainstEtcd(t *testing.T) {
	ops, seeds := fromEnv("KVIZ_OPS", 4000), fromEnv("KVIZ_SEEDS", 8)
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			var quota int64 = -1
			if seed%4 == 3 {
				quota = 1 // everything is too much
			}
			d := &differential{
				t: t, gen: newGenerator(uint64(seed)),
				etcd: newEtcd(t, quota), ours: New(Limits{Quota: quota, BcryptCost: bcrypt.MinCost}),
				compacted: map[int64]bool{},
			}
			d.gen.calm = seed%4 == 0
			for i := range ops / seeds {
				d.step(uint64(i + 1))
			}
			d.compareStates()
			t.Logf("%d requests, %d of them refused, revision %d", ops/seeds, d.refused, d.ours.KV.Revision())
		})
	}
}

func fromEnv(name string, otherwise int) int {
	if s := os.Getenv(name); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			panic(fmt.Sprintf("%s=%q is not a number of anything", name, s))
		}
		return n
	}
	return otherwise
}

type differential struct {
	t       *testing.T
	gen     *generator
	etcd    *etcd
	ours    *State
	refused int
	tokens  []string

	compacted map[int64]bool // revisions at which the store was compacted
}

func (d *differential) step(index uint64) {
	d.gen.see(d.ours)
	req := d.gen.request()
	if d.ours.corrupt && req.Txn != nil && mvcc.ReadOnly(req.Txn) {
		return // never gets into etcd's log: the server answers it by itself
	}
	theirs, ours := d.etcd.apply(index, req), d.ours.Apply(index, req)
	if ours.Err != nil {
		d.refused++
	}
	if req.Compaction != nil && ours.Err == nil {
		d.compacted[req.Compaction.Revision] = true
	}
	if want, got := describe(theirs), describe(ours); want != got {
		d.t.Fatalf("request %d, %v\n--- etcd\n%s\n--- here\n%s", index, req, want, got)
	}
	if req.Authenticate != nil && ours.Err == nil {
		d.tokens = append(d.tokens, ours.Response.(*pb.AuthenticateResponse).Token)
	}
	switch d.gen.IntN(150) {
	case 0:
		d.compareHashes()
	case 1:
		d.compareStates()
	case 2:
		d.restore()
	case 3:
		d.compareTokens()
	}
}

// compareTokens asks whose tokens are.
func (d *differential) compareTokens() {
	for _, token := range append([]string{"token0.1", "no token", ""}, d.tokens...) {
		ctx := metadata.NewIncomingContext(context.Background(), metadata.Pairs(rpctypes.TokenFieldNameGRPC, token))
		theirs, err := d.etcd.auth.AuthInfoFromCtx(ctx)
		ours, ourErr := d.ours.auth.AuthInfoFromCtx(ctx)
		if err != ourErr || gocmp.Diff(theirs, ours) != "" {
			d.t.Fatalf("token %q: etcd %+v, %v; here %+v, %v", token, theirs, err, ours, ourErr)
		}
	}
}

// describe is all that must be the same of a result.
func describe(r *mvcc.Result) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "revision %d, error %v\n", r.Revision, r.Err)
	if r.Response != nil && r.Err == nil {
		resp := proto.Clone(r.Response)
		m := resp.ProtoReflect()
		f := m.Descriptor().Fields().ByName("header")
		// Of a header only the revision is the state machine's, and etcd's alarms
		// answer without one.
		rev := m.Get(f).Message().Interface().(*pb.ResponseHeader).GetRevision()
		m.Clear(f)
		if a, ok := resp.(*pb.AlarmResponse); ok {
			slices.SortFunc(a.Alarms, alarmOrder) // etcd's come out of a map
			rev = 0
		}
		fmt.Fprintf(&b, "%T at %d %s\n", resp, rev, text(resp))
	}
	for _, e := range r.Events {
		fmt.Fprintf(&b, "event %s\n", text(e))
	}
	return b.String()
}

// text is a message as bytes that can be compared; prototext is not stable.
func text(m proto.Message) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%q", b)
}

func (d *differential) compareHashes() {
	for _, rev := range []int64{0, d.ours.KV.Revision(), d.gen.Int64N(d.ours.KV.Revision() + 2)} {
		if d.compacted[rev] {
			continue // etcd remembers the hash that it had before that compaction
		}
		hash, _, err := d.etcd.kv.HashStorage().HashByRev(rev)
		ours, ourErr := d.ours.KV.HashKV(rev)
		if err = clientError(err); err != ourErr || err == nil && hash.Hash != ours {
			d.t.Fatalf("hash at %d of %d, compacted %d: etcd %08x (%v), here %08x (%v)",
				rev, d.ours.KV.Revision(), d.ours.KV.CompactRevision(), hash.Hash, err, ours, ourErr)
		}
	}
}

func (d *differential) compareStates() {
	d.t.Helper()
	d.compareHashes()
	d.compareLeases()
	same := func(what string, theirs, ours any) {
		if diff := gocmp.Diff(theirs, ours, protocmp.Transform()); diff != "" {
			d.t.Fatalf("%s differ (- etcd, + here):\n%s", what, diff)
		}
	}
	alarms := d.etcd.alarms.Get(pb.AlarmType_NONE)
	slices.SortFunc(alarms, alarmOrder)
	if len(alarms)+len(d.ours.Alarms()) > 0 {
		same("alarms", alarms, d.ours.Alarms())
	}
	users := d.ours.Snapshot().Users()
	same("users", d.etcd.users.GetAllUsers(), users.Users)
	same("roles", d.etcd.users.GetAllRoles(), users.Roles)
	same("whether auth is on", d.etcd.auth.IsAuthEnabled(), users.Enabled)
	same("the revision of auth", d.etcd.auth.Revision(), users.Revision)
}

func (d *differential) compareLeases() {
	tx := d.etcd.be.BatchTx()
	tx.Lock()
	stored := map[int64]*leasepb.Lease{}
	for _, l := range schema.MustUnsafeGetAllLeases(tx) {
		stored[l.ID] = l
	}
	tx.Unlock()
	var theirs []mvcc.Lease
	for _, l := range d.etcd.lessor.Leases() {
		keys := l.Keys()
		slices.Sort(keys)
		theirs = append(theirs, mvcc.Lease{ID: int64(l.ID), TTL: l.TTL(), Keys: keys, RemainingTTL: stored[int64(l.ID)].RemainingTTL})
	}
	slices.SortFunc(theirs, func(a, b mvcc.Lease) int { return cmp.Compare(a.ID, b.ID) })
	if diff := gocmp.Diff(theirs, d.ours.KV.Leases()); diff != "" {
		d.t.Fatalf("leases differ (- etcd, + here):\n%s", diff)
	}
}

// restore goes on from a snapshot of ours, which must lose nothing but tokens.
func (d *differential) restore() {
	var first, second bytes.Buffer
	fresh := New(d.ours.limits)
	_, err := d.ours.Snapshot().WriteTo(&first)
	b := bytes.Clone(first.Bytes())
	if err == nil {
		err = fresh.Restore(&first)
	}
	if err == nil {
		_, err = fresh.Snapshot().WriteTo(&second)
	}
	if err != nil || !bytes.Equal(b, second.Bytes()) {
		d.t.Fatalf("a snapshot of %d bytes does not survive a restore: %v", len(b), err)
	}
	if t, ok := d.ours.auth.(*tokenStore); ok && len(t.tokens) > 0 {
		return // tokens are not in snapshots, and etcd would still know them
	}
	d.ours = fresh
}

// hashOf is a password as the log has it.
func hashOf(password string) string {
	h, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(h)
}

var userOptions = []*authpb.UserAddOptions{nil, {NoPassword: true}, {NoPassword: false}}
