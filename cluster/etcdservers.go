package cluster

import (
	"kviz/cluster/storage"
	"kviz/raftstore"
)

// group is the members as the API server's etcd client finds them.
type group struct{ r *raftstore.Replicated }

var _ storage.Group = group{}

// Standing is how a request fares that enters at a member.
func (g group) Standing(member string) (up, reaches, learner bool) {
	for _, m := range g.r.Members() {
		if m.ID == member {
			return m.Up, m.Up && g.r.Reaches(member), m.Learner
		}
	}
	return false, false, false // it has left the group
}

// Forwarded tells that a member passed a request on to the leader.
func (g group) Forwarded(member, what string, size int) { g.r.Forwarded(member, what, size) }
