package metrics

import (
	"runtime"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.etcd.io/etcd/api/v3/version"
)

// Member is one member's numbers, under etcd's names. The counters may be used
// from any goroutine.
type Member struct {
	id       string
	registry *prometheus.Registry

	FsyncSeconds   prometheus.Histogram
	CommitSeconds  prometheus.Histogram
	WrittenBytes   prometheus.Gauge
	RoundTrip      *prometheus.HistogramVec // by To
	LeaderChanges  prometheus.Counter
	HeartbeatLost  prometheus.Counter
	ProposalFailed prometheus.Counter
	SlowReadIndex  prometheus.Counter
	FailedRead     prometheus.Counter
	Promoted       prometheus.Counter
	PromoteFailed  *prometheus.CounterVec // by Reason
	Snapshots      *prometheus.CounterVec // by To

	Ranges, Txns                      prometheus.Counter
	Events                            prometheus.Counter
	Watchers, WatchStreams, SlowWatch prometheus.Gauge

	Granted, Renewed, Revoked prometheus.Counter

	Sent, Received  prometheus.Counter
	ClientRequests  *prometheus.CounterVec // by type, client_api_version
	StreamFailures  *prometheus.CounterVec // by Type, API
	RequestSeconds  *prometheus.HistogramVec
	Started         *prometheus.CounterVec   // by grpc_type, grpc_service, grpc_method
	Handled         *prometheus.CounterVec   // the same and grpc_code
	MsgReceived     *prometheus.CounterVec   // by grpc_type, grpc_service, grpc_method
	MsgSent         *prometheus.CounterVec   // the same
	RangeSeconds    *prometheus.HistogramVec // by success
	LeaseTTL        prometheus.Histogram
	HashSeconds     prometheus.Histogram
	HashRevSeconds  prometheus.Histogram
	HealthSuccess   prometheus.Counter
	HealthFailures  prometheus.Counter
	HealthGauge     *prometheus.GaugeVec
	HealthChecks    *prometheus.CounterVec
	DefragInflight  prometheus.Gauge
	DefragSeconds   prometheus.Histogram
	SnapshotSeconds prometheus.Histogram

	mu    sync.Mutex
	ask   func() Values
	turns turns
}

// Buckets as etcd has them.
var (
	fine   = prometheus.ExponentialBuckets(0.0001, 2, 16)
	coarse = prometheus.ExponentialBuckets(0.001, 2, 14)
	long   = prometheus.ExponentialBuckets(0.1, 2, 13)
	short  = prometheus.ExponentialBuckets(0.01, 2, 17)
)

// aboutTheLog is appended to the help of what is measured elsewhere than in etcd.
const aboutTheLog = " Here: one transaction of the log's bbolt file, with its two fsyncs; the log is the only file that a write waits for."

func newMember(id string) *Member {
	m := &Member{id: id, registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), asked{m})
	m.raft()
	m.mvcc()
	m.clients()
	m.gaugeVec("etcd_server_version", "Which version is running. 1 for 'server_version' label with current version.", "server_version").WithLabelValues(version.Version).Set(1)
	m.gaugeVec("etcd_server_go_version", "Which Go version server is running with. 1 for 'server_go_version' label with current version.", "server_go_version").WithLabelValues(runtime.Version()).Set(1)
	return m
}

func (m *Member) raft() {
	m.FsyncSeconds = m.histogram("etcd_disk_wal_fsync_duration_seconds", "The latency distributions of fsync called by WAL."+aboutTheLog, coarse)
	m.CommitSeconds = m.histogram("etcd_disk_backend_commit_duration_seconds", "The latency distributions of commit called by backend."+aboutTheLog, coarse)
	m.WrittenBytes = m.gauge("etcd_disk_wal_write_bytes_total", "Total number of bytes written in WAL.")
	m.RoundTrip = m.histogramVec("etcd_network_peer_round_trip_time_seconds", "Round-Trip-Time histogram between peers. Here: of requests that bring entries, the receiver's write included.", fine, "To")
	m.LeaderChanges = m.counter("etcd_server_leader_changes_seen_total", "The number of leader changes seen.")
	m.HeartbeatLost = m.counter("etcd_server_heartbeat_send_failures_total", "The total number of leader heartbeat send failures (likely overloaded from slow disk).")
	m.ProposalFailed = m.counter("etcd_server_proposals_failed_total", "The total number of failed proposals seen.")
	m.SlowReadIndex = m.counter("etcd_server_slow_read_indexes_total", "The total number of pending read indexes not in sync with leader's or timed out read index requests.")
	m.FailedRead = m.counter("etcd_server_read_indexes_failed_total", "The total number of failed read indexes seen.")
	m.Promoted = m.counter("etcd_server_learner_promote_successes", "The total number of successful learner promotions while this member is leader.")
	m.PromoteFailed = m.counterVec("etcd_server_learner_promote_failures", "The total number of failed learner promotions (likely learner not ready) while this member is leader.", "Reason")
	m.Snapshots = m.counterVec("etcd_network_snapshot_send_success", "Total number of successful snapshot sends", "To")
	m.DefragInflight = m.gauge("etcd_disk_defrag_inflight", "Whether or not defrag is active on the member. 1 means active, 0 means not.")
	m.DefragSeconds = m.histogram("etcd_disk_backend_defrag_duration_seconds", "The latency distribution of backend defragmentation.", long)
	m.SnapshotSeconds = m.histogram("etcd_disk_backend_snapshot_duration_seconds", "The latency distribution of backend snapshots.", short)
}

