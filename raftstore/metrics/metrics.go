// Package metrics is the numbers of a store's members under etcd's names, as
// /metrics gives them and as the explorer shows them.
//
// Every member has a registry of its own; nothing is global, for the members of
// several stores may live in one process. What happens is reported through
// [Set.Observe], which takes the store's events and costs nothing where nobody
// counts; gauges (revisions, sizes, who leads) are read when somebody asks for them
// ([Values]).
//
// Where the number behind a name is not quite etcd's, its help text says so:
// there is no write-ahead log file but a bbolt log, so that one transaction,
// its two fsyncs included, is both etcd's "WAL fsync" and its "backend commit".
//
// Start reading at [Set], then the list of names in names.go.
package metrics

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// Set is the members of one store.
type Set struct {
	mu      sync.Mutex
	members map[string]*Member
}

// New is a set without members; a member comes with the first that is said of it.
func New() *Set { return &Set{members: map[string]*Member{}} }

// Member is one member's numbers.
func (s *Set) Member(id string) *Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.members[id]
	if m == nil {
		m = newMember(id)
		s.members[id] = m
	}
	return m
}

// Forget drops a member that left the store.
func (s *Set) Forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.members, id)
}

// Value is one number. Of a histogram there are two, its count and its sum.
type Value struct {
	Name   string // etcd's, such as etcd_server_has_leader
	Labels string // such as `To="b"`, sorted; "" if there are none
	Value  float64
}

// Snapshot is a member's numbers now, sorted by name and labels; nil for an unknown
// member.
func (s *Set) Snapshot(id string) []Value {
	s.mu.Lock()
	m := s.members[id]
	s.mu.Unlock()
	if m == nil {
		return nil
	}
	return m.Snapshot()
}

// Snapshot is the member's numbers now, sorted by name and labels.
func (m *Member) Snapshot() []Value {
	families, err := m.registry.Gather()
	if err != nil {
		panic(fmt.Sprintf("metrics of member %s: %v", m.id, err)) // two numbers of one name
	}
	var list []Value
	for _, f := range families {
		for _, one := range f.Metric {
			list = append(list, values(f, one)...)
		}
	}
	slices.SortFunc(list, func(a, b Value) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Labels, b.Labels))
	})
	return list
}

func values(f *dto.MetricFamily, m *dto.Metric) []Value {
	var labels []string
	for _, l := range m.Label {
		labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	slices.Sort(labels)
	v := Value{Name: f.GetName(), Labels: strings.Join(labels, ",")}
	switch {
	case m.Gauge != nil:
		v.Value = m.Gauge.GetValue()
	case m.Counter != nil:
		v.Value = m.Counter.GetValue()
	case m.Histogram != nil:
		sum := v
		sum.Name, sum.Value = v.Name+"_sum", m.Histogram.GetSampleSum()
		v.Name, v.Value = v.Name+"_count", float64(m.Histogram.GetSampleCount())
		return []Value{v, sum}
	default:
		v.Value = math.NaN()
	}
	return []Value{v}
}

// Handler answers /metrics in Prometheus' text format.
func (m *Member) Handler() http.Handler {
	return promhttp.InstrumentMetricHandler(m.registry, promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
}

// Registry is where the member's numbers are registered.
func (m *Member) Registry() *prometheus.Registry { return m.registry }
