package cluster

import "kviz/cluster/trace"

// LeaderAt is the member that led a run at an event; "" where none did, or where it had no members.
func LeaderAt(past []*trace.Event, at trace.ID) string {
	leader := ""
	for _, e := range past {
		if e.ID.Compare(trace.ID{Seq: at.Seq}) > 0 {
			break
		}
		p, ok := e.Payload.(*trace.MemberState)
		switch {
		case !ok:
		case e.Kind == trace.MemberRole && p.Role == "leader":
			leader = p.Member
		case p.Member == leader && (e.Kind == trace.MemberRole || e.Kind == trace.MemberDown):
			leader = ""
		}
	}
	return leader
}

// leadAs has the member lead that led the first run where a fork stands. Who wins an election is decided by the members' own
// disks and clocks, which are not repeated; no control-plane event depends on it. Where raft does not hand leadership over,
// because a fault is in its way, it stays where it is: [Cluster.Leader] tells. The cluster stands before and after.
func (e *etcd) leadAs(member string) {
	if e.raft == nil || member == "" || e.raft.Leader() == member {
		return
	}
	e.standing.Lock()
	defer e.standing.Unlock()
	if e.ending || !e.elected.Load() {
		return
	}
	e.store.Hold(false)
	_ = e.raft.TransferLeadership(member)
	e.store.Hold(true)
}

// Leader is the member that leads the store; "" where none does, or where it has no members.
func (c *Cluster) Leader() string {
	if c.etcd.raft == nil {
		return ""
	}
	return c.etcd.raft.Leader()
}
