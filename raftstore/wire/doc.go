// Package wire is the network between the members of a raft group, and the tap on it:
// every message can be seen, held, let go one by one, delayed, dropped and cut off.
// Where members have processes of their own, each process has one, and a [Carrier]
// takes requests from one to the next (package remote).
//
// It has no timers of its own (except for injected delays), so a message can be held
// for minutes without anyone giving up on it. What keeps a leader in place,
// heartbeats and appends without new entries, passes while everything else is held;
// so a paused group stays as it is, and no term changes.
//
// A real raft group speaks over TCP (hashicorp/raft NetworkTransport, etcd
// rafthttp). In one process a call hands the request to the receiver's channel and waits
// for the answer. Start reading at [Network], then [Endpoint].
package wire
