package raftstore_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore"
)

// The tests mostly wait, for disks and timers: more than one a core may run.
func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		// The flag exists in every test binary.
		_ = flag.Set("test.parallel", "8")
	}
	os.Exit(m.Run())
}

// open is a store for a test; it is closed with the test.
func open(t testing.TB, cfg raftstore.Config) *raftstore.Replicated {
	t.Helper()
	s, err := raftstore.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// call is Do as a plain call.
func call(s raftstore.Store, req *pb.InternalRaftRequest) *raftstore.Result {
	results := make(chan *raftstore.Result, 1)
	s.Do(req, func(r *raftstore.Result) { results <- r })
	return <-results
}

func putReq(key, value string) *pb.InternalRaftRequest {
	return &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: []byte(key), Value: []byte(value)}}
}

func getReq(key string) *pb.InternalRaftRequest {
	return &pb.InternalRaftRequest{Range: &pb.RangeRequest{Key: []byte(key)}}
}

func mustPut(t testing.TB, s raftstore.Store, key, value string) *raftstore.Result {
	t.Helper()
	r := call(s, putReq(key, value))
	if r.Err != nil {
		t.Fatalf("put %s: %v", key, r.Err)
	}
	return r
}

// get is the key's value, "" if there is none. It asks again while the group has no
// leader for longer than a request may wait.
func get(t testing.TB, s raftstore.Store, key string) string {
	t.Helper()
	var r *raftstore.Result
	await(t, "a read is answered", func() bool {
		r = call(s, getReq(key))
		return !unable(r.Err)
	})
	if r.Err != nil {
		t.Fatalf("get %s: %v", key, r.Err)
	}
	if kvs := r.Response.(*pb.RangeResponse).Kvs; len(kvs) > 0 {
		return string(kvs[0].Value)
	}
	return ""
}

// added is the member that has joined; until enough of the others are heard, the store
// takes none.
func added(t testing.TB, s *raftstore.Replicated, learner bool) (id string) {
	t.Helper()
	var err error
	await(t, "a member joins", func() bool { id, err = s.AddMember(learner); return !unable(err) })
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// await asks until cond holds.
func await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute) // of a machine that has other things to do
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute still not: %s", what)
		}
		<-tick.C
	}
}

func TestPutIsRead(t *testing.T) {
	s := open(t, raftstore.Config{})
	for i := range 20 {
		key, value := fmt.Sprintf("k%d", i%3), fmt.Sprint(i)
		mustPut(t, s, key, value)
		if got := get(t, s, key); got != value {
			t.Fatalf("put %s=%s, then read %q", key, value, got)
		}
	}
	if !s.Healthy() {
		t.Error("a store that answers is not healthy")
	}
}
