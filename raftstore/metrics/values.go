package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore/mvcc"
)

// Values are the gauges, which are read on demand. For a member that is down they are
// zero.
type Values struct {
	ServerID                       uint64
	HasLeader, IsLeader, IsLearner bool
	Committed, Applied             uint64
	Pending                        int // proposals whose end is not known
	Quota, Size, InUse             int64
	Revision, Compacted            int64
	Keys                           int
	Expired                        int64 // leases
	AuthRevision                   uint64
	Alarms                         []*pb.AlarmMember
	Cluster                        string   // the cluster's version, "3.7"
	Peers                          []uint64 // the other members' IDs
	Work                           mvcc.Counts
}

// Ask sets the function that returns the gauges.
func (m *Member) Ask(fn func() Values) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ask = fn
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	hasLeader    = desc("etcd_server_has_leader", "Whether or not a leader exists. 1 is existence, 0 is not.")
	isLeader     = desc("etcd_server_is_leader", "Whether or not this member is a leader. 1 if is, 0 otherwise.")
	isLearner    = desc("etcd_server_is_learner", "Whether or not this member is a learner. 1 if is, 0 otherwise.")
	committed    = desc("etcd_server_proposals_committed_total", "The total number of consensus proposals committed.")
	applied      = desc("etcd_server_proposals_applied_total", "The total number of consensus proposals applied.")
	pending      = desc("etcd_server_proposals_pending", "The current number of pending proposals to commit. Here: of the whole store, whichever member they entered at.")
	quota        = desc("etcd_server_quota_backend_bytes", "Current backend storage quota size in bytes.")
	dbSize       = desc("etcd_mvcc_db_total_size_in_bytes", "Total size of the underlying database physically allocated in bytes. Here: what etcd's database would take; values live in memory.")
	dbInUse      = desc("etcd_mvcc_db_total_size_in_use_in_bytes", "Total size of the underlying database logically in use in bytes. Here: what etcd's database would take; values live in memory.")
	revision     = desc("etcd_debugging_mvcc_current_revision", "The current revision of store.")
	compacted    = desc("etcd_debugging_mvcc_compact_revision", "The revision of the last compaction in store.")
	keys         = desc("etcd_debugging_mvcc_keys_total", "Total number of keys.")
	authRevision = desc("etcd_debugging_auth_revision", "The current revision of auth store.")
	puts         = desc("etcd_mvcc_put_total", "Total number of puts seen by this member.")
	deletes      = desc("etcd_mvcc_delete_total", "Total number of deletes seen by this member.")
	expired      = desc("etcd_debugging_server_lease_expired_total", "The total number of expired leases. Here: of the whole store, under every leader.")
	serverID     = desc("etcd_server_id", "Server or member ID in hexadecimal format. 1 for 'server_id' label with current ID.", "server_id")
	putBytes     = desc("etcd_debugging_mvcc_total_put_size_in_bytes", "The total size of put kv pairs seen by this member.")
	compactKeys  = desc("etcd_debugging_mvcc_db_compaction_keys_total", "Total number of db keys compacted.")
	compactLast  = desc("etcd_debugging_mvcc_db_compaction_last", "The unix time of the last db compaction. Resets to 0 on start.")
	compactTook  = desc("etcd_debugging_mvcc_db_compaction_total_duration_milliseconds", "Bucketed histogram of db compaction total duration. Here: in memory, so the buckets begin at 0.1 ms.")
	slowApply    = desc("etcd_server_slow_apply_total", "The total number of slow apply requests (likely overloaded from slow disk).")
	applyTook    = desc("etcd_server_apply_duration_seconds", "The latency distributions of v2 apply called by backend. Here: of keys and leases.", "version", "op", "success")
	knownPeers   = desc("etcd_network_known_peers", "The current number of known peers.", "Local", "Remote")
	cluster      = desc("etcd_cluster_version", "Which version is running. 1 for 'cluster_version' label with current cluster version", "cluster_version")
	fdUsed       = desc("os_fd_used", "The number of used file descriptors.")
	fdLimit      = desc("os_fd_limit", "The file descriptor limit.")
	alarms       = desc("etcd_debugging_server_alarms", "Alarms for every member in cluster. 1 for 'server_id' label with current ID. 2 for 'alarm_type' label with type of this alarm", "server_id", "alarm_type")
)

// asked is the collector of [Values].
type asked struct{ m *Member }

func (a asked) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(a, to) }

func (a asked) Collect(to chan<- prometheus.Metric) {
	a.m.mu.Lock()
	ask := a.m.ask
	a.m.mu.Unlock()
	var v Values
	if ask != nil {
		v = ask()
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	flag := func(d *prometheus.Desc, on bool) {
		if on {
			gauge(d, 1)
		} else {
			gauge(d, 0)
		}
	}
	flag(hasLeader, v.HasLeader)
	flag(isLeader, v.IsLeader)
	flag(isLearner, v.IsLearner)
	gauge(committed, float64(v.Committed))
	gauge(applied, float64(v.Applied))
	gauge(pending, float64(v.Pending))
	gauge(quota, float64(v.Quota))
	gauge(dbSize, float64(v.Size))
	gauge(dbInUse, float64(v.InUse))
	gauge(revision, float64(v.Revision))
	gauge(compacted, float64(v.Compacted))
	gauge(keys, float64(v.Keys))
	gauge(authRevision, float64(v.AuthRevision))
	to <- prometheus.MustNewConstMetric(puts, prometheus.CounterValue, float64(v.Work.Puts))
	to <- prometheus.MustNewConstMetric(deletes, prometheus.CounterValue, float64(v.Work.Deletes))
	to <- prometheus.MustNewConstMetric(expired, prometheus.CounterValue, float64(v.Expired))
	if v.ServerID != 0 {
		gauge(serverID, 1, fmt.Sprintf("%x", v.ServerID))
	}
	if v.Cluster != "" {
		gauge(cluster, 1, v.Cluster)
	}
	for _, peer := range v.Peers {
		gauge(knownPeers, 1, fmt.Sprintf("%x", v.ServerID), fmt.Sprintf("%x", peer))
	}
	work(to, &v.Work)
	files(to)
	for _, x := range v.Alarms {
		gauge(alarms, 1, fmt.Sprintf("%x", x.MemberID), x.Alarm.String())
	}
}