func (m *Member) mvcc() {
	m.Ranges = m.counter("etcd_mvcc_range_total", "Total number of ranges seen by this member.")
	m.Txns = m.counter("etcd_mvcc_txn_total", "Total number of txns seen by this member.")
	m.Events = m.counter("etcd_debugging_mvcc_events_total", "Total number of events sent by this member.")
	m.Watchers = m.gauge("etcd_debugging_mvcc_watcher_total", "Total number of watchers.")
	m.WatchStreams = m.gauge("etcd_debugging_mvcc_watch_stream_total", "Total number of watch streams.")
	m.SlowWatch = m.gauge("etcd_debugging_mvcc_slow_watcher_total", "Total number of unsynced slow watchers.")
	m.Granted = m.counter("etcd_debugging_lease_granted_total", "The total number of granted leases.")
	m.LeaseTTL = m.histogram("etcd_debugging_lease_ttl_total", "Bucketed histogram of lease TTLs.", prometheus.ExponentialBuckets(1, 2, 24))
	m.HashSeconds = m.histogram("etcd_mvcc_hash_duration_seconds", "The latency distribution of storage hash operation.", prometheus.ExponentialBuckets(.01, 2, 15))
	m.HashRevSeconds = m.histogram("etcd_mvcc_hash_rev_duration_seconds", "The latency distribution of storage hash by revision operation.", prometheus.ExponentialBuckets(.01, 2, 15))
	m.Renewed = m.counter("etcd_debugging_lease_renewed_total", "The number of renewed leases seen by the leader.")
	m.Revoked = m.counter("etcd_debugging_lease_revoked_total", "The total number of revoked leases.")
}

func (m *Member) clients() {
	m.Sent = m.counter("etcd_network_client_grpc_sent_bytes_total", "The total number of bytes sent to grpc clients.")
	m.Received = m.counter("etcd_network_client_grpc_received_bytes_total", "The total number of bytes received from grpc clients.")
	m.ClientRequests = m.counterVec("etcd_server_client_requests_total", "The total number of client requests per client version.", "type", "client_api_version")
	m.StreamFailures = m.counterVec("etcd_network_server_stream_failures_total", "The total number of stream failures from the local server.", "Type", "API")
	m.RequestSeconds = m.histogramVec("etcd_server_request_duration_seconds", "Response latency distribution in seconds for each type.", coarse, "type", "success")
	m.Started = m.counterVec("grpc_server_started_total", "Total number of RPCs started on the server.", "grpc_type", "grpc_service", "grpc_method")
	m.Handled = m.counterVec("grpc_server_handled_total", "Total number of RPCs completed on the server, regardless of success or failure.", "grpc_type", "grpc_service", "grpc_method", "grpc_code")
	m.MsgReceived = m.counterVec("grpc_server_msg_received_total", "Total number of RPC stream messages received on the server.", "grpc_type", "grpc_service", "grpc_method")
	m.MsgSent = m.counterVec("grpc_server_msg_sent_total", "Total number of gRPC stream messages sent by the server.", "grpc_type", "grpc_service", "grpc_method")
	m.RangeSeconds = m.histogramVec("etcd_server_range_duration_seconds", "The latency distributions of txn.Range", prometheus.ExponentialBuckets(0.0001, 2, 20), "success")
	m.HealthSuccess = m.counter("etcd_server_health_success", "The total number of successful health checks")
	m.HealthFailures = m.counter("etcd_server_health_failures", "The total number of failed health checks")
	m.HealthGauge = m.gaugeVec("etcd_server_healthcheck", "The result of each kind of healthcheck.", "type", "name")
	m.HealthChecks = m.counterVec("etcd_server_healthchecks_total", "The total number of each kind of healthcheck.", "type", "name", "status")
}

func (m *Member) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

func (m *Member) counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Member) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	m.registry.MustRegister(g)
	return g
}

func (m *Member) gaugeVec(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(g)
	return g
}

func (m *Member) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	m.registry.MustRegister(h)
	return h
}

func (m *Member) histogramVec(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
}
