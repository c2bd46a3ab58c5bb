package raftstore_test

import (
	"fmt"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

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

// get is the key's value, "" if there is none.
func get(t testing.TB, s raftstore.Store, key string) string {
	t.Helper()
	r := call(s, getReq(key))
	if r.Err != nil {
		t.Fatalf("get %s: %v", key, r.Err)
	}
	if kvs := r.Response.(*pb.RangeResponse).Kvs; len(kvs) > 0 {
		return string(kvs[0].Value)
	}
	return ""
}

// added is the member that has joined.
func added(t testing.TB, s *raftstore.Replicated, learner bool) (id string) {
	t.Helper()
	id, err := s.AddMember(learner)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestPutIsRead(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true})
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
	})
}
