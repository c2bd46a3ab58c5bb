package fairness

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// WriteMetrics writes apiserver_flowcontrol_* as a scrape of kube-apiserver's
// /metrics has them (apiserver pkg/util/flowcontrol/metrics/metrics.go). Left out are
// the histograms of observations at the end of every nanosecond, and the gauges of
// the fair queuing's internals.
func (c *Controller) WriteMetrics(w io.Writer, now time.Duration) {
	c.catchUp(now)
	m := &scrape{w: w, c: c}
	m.byFlow("current_executing_requests", "Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the API Priority and Fairness subsystem", func(f *Flow) int { return f.executing })
	m.byFlow("current_executing_seats", "Concurrency (number of seats) occupied by the currently executing (initial stage for a WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem", func(f *Flow) int { return f.executingSeats })
	m.byFlow("current_inqueue_requests", "Number of requests currently pending in queues of the API Priority and Fairness subsystem", func(f *Flow) int { return f.waiting })
	m.byFlow("current_inqueue_seats", "Number of seats currently pending in queues of the API Priority and Fairness subsystem", func(f *Flow) int { return f.waitingSeats })
	m.byLevel("current_limit_seats", "current derived number of execution seats available to each priority level", func(l *Level) float64 { return float64(l.set.limit) })
	m.byLevel("demand_seats_average", "Time-weighted average, over last adjustment period, of demand_seats", func(l *Level) float64 { return l.Demand.Average })
	m.byLevel("demand_seats_high_watermark", "High watermark, over last adjustment period, of demand_seats", func(l *Level) float64 { return float64(l.Demand.High) })
	m.byLevel("demand_seats_smoothed", "Smoothed seat demands", func(l *Level) float64 { return l.Demand.Smoothed })
	m.byLevel("demand_seats_stdev", "Time-weighted standard deviation, over last adjustment period, of demand_seats", func(l *Level) float64 { return l.Demand.Deviation })
	m.head("dispatched_requests_total", "Number of requests executed by API Priority and Fairness subsystem", "counter")
	m.flows(func(id flowID, f *Flow) {
		if f.dispatched > 0 {
			m.sample("dispatched_requests_total", id.labels(), float64(f.dispatched))
		}
	})
	m.byLevel("lower_limit_seats", "Configured lower bound on number of execution seats available to each priority level", func(l *Level) float64 { return float64(l.Min) })
	m.byLevel("nominal_limit_seats", "Nominal number of execution seats configured for each priority level", func(l *Level) float64 { return float64(l.Nominal) })
	m.head("rejected_requests_total", "Number of requests rejected by API Priority and Fairness subsystem", "counter")
	m.flows(func(id flowID, f *Flow) {
		for why, n := range f.rejected {
			if n > 0 {
				m.sample("rejected_requests_total", id.labels("reason", reasonNames[why]), float64(n))
			}
		}
	})
	m.histograms("request_execution_seconds", "Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution in the API Priority and Fairness subsystem", secondBounds,
		func(f *Flow) []labelled {
			return []labelled{{"type", "regular", &f.executed}, {"type", "watch", &f.watched}}
		})
	m.histograms("request_queue_length_after_enqueue", "Length of queue in the API Priority and Fairness subsystem, as seen by each request after it is enqueued", lengthBounds,
		func(f *Flow) []labelled { return []labelled{{of: &f.lengths}} })
	m.histograms("request_wait_duration_seconds", "Length of time a request spent waiting in its queue", secondBounds,
		func(f *Flow) []labelled {
			return []labelled{{"execute", "false", &f.waited[0]}, {"execute", "true", &f.waited[1]}}
		})
	m.head("seat_fair_frac", "Fair fraction of server's concurrency to allocate to each priority level that can use it", "gauge")
	m.sample("seat_fair_frac", "", c.fair)
	m.byLevel("target_seats", "Seat allocation targets", func(l *Level) float64 { return l.Target })
	m.byLevel("upper_limit_seats", "Configured upper bound on number of execution seats available to each priority level", func(l *Level) float64 { return float64(l.Max) })
	m.histograms("watch_count_samples", "count of watchers for mutating requests in API Priority and Fairness", watcherBounds,
		func(f *Flow) []labelled { return []labelled{{of: &f.watchers}} })
	m.histograms("work_estimated_seats", "Number of estimated seats (maximum of initial and final seats) associated with requests in API Priority and Fairness", widthBounds,
		func(f *Flow) []labelled { return []labelled{{of: &f.widths}} })
}

// labelled is a histogram with one more label.
type labelled struct {
	name, value string
	of          *histogram
}

type scrape struct {
	w io.Writer
	c *Controller
}

const prefix = "apiserver_flowcontrol_"

func (m *scrape) head(name, help, kind string) {
	fmt.Fprintf(m.w, "# HELP %s%s [%s] %s\n# TYPE %s%s %s\n", prefix, name, stability(name), help, prefix, name, kind)
}

// stability is how firm upstream's metric is, which its help says.
func stability(name string) string {
	switch name {
	case "current_executing_requests", "current_executing_seats", "current_inqueue_requests", "dispatched_requests_total",
		"nominal_limit_seats", "rejected_requests_total", "request_wait_duration_seconds":
		return "BETA"
	}
	return "ALPHA"
}

func (m *scrape) sample(name, labels string, x float64) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	fmt.Fprintf(m.w, "%s%s%s %s\n", prefix, name, labels, strconv.FormatFloat(x, 'g', -1, 64))
}

// labels are the flow's, and others, by name.
func (id flowID) labels(more ...string) string {
	all := []string{fmt.Sprintf("flow_schema=%q", id.schema), fmt.Sprintf("priority_level=%q", id.level)}
	for i := 0; i+1 < len(more); i += 2 {
		if more[i] != "" {
			all = append(all, fmt.Sprintf("%s=%q", more[i], more[i+1]))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

func (m *scrape) flows(fn func(id flowID, f *Flow)) {
	ids := make([]flowID, 0, len(m.c.flows))
	for id := range m.c.flows {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b flowID) int { return strings.Compare(a.labels(), b.labels()) })
	for _, id := range ids {
		fn(id, m.c.flows[id])
	}
}

// byFlow writes a gauge of each flow that there has been a request of.
func (m *scrape) byFlow(name, help string, x func(*Flow) int) {
	m.head(name, help, "gauge")
	m.flows(func(id flowID, f *Flow) {
		if f.widths.n > 0 {
			m.sample(name, id.labels(), float64(x(f)))
		}
	})
}

func (m *scrape) byLevel(name, help string, x func(*Level) float64) {
	m.head(name, help, "gauge")
	for _, level := range m.c.order {
		m.sample(name, fmt.Sprintf("priority_level=%q", level), x(m.c.levels[level]))
	}
}

func (m *scrape) histograms(name, help string, bounds []float64, of func(*Flow) []labelled) {
	m.head(name, help, "histogram")
	m.flows(func(id flowID, f *Flow) {
		for _, l := range of(f) {
			if l.of.n == 0 {
				continue
			}
			sum := uint64(0)
			for i, b := range bounds {
				sum += l.of.counts[i]
				m.sample(name+"_bucket", id.labels(l.name, l.value)+fmt.Sprintf(",le=%q", strconv.FormatFloat(b, 'g', -1, 64)), float64(sum))
			}
			m.sample(name+"_bucket", id.labels(l.name, l.value)+`,le="+Inf"`, float64(l.of.n))
			m.sample(name+"_sum", id.labels(l.name, l.value), l.of.sum)
			m.sample(name+"_count", id.labels(l.name, l.value), float64(l.of.n))
		}
	})
}
