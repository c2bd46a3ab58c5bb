package storage

import (
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"kviz/cluster/trace"
	"kviz/raftstore"
)

// upkeep tells of what took effect beside the keys.
func (c *Client) upkeep(r *raftstore.Result, writer *request) {
	e := trace.Event{Lane: lane}
	asked := c.k.Elapsed()
	purpose := ""
	if writer != nil {
		e.Causes, asked, purpose = writer.causes, writer.at, writer.purpose
	}
	switch q := r.Request; {
	case q.LeaseGrant != nil:
		g, ok := r.Response.(*pb.LeaseGrantResponse)
		if !ok {
			return
		}
		l := &lease{ttl: time.Duration(g.TTL) * time.Second, purpose: purpose}
		l.deadline = asked + l.ttl
		c.leases[g.ID] = l
		e.Kind, e.Payload = trace.LeaseGranted, &trace.StoreLease{ID: g.ID, TTL: l.ttl, For: purpose}
	case q.LeaseRevoke != nil:
		p := &trace.StoreLease{ID: q.LeaseRevoke.ID}
		e.Kind, e.Payload = trace.LeaseRevoked, p
		if l := c.leases[p.ID]; l != nil {
			p.TTL, p.For = l.ttl, l.purpose
			if writer == nil && c.k.Elapsed() >= l.deadline {
				e.Kind = trace.LeaseExpired
			}
			delete(c.leases, p.ID)
		}
		for _, ev := range r.Events {
			if ev.Type == mvccpb.DELETE {
				p.Keys = append(p.Keys, string(ev.Kv.Key))
			}
		}
	case q.Compaction != nil:
		e.Kind, e.Payload = trace.StoreCompact, &trace.Compaction{Revision: q.Compaction.Revision}
	case q.Alarm != nil:
		if resp, ok := r.Response.(*pb.AlarmResponse); ok && len(resp.Alarms) == 0 {
			return // it was raised, or clear, already
		}
		p := &trace.Alarm{Alarm: q.Alarm.Alarm.String()}
		if c.Member != nil && q.Alarm.MemberID != 0 {
			p.Member = c.Member(q.Alarm.MemberID)
		}
		switch q.Alarm.Action {
		case pb.AlarmRequest_ACTIVATE:
			e.Kind, e.Payload = trace.AlarmRaised, p
		case pb.AlarmRequest_DEACTIVATE:
			e.Kind, e.Payload = trace.AlarmCleared, p
		default:
			return // somebody asked which there are
		}
	}
	id := c.k.Emit(e)
	if q := r.Request.Compaction; q != nil {
		c.compacted, c.compactedBy = max(c.compacted, q.Revision), id
	}
	if writer != nil && writer.commit.IsZero() {
		writer.commit = id
	}
}
