package cluster

import (
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/etcdapi"
)

// clientPort is the port of a member's client URL inside the cluster, etcd's own.
const clientPort = "2379"

// memberEndpoints tells in the trace where etcd's clients find the members: inside the
// cluster, as the console's etcdctl does, and on this machine if [Cluster.ListenEtcd]
// was called. It is the kernel's.
type memberEndpoints struct {
	k    *sim.Kernel
	told map[string]trace.MemberEndpoint // what the trace says
	at   map[string]etcdapi.Address      // the listeners
}

// member notes that a member runs, or has left the group for good.
func (s *memberEndpoints) member(name string, here bool) {
	if !here {
		delete(s.told, name)
		return
	}
	s.tell(name)
}

func newMemberEndpoints(k *sim.Kernel) *memberEndpoints {
	return &memberEndpoints{k: k, told: map[string]trace.MemberEndpoint{}, at: map[string]etcdapi.Address{}}
}

// listeners notes which listeners there are now.
func (s *memberEndpoints) listeners(addresses []etcdapi.Address) {
	clear(s.at)
	for _, a := range addresses {
		s.at[a.Member] = a
	}
	for _, a := range addresses {
		s.tell(a.Member)
	}
}

// tell emits a member's endpoints if they are not what the trace says.
func (s *memberEndpoints) tell(name string) {
	e := trace.MemberEndpoint{Member: name, Client: "http://" + name + ":" + clientPort}
	if a, ok := s.at[name]; ok {
		e.Listener, e.Open = a.URL, a.Open
	}
	if s.told[name] == e {
		return
	}
	s.told[name] = e
	s.k.Emit(trace.Event{Lane: trace.Lane{Component: trace.CompMember, Instance: name}, Kind: trace.MemberServed, Payload: &e})
}
