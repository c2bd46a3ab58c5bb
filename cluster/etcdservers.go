package cluster

import (
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/console"
	"kviz/cluster/sim"
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

func (p controlPlane) SetEtcdServers(t *sim.Task, members []string) error {
	c := p.c
	if c.raft == nil {
		return fmt.Errorf("this cluster runs on the bare store, without members")
	}
	ids := c.raft.IDs()
	for i, m := range members {
		m = strings.TrimPrefix(m, "member/")
		switch {
		case slices.Contains(members[:i], m):
			return fmt.Errorf("member %s is named twice", m)
		case !slices.Contains(ids, m):
			text := fmt.Sprintf("there is no member %q: the members are %s", m, strings.Join(ids, ", "))
			if near := console.Nearest(m, ids); near != "" {
				text += fmt.Sprintf("; did you mean %q?", near)
			}
			return fmt.Errorf("%s", text)
		}
		members[i] = m
	}
	p.server().Store().SetEndpoints(t, group{c.raft}, members)
	return nil
}

func (p controlPlane) EtcdServers() (all []string, used string) {
	if p.server() == nil {
		return nil, ""
	}
	return p.server().Store().Endpoints()
}
