// Package remote runs members of the replicated store as processes of their own,
// on this machine or on others, over TCP with mutual TLS; and drives such members
// from the process in which the cluster is.
//
// A [Process] is one member: a member.Member on a wire.Network of its own, on which
// the other members are endpoints at the far end of connections. Whatever wire does
// (hold, delay, drop, cut) it does in the sender's process, as between members of one
// process.
//
// A [Group] is the driver's side. For each member it has a [Member], which has the
// methods of member.Member: orders go there, and what happens comes back as a stream
// of events and applied commands; from these the driver keeps a copy of the member's
// state machine up to date, for what is asked often.
//
// In etcd this is rafthttp (server/etcdserver/api/rafthttp) for the way between
// members; there is no driver. Simplified: who has a member's certificate is
// believed as that member.
//
// Start reading at [Serve] and [Open], then protocol.go and DESIGN.md.
package remote
