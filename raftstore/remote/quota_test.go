package remote_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// A full database is refused before anything is proposed, at the same request and in
// the same words as by members of one process, and mended in the same way.
func TestTheQuotaIsThatOfMembersOfOneProcess(t *testing.T) {
	cfg := raftstore.Config{Quota: 1 << 20, RequestTimeout: steady.Patience(t)}
	here, err := raftstore.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	f := newFarm(t, "a", "b", "c")
	f.config = cfg
	there, _ := f.driver()
	want, got := quotaStory(t, f, here), quotaStory(t, f, there)
	if !slices.Equal(want, got) {
		t.Errorf("members of one process:\n%s\nof processes of their own:\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
	t.Log(strings.Join(got, "\n"))
}

func quotaStory(t *testing.T, f *farm, s *raftstore.Replicated) (story []string) {
	t.Helper()
	f.leader(s)
	tell := func(what string, r *raftstore.Result) *raftstore.Result {
		story = append(story, fmt.Sprintf("%s: revision %d, %v", what, r.Revision, r.Err))
		return r
	}
	value := strings.Repeat("x", 64<<10)
	n := 0
	for do(s, put(fmt.Sprint("k", n), value)).Err == nil {
		if n++; n > 100 {
			t.Fatal("6 MiB fit into a quota of 1")
		}
	}
	story = append(story, fmt.Sprintf("%d puts fit", n))
	refused, err := get(s, fmt.Sprint("k", n))
	story = append(story, fmt.Sprintf("what was refused is %q, %v", refused, err))
	if refused != "" {
		t.Error("what was refused was proposed all the same")
	}
	story = append(story, fmt.Sprint(len(s.Alarms()), " alarm: ", s.Alarms()[0].Alarm))
	tell("another put", do(s, put("small", "v")))
	tell("a lease", do(s, &pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{ID: 7, TTL: 60}}))
	deleted := tell("a deletion", do(s, &pb.InternalRaftRequest{DeleteRange: &pb.DeleteRangeRequest{Key: []byte("k"), RangeEnd: []byte("l")}}))
	tell("compaction", do(s, &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: deleted.Revision}}))
	tell("a put before it is packed", do(s, put("small", "v")))
	for _, id := range s.IDs() {
		if err := s.Defragment(id); err != nil {
			t.Error(err)
		}
	}
	for len(s.Alarms()) > 0 { // members may raise theirs one after another
		a := s.Alarms()[0]
		if r := do(s, &pb.InternalRaftRequest{Alarm: &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: a.MemberID, Alarm: a.Alarm}}); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	tell("a put afterwards", do(s, put("small", "v")))
	tell("a large one", do(s, put("large", value)))
	return story
}
