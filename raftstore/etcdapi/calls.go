package etcdapi

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kviz/raftstore/metrics"
)

// calls counts calls. Finding a counter by its labels takes longer than counting:
// what a method needs is looked up once.
type calls struct {
	methods sync.Map // full name: *call
	clients sync.Map // clientKey: prometheus.Counter
}

type clientKey struct{ kind, version string }

// call is the counters of one method.
type call struct {
	labels  []string // grpc_type, grpc_service, grpc_method
	started prometheus.Counter
	ok      prometheus.Counter
	failed  *prometheus.CounterVec
	// Messages, as grpc-prometheus counts them.
	received, sent prometheus.Counter
	took           [2]prometheus.Observer // by success; nil if etcd does not tell
}

// timed are the methods whose duration etcd tells.
var timed = map[string]bool{
	"Range": true, "Put": true, "DeleteRange": true, "Txn": true, "Compact": true,
	"LeaseGrant": true, "LeaseRevoke": true, "Alarm": true, "Authenticate": true,
}

func (c *calls) of(numbers *metrics.Member, kind, full string) *call {
	if m, ok := c.methods.Load(full); ok {
		return m.(*call)
	}
	service, method, _ := strings.Cut(strings.TrimPrefix(full, "/"), "/")
	labels := []string{kind, service, method}
	m := &call{
		labels: labels, started: numbers.Started.WithLabelValues(labels...),
		ok:       numbers.Handled.WithLabelValues(kind, service, method, codes.OK.String()),
		failed:   numbers.Handled,
		received: numbers.MsgReceived.WithLabelValues(labels...), sent: numbers.MsgSent.WithLabelValues(labels...),
	}
	if kind == "unary" && timed[method] {
		m.took = [2]prometheus.Observer{numbers.RequestSeconds.WithLabelValues(method, "true"), numbers.RequestSeconds.WithLabelValues(method, "false")}
	}
	found, _ := c.methods.LoadOrStore(full, m)
	return found.(*call)
}

func (c *call) end(err error, began time.Time) {
	result := 0
	if err == nil {
		c.ok.Inc()
	} else {
		result = 1
		c.failed.WithLabelValues(c.labels[0], c.labels[1], c.labels[2], status.Code(err).String()).Inc()
	}
	if o := c.took[result]; o != nil {
		o.Observe(time.Since(began).Seconds())
	}
}

// counted is a stream whose messages are counted.
type counted struct {
	grpc.ServerStream
	call *call
}

func (c counted) SendMsg(m any) error {
	err := c.ServerStream.SendMsg(m)
	if err == nil {
		c.call.sent.Inc()
	}
	return err
}

func (c counted) RecvMsg(m any) error {
	err := c.ServerStream.RecvMsg(m)
	if err == nil {
		c.call.received.Inc()
	}
	return err
}

// mostClients bounds how many client versions are counted separately, since clients
// can claim anything.
const mostClients = 64

// client counts the calls of clients of one version.
func (c *calls) client(numbers *metrics.Member, kind, version string) prometheus.Counter {
	key := clientKey{kind, version}
	if n, ok := c.clients.Load(key); ok {
		return n.(prometheus.Counter)
	}
	n := 0
	c.clients.Range(func(any, any) bool { n++; return true })
	if n >= mostClients {
		key.version = "other"
	}
	found, _ := c.clients.LoadOrStore(key, numbers.ClientRequests.WithLabelValues(kind, key.version))
	return found.(prometheus.Counter)
}

func streamKind(info *grpc.StreamServerInfo) string {
	switch {
	case info.IsClientStream && info.IsServerStream:
		return "bidi_stream"
	case info.IsServerStream:
		return "server_stream"
	}
	return "client_stream"
}
