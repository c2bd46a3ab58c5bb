// Command make makes the databases of one version of etcd that this folder has.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
)

func check(err error) {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
}

// Said is what etcd said of itself just before.
type Said struct {
	FileSizes map[string]int // of the databases, without the zeroes at their ends
	Version   string
	Revision  int64
	Compacted int64
	Hashes    map[int64]uint32           // HashKV by revision
	Keys      map[int64]map[string]Value // all keys by revision
	Leases    []Lease
	Users     []string
	Roles     []string
	Members   []string
	Alarms    []string
}

type Value struct {
	Value                   string
	Create, Mod, Ver, Lease int64
}

type Lease struct {
	ID, TTL int64
	Keys    []string
}

func main() {
	out := os.Args[1]
	dir, err := os.MkdirTemp("", "etcd")
	check(err)
	defer os.RemoveAll(dir)
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel, cfg.Logger, cfg.Name = filepath.Join(dir, "data"), "fatal", "zap", "one"
	cfg.LogOutputs = []string{filepath.Join(dir, "log")}
	u := func(s string) url.URL { u, err := url.Parse(s); check(err); return *u }
	client, peer := u("http://127.0.0.1:23790"), u("http://127.0.0.1:23800")
	setURLs(cfg, client, peer)
	cfg.InitialCluster = cfg.Name + "=" + peer.String()
	e, err := embed.StartEtcd(cfg)
	check(err)
	<-e.Server.ReadyNotify()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{client.Host}, DialTimeout: 10 * time.Second})
	check(err)
	ctx := context.Background()
	live(ctx, c)
	// Everything is in the database after a batch's time.
	time.Sleep(time.Second)
	said := ask(ctx, c)
	said.Version = version.Version

	r, err := c.Snapshot(ctx)
	check(err)
	b, err := io.ReadAll(r)
	check(err)
	check(r.Close())
	name := filepath.Join(out, "etcd-"+version.Version)
	said.zip(name, "snapshot", b)
	c.Close()
	e.Close()
	b, err = os.ReadFile(filepath.Join(cfg.Dir, "member", "snap", "db"))
	check(err)
	said.zip(name, "stopped", b)
	j, err := json.MarshalIndent(said, "", " ")
	check(err)
	zip(name+".json.gz", j)
}

// zip leaves out the zeroes at the end, for which etcd makes room ahead.
func (s *Said) zip(name, what string, data []byte) {
	if s.FileSizes == nil {
		s.FileSizes = map[string]int{}
	}
	s.FileSizes[what] = len(data)
	zip(name+"-"+what+".db.gz", bytes.TrimRight(data, "\x00"))
}

func zip(path string, data []byte) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	check(err)
	_, err = w.Write(data)
	check(err)
	check(w.Close())
	check(os.WriteFile(path, b.Bytes(), 0o644))
	fmt.Printf("%s: %d bytes, %d compressed\n", path, len(data), b.Len())
}

