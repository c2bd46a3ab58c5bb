package remote

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/member"
)

func TestSmoke(t *testing.T) {
	dir := t.TempDir()
	certs := filepath.Join(dir, "certs")
	if _, err := MakeCerts(certs, "a", "b", "c", Driver); err != nil {
		t.Fatal(err)
	}
	var addrs []string
	var servers []member.Server
	for _, name := range []string{"a", "b", "c"} {
		creds, err := LoadCredentials(certs, name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Serve(ProcessConfig{Name: name, Listen: "127.0.0.1:0", Dir: filepath.Join(dir, name), Credentials: creds, Log: t.Output()})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		addrs = append(addrs, p.Addr())
		servers = append(servers, member.Server{ID: name, Address: p.Addr()})
	}
	creds, err := LoadCredentials(certs, Driver)
	if err != nil {
		t.Fatal(err)
	}
	var applied atomic.Int64
	g, err := Open(Config{
		Addrs: addrs, Credentials: creds, Settings: Settings{SnapshotEvery: 10000, SnapshotTrailing: 5000},
		Emit:    func(e member.Event) {},
		Applied: func(id string, batch []member.Applied) { applied.Add(int64(len(batch))) },
		Changed: func() {}, Restored: func(*Member, uint64) {}, Requests: &member.Requests{},
		Go: func(_ string, fn func()) { go fn() },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, m := range g.Members() {
		if err := m.Begin(servers, "test"); err != nil {
			t.Fatal(err)
		}
	}
	g.Member("a").Campaign()
	var r *Reader
	began := time.Now()
	for r == nil {
		for _, m := range g.Members() {
			if l := m.Leader(); l != nil {
				r = l
			}
		}
		time.Sleep(time.Millisecond)
		if time.Since(began) > 5*time.Second {
			for _, m := range g.Members() {
				t.Log(m.Status())
			}
			t.Fatal("no leader")
		}
	}
	t.Log("leader", r.Member(), r.Term(), time.Since(began))
	began = time.Now()
	const n = 500
	for i := range n {
		req := &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: []byte(fmt.Sprint("k", i)), Value: []byte("v")}}
		b, _ := proto.Marshal(req)
		if !r.Propose(b, member.Ticket{Number: uint64(i + 1), Epoch: r.Term() << 16, Seq: uint64(i)}) {
			t.Fatal("not proposed")
		}
	}
	for applied.Load() < 3*n {
		time.Sleep(time.Millisecond)
		if time.Since(began) > 5*time.Second {
			t.Fatal("applied", applied.Load())
		}
	}
	t.Log("applied", time.Since(began))
	if err := r.ReadIndex(context.Background()); err != nil {
		t.Fatal(err)
	}
	resp, err := r.Range(&pb.RangeRequest{Key: []byte("k"), RangeEnd: []byte("l"), CountOnly: true})
	if err != nil || resp.Count != n {
		t.Fatal(resp, err)
	}
}
