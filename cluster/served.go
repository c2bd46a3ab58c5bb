package cluster

import (
	"kviz/cluster/trace"
	"kviz/raftstore/etcdapi"
)

// clientPort is the port of a member's client URL inside the cluster, etcd's own.
const clientPort = "2379"

// served tells in the trace where etcd's clients find the members: inside the
// cluster, as the console's etcdctl does, and on this machine if [Cluster.ListenEtcd]
// was called. It is the kernel's.
type served struct {
	c    *Cluster
	told map[string]trace.MemberEndpoint // what the trace says
	at   map[string]etcdapi.Address      // the listeners
}

// member notes that a member runs, or has left the group for good.
func (s *served) member(name string, here bool) {
	if !here {
		delete(s.told, name)
		return
	}
	s.tell(name)
}

// listeners looks which listeners there are now.
func (s *served) listeners() {
	server := s.c.etcdServer.Load()
	if server == nil {
		return
	}
	clear(s.at)
	addresses := server.Addresses()
	for _, a := range addresses {
		s.at[a.Member] = a
	}
	for _, a := range addresses {
		s.tell(a.Member)
	}
}

// tell emits a member's endpoints if they are not what the trace says.
func (s *served) tell(name string) {
	e := trace.MemberEndpoint{Member: name, Client: "http://" + name + ":" + clientPort}
	if a, ok := s.at[name]; ok {
		e.Listener, e.Open = a.URL, a.Open
	}
	if s.told[name] == e {
		return
	}
	s.told[name] = e
	s.c.k.Emit(trace.Event{Lane: trace.Lane{Component: trace.CompMember, Instance: name}, Kind: trace.MemberServed, Payload: &e})
}