// live writes a history.
func live(ctx context.Context, c *clientv3.Client) {
	rng := rand.New(rand.NewSource(5))
	for i := 0; i < 260; i++ {
		key := fmt.Sprintf("key-%02d", rng.Intn(40))
		var err error
		switch k := rng.Intn(20); {
		case k < 12:
			_, err = c.Put(ctx, key, strings.Repeat(fmt.Sprintf("%d ", i), rng.Intn(60)))
		case k < 15:
			_, err = c.Delete(ctx, key)
		case k < 16:
			_, err = c.Delete(ctx, "key-1", clientv3.WithRange("key-2"))
		case k < 18:
			_, err = c.Txn(ctx).If(clientv3.Compare(clientv3.Version("t1"), ">", int64(i%3))).
				Then(clientv3.OpPut("t1", fmt.Sprint(i)), clientv3.OpDelete("t2"), clientv3.OpPut("t3", "x")).
				Else(clientv3.OpPut("t1", fmt.Sprint(i)), clientv3.OpPut("t2", fmt.Sprint(i))).Commit()
		default:
			l, lerr := c.Grant(ctx, int64(6000+i))
			check(lerr)
			_, err = c.Put(ctx, key, "leased", clientv3.WithLease(l.ID))
			if err == nil && i%2 == 0 {
				_, err = c.Put(ctx, key+"-too", "", clientv3.WithLease(l.ID))
			}
			if err == nil && i%5 == 0 {
				_, err = c.Revoke(ctx, l.ID)
			}
		}
		check(err)
		if i == 60 || i == 150 {
			r, err := c.Get(ctx, "x")
			check(err)
			_, err = c.Compact(ctx, r.Header.Revision-20, clientv3.WithCompactPhysical())
			check(err)
		}
	}
	_, err := c.Put(ctx, "large", strings.Repeat("0123456789abcdef", 2000))
	check(err)
	_, err = c.Put(ctx, "\x00\xff bytes", "\x00\x01")
	check(err)

	l, err := c.MemberAddAsLearner(ctx, []string{"http://127.0.0.1:1"})
	check(err)
	_, err = c.MemberRemove(ctx, l.Member.ID)
	check(err)
	_, err = c.MemberAddAsLearner(ctx, []string{"http://127.0.0.1:2"})
	check(err)

	_, err = c.RoleAdd(ctx, "reader")
	check(err)
	_, err = c.RoleGrantPermission(ctx, "reader", "key-", "key.", clientv3.PermissionType(clientv3.PermRead))
	check(err)
	_, err = c.RoleGrantPermission(ctx, "reader", "t", "", clientv3.PermissionType(clientv3.PermReadWrite))
	check(err)
	_, err = c.UserAdd(ctx, "root", "secret")
	check(err)
	_, err = c.UserGrantRole(ctx, "root", "root")
	check(err)
	_, err = c.UserAdd(ctx, "ann", "secret")
	check(err)
	_, err = c.UserGrantRole(ctx, "ann", "reader")
	check(err)

	members, err := c.MemberList(ctx)
	check(err)
	_, err = etcdserverpb.NewMaintenanceClient(c.ActiveConnection()).Alarm(ctx, &etcdserverpb.AlarmRequest{
		Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: members.Header.MemberId, Alarm: etcdserverpb.AlarmType_NOSPACE,
	})
	check(err)
}

func ask(ctx context.Context, c *clientv3.Client) (s Said) {
	at := c.Endpoints()[0]
	h, err := c.HashKV(ctx, at, 0)
	check(err)
	s.Revision, s.Compacted = h.Header.Revision, h.CompactRevision
	s.Hashes, s.Keys = map[int64]uint32{}, map[int64]map[string]Value{}
	// At the compaction, 3.4 has none, and later ones the one from before it.
	for rev := s.Compacted + 1; rev <= s.Revision; rev++ {
		h, err := c.HashKV(ctx, at, rev)
		check(err)
		s.Hashes[rev] = h.Hash
	}
	for _, rev := range []int64{s.Compacted, s.Compacted + 1, (s.Compacted + s.Revision) / 2, s.Revision} {
		r, err := c.Get(ctx, "\x00", clientv3.WithFromKey(), clientv3.WithRev(rev))
		check(err)
		m := map[string]Value{}
		for _, kv := range r.Kvs {
			m[fmt.Sprintf("%x", kv.Key)] = Value{fmt.Sprintf("%x", kv.Value), kv.CreateRevision, kv.ModRevision, kv.Version, kv.Lease}
		}
		s.Keys[rev] = m
	}
	leases, err := c.Leases(ctx)
	check(err)
	for _, l := range leases.Leases {
		ttl, err := c.TimeToLive(ctx, l.ID, clientv3.WithAttachedKeys())
		check(err)
		one := Lease{ID: int64(l.ID), TTL: ttl.GrantedTTL}
		for _, k := range ttl.Keys {
			one.Keys = append(one.Keys, string(k))
		}
		s.Leases = append(s.Leases, one)
	}
	users, err := c.UserList(ctx)
	check(err)
	for _, u := range users.Users {
		g, err := c.UserGet(ctx, u)
		check(err)
		s.Users = append(s.Users, fmt.Sprint(u, " ", g.Roles))
	}
	roles, err := c.RoleList(ctx)
	check(err)
	for _, r := range roles.Roles {
		g, err := c.RoleGet(ctx, r)
		check(err)
		for _, p := range g.Perm {
			s.Roles = append(s.Roles, fmt.Sprintf("%s %v %q %q", r, p.PermType, p.Key, p.RangeEnd))
		}
	}
	members, err := c.MemberList(ctx)
	check(err)
	for _, m := range members.Members {
		s.Members = append(s.Members, fmt.Sprintf("%x %q %v %v learner=%v", m.ID, m.Name, m.PeerURLs, m.ClientURLs, m.IsLearner))
	}
	alarms, err := c.AlarmList(ctx)
	check(err)
	for _, a := range alarms.Alarms {
		s.Alarms = append(s.Alarms, fmt.Sprintf("%x %v", a.MemberID, a.Alarm))
	}
	return s
}
