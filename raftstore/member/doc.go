// Package member is one member of the replicated store: one hashicorp/raft
// node with its log and votes on a disk (raft-boltdb), its snapshots, and the
// key-value state machine that applies what is committed.
//
// A [Member] can be started, stopped, crashed and started again; its disk can
// be slow or full. A member that cannot go on (its disk refuses a vote, its log
// cannot be read, its state machine panics) goes down by itself; the process
// and the other members go on.
//
// In etcd this is server/etcdserver (raft.go, bootstrap.go, apply). Simplified:
// the log is a bbolt file instead of a write-ahead log of its own.
//
// Start reading at [Member.Start], then [machine.ApplyBatch] and [disk].
//
// # Goroutines
//
//   - raft's own (hashicorp/raft docs/README.md, Threads): main loop, FSM,
//     snapshots; on the leader one replicate and one heartbeat goroutine for
//     each follower. They end in Shutdown.
//   - "watch of a": owns nothing; waits for the member to fail and takes it down,
//     and tells how its election timeout runs.
//   - "flush of a": writes a leader's entries to the disk while raft already
//     replicates them; ends with the disk.
//   - "thaw of a": sets a follower's timeouts after a hold if no heartbeat does;
//     ends after an election timeout, or with the member.
//   - "heartbeat of a" (package wire): answers one heartbeat; drained before
//     the disk is closed.
package member
