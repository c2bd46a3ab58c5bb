package metrics

import (
	"sync"
	"time"

	"kviz/raftstore"
	"kviz/raftstore/member"
	"kviz/raftstore/wire"
)

// turns is what is remembered of events until the ones that belong to them
// come: when a message was sent, who led.
type turns struct {
	mu     sync.Mutex
	sent   map[uint64]time.Time // by serial, of messages under way
	leader string
}

// mostUnderWay bounds what is remembered of messages that never come back.
const mostUnderWay = 4096

// Observe takes one of the store's events. It does not block.
func (s *Set) Observe(e raftstore.Event) {
	if e.Member == "" {
		return
	}
	m := s.Member(e.Member)
	m.turns.mu.Lock()
	defer m.turns.mu.Unlock()
	switch {
	case e.State != nil:
		m.seeState(e.State)
	case e.Message != nil:
		m.seeMessage(e)
	case e.Log != nil:
		m.seeLog(e)
	case e.Snapshot != nil && e.Snapshot.What == "sent":
		m.Snapshots.WithLabelValues("peer").Inc()
	}
}

// seeState counts leaders: a leader that is another one than the last.
//
// Mirrors etcd server/etcdserver/raft.go, where leader_changes_seen_total
// grows with every new leader.
func (m *Member) seeState(s *member.State) {
	if s.Leader != "" && s.Leader != m.turns.leader {
		m.LeaderChanges.Inc()
	}
	if s.Leader != "" || s.Role == "stopped" {
		m.turns.leader = s.Leader
	}
}

func (m *Member) seeMessage(e raftstore.Event) {
	msg := e.Message
	switch e.Kind {
	case member.KindSend:
		if msg.RPC != wire.AppendEntries || len(msg.Entries) == 0 {
			return
		}
		if m.turns.sent == nil || len(m.turns.sent) > mostUnderWay {
			m.turns.sent = map[uint64]time.Time{}
		}
		m.turns.sent[msg.Serial] = e.Wall
	case member.KindReply:
		if at, ok := m.turns.sent[msg.Serial]; ok {
			delete(m.turns.sent, msg.Serial)
			m.RoundTrip.WithLabelValues(msg.To).Observe(e.Wall.Sub(at).Seconds())
		}
	case member.KindLost:
		delete(m.turns.sent, msg.Serial)
		if msg.Heartbeat() {
			m.HeartbeatLost.Inc()
		}
	}
}

func (m *Member) seeLog(e raftstore.Event) {
	switch e.Kind {
	case member.KindAppend:
		for _, entry := range e.Log.Entries {
			m.WrittenBytes.Add(float64(entry.Size))
		}
	case member.KindDurable:
		if e.Log.Error != "" {
			return
		}
		if took := e.Log.Took.Seconds(); took > 0 {
			m.FsyncSeconds.Observe(took)
			m.CommitSeconds.Observe(took)
		}
	}
}
