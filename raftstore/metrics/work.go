package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"go.etcd.io/etcd/pkg/v3/runtime"

	"kviz/raftstore/mvcc"
)

// work tells what the member's state machine did.
func work(to chan<- prometheus.Metric, c *mvcc.Counts) {
	gauge := func(d *prometheus.Desc, v float64) { to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v) }
	counter := func(d *prometheus.Desc, n uint64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n))
	}
	gauge(putBytes, float64(c.PutBytes))
	counter(compactKeys, c.Compacted)
	gauge(compactLast, float64(c.LastCompaction))
	milli := map[float64]uint64{}
	for limit, n := range c.Compactions.Seconds() {
		milli[limit*1000] = n
	}
	to <- prometheus.MustNewConstHistogram(compactTook, c.Compactions.Count, c.Compactions.Sum.Seconds()*1000, milli)
	counter(slowApply, c.Slow)
	for op, name := range mvcc.Operations {
		for result := range c.Applied[op] {
			if d := &c.Applied[op][result]; d.Count > 0 {
				to <- prometheus.MustNewConstHistogram(applyTook, d.Count, d.Sum.Seconds(), d.Seconds(), "v3", name, strconv.FormatBool(result == 1))
			}
		}
	}
}

// files tells how many files the process has open, where the system says so.
func files(to chan<- prometheus.Metric) {
	if n, err := runtime.FDUsage(); err == nil {
		to <- prometheus.MustNewConstMetric(fdUsed, prometheus.GaugeValue, float64(n))
	}
	if n, err := runtime.FDLimit(); err == nil {
		to <- prometheus.MustNewConstMetric(fdLimit, prometheus.GaugeValue, float64(n))
	}
}
