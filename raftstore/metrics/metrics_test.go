package metrics_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore"
	"kviz/raftstore/metrics"
	"kviz/raftstore/steady"
)

// number is one value of a member's snapshot, 0 if it is not there.
func number(s *metrics.Set, member, name string) (n float64) {
	for _, v := range s.Snapshot(member) {
		if v.Name == name {
			n += v.Value
		}
	}
	return n
}

// What happens in a store shows in the members' numbers.
func TestTheStoresEventsAreCounted(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		set := metrics.New()
		s, err := raftstore.Open(raftstore.Config{NoSync: true, Events: set.Observe})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range s.IDs() {
			if err := s.SlowDisk(id, time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
		put := func() {
			t.Helper()
			done := make(chan error, 1)
			s.Do(&pb.InternalRaftRequest{Put: &pb.PutRequest{Key: []byte("a"), Value: make([]byte, 1000)}}, func(r *raftstore.Result) { done <- r.Err })
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		for range 10 {
			put()
		}
		leader := s.Leader()
		if n := number(set, leader, "etcd_server_leader_changes_seen_total"); n < 1 {
			t.Errorf("%v leader changes after an election", n)
		}
		if err := s.Crash(leader); err != nil {
			t.Fatal(err)
		}
		put()
		next := s.Leader()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, id := range s.IDs() {
			for name, least := range map[string]float64{
				"etcd_disk_wal_fsync_duration_seconds_count": 2, "etcd_disk_wal_fsync_duration_seconds_sum": 2e-3,
				"etcd_disk_backend_commit_duration_seconds_count": 2, "etcd_disk_wal_write_bytes_total": 10_000,
			} {
				if n := number(set, id, name); n < least {
					t.Errorf("member %s: %s is %v, at least %v expected", id, name, n, least)
				}
			}
		}
		if n := number(set, next, "etcd_server_leader_changes_seen_total"); n < 2 {
			t.Errorf("%v leader changes after a second election", n)
		}
		if n := number(set, leader, "etcd_network_peer_round_trip_time_seconds_count"); n < 2 {
			t.Errorf("%v round trips of the leader", n)
		}
		if n := number(set, next, "etcd_server_heartbeat_send_failures_total"); n != 0 {
			// Heartbeats are events only where they are asked for.
			t.Errorf("%v lost heartbeats", n)
		}
	})
}

// Every name that etcd's dashboards and alerts look at is there from the start.
func TestTheNamesAreEtcds(t *testing.T) {
	set := metrics.New()
	set.Member("a").Ask(func() metrics.Values {
		return metrics.Values{ServerID: 0xab, HasLeader: true, Revision: 7, Alarms: []*pb.AlarmMember{{MemberID: 0xab, Alarm: pb.AlarmType_NOSPACE}}}
	})
	rec := httptest.NewRecorder()
	set.Member("a").Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	body, err := io.ReadAll(rec.Body)
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]string{
		"etcd_disk_wal_fsync_duration_seconds": "histogram", "etcd_disk_backend_commit_duration_seconds": "histogram",
		"etcd_server_has_leader": "gauge", "etcd_server_is_leader": "gauge", "etcd_server_is_learner": "gauge",
		"etcd_server_leader_changes_seen_total": "counter", "etcd_server_proposals_committed_total": "gauge", "etcd_server_proposals_applied_total": "gauge",
		"etcd_server_proposals_pending": "gauge", "etcd_server_proposals_failed_total": "counter", "etcd_server_quota_backend_bytes": "gauge",
		"etcd_server_heartbeat_send_failures_total": "counter", "etcd_server_version": "gauge", "etcd_server_health_success": "counter", "etcd_server_health_failures": "counter",
		"etcd_mvcc_db_total_size_in_bytes": "gauge", "etcd_mvcc_db_total_size_in_use_in_bytes": "gauge",
		"etcd_mvcc_put_total": "counter", "etcd_mvcc_delete_total": "counter", "etcd_mvcc_range_total": "counter", "etcd_mvcc_txn_total": "counter",
		"etcd_debugging_mvcc_watcher_total": "gauge", "etcd_debugging_mvcc_slow_watcher_total": "gauge", "etcd_debugging_mvcc_events_total": "counter",
		"etcd_debugging_mvcc_keys_total": "gauge", "etcd_debugging_mvcc_current_revision": "gauge", "etcd_debugging_mvcc_compact_revision": "gauge",
		"etcd_network_client_grpc_sent_bytes_total": "counter", "etcd_network_client_grpc_received_bytes_total": "counter",
		"etcd_debugging_lease_granted_total": "counter", "etcd_debugging_lease_renewed_total": "counter", "etcd_debugging_lease_revoked_total": "counter",
		"etcd_debugging_server_lease_expired_total": "counter", "process_resident_memory_bytes": "gauge", "go_goroutines": "gauge",
	} {
		if !strings.Contains(string(body), fmt.Sprintf("# TYPE %s %s\n", name, kind)) {
			t.Errorf("no %s %s", kind, name)
		}
	}
	for _, line := range []string{`etcd_server_id{server_id="ab"} 1`, `etcd_debugging_server_alarms{alarm_type="NOSPACE",server_id="ab"} 1`, "etcd_debugging_mvcc_current_revision 7"} {
		if !strings.Contains(string(body), "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if set.Forget("a"); set.Snapshot("a") != nil {
		t.Error("a member that left still has numbers")
	}
}
