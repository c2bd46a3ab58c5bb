package apiserver

import (
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

const (
	// compactEvery is kube-apiserver's --etcd-compaction-interval.
	compactEvery = 5 * time.Minute
	// eventTTL is kube-apiserver's --event-ttl.
	eventTTL = time.Hour
	// sweepEvery is how often old Events are looked for.
	sweepEvery = time.Minute
)

// compact throws away the store's history, all but the last five to ten
// minutes (apiserver pkg/storage/etcd3/compact.go).
func (s *Server) compact(t *sim.Task) {
	was := int64(0)
	for {
		now := s.st.Revision()
		t.Sleep(compactEvery)
		if now > was {
			if err := s.st.Compact(t, now); err == nil {
				was = now
			}
		}
	}
}

// expireEvents deletes Events that are an hour old. In Kubernetes their keys
// carry an etcd lease; the effect on those who watch is the same.
func (s *Server) expireEvents(t *sim.Task) {
	k := KindFor(client.Events.GroupVersionResource)
	for {
		t.Sleep(sweepEvery)
		limit := t.Now().Add(-eventTTL)
		var old []*pb.RequestOp
		s.caches[k].scan("", func(key string, en *entry) bool {
			if e := en.obj.(*corev1.Event); lastSeen(e).Before(limit) {
				old = append(old, &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(k.Prefix + key)}}})
			}
			return true
		})
		t.SetCauses()
		for len(old) > 0 {
			n := min(len(old), transactionOps)
			if _, _, err := s.st.Txn(t, &pb.TxnRequest{Success: old[:n]}); err != nil {
				break // the next sweep finds them again
			}
			old = old[n:]
		}
	}
}

// lastSeen is when an Event was last written.
func lastSeen(e *corev1.Event) time.Time {
	at := e.CreationTimestamp.Time
	if e.LastTimestamp.After(at) {
		at = e.LastTimestamp.Time
	}
	if e.Series != nil && e.Series.LastObservedTime.After(at) {
		at = e.Series.LastObservedTime.Time
	}
	return at
}
