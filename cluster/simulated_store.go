package cluster

import "kviz/cluster/simulated"

// The store is a library of its own, which knows nothing of kviz' pages: what it
// simplifies is said here.

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Store, How: simulated.Simplified, In: "raftstore/mvcc",
	What: "keys live in memory, in a copy-on-write tree of revisions, instead of in bbolt; compaction removes at once instead of in batches",
})

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Store, How: simulated.Simulated, In: "raftstore/apply",
	What: "there is no database file: its size is computed as bbolt's would be, within a few percent; a snapshot is a real etcd database file",
	Seen: "the store pane, members and quota",
})

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Store, How: simulated.Simplified, In: "raftstore/member",
	What: "raft's log is a bbolt file instead of a write-ahead log of its own; etcd_disk_wal_fsync_duration_seconds measures its transactions",
	Seen: "the store pane, metrics",
})

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Store, How: simulated.Simplified, In: "raftstore/lessor",
	What: "remaining TTLs of leases are not checkpointed, which is etcd's default, so a new leader gives every lease its full TTL again",
})

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Store, How: simulated.Simplified, In: "raftstore/remote",
	What: "where members are processes of their own, anyone with a member's certificate is trusted as that member",
})
