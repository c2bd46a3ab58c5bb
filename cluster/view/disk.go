package view

import (
	"time"

	"kviz/cluster/trace"
)

// Buckets is how many buckets etcd's histograms of its disk have: 1 ms, 2 ms, …
// 8192 ms, and one for what took longer.
//
// Mirrors etcd server/storage/wal/metrics.go, backend/metrics.go
// prometheus.ExponentialBuckets(0.001, 2, 14).
const Buckets = 15

// Bound is the longest duration that a bucket counts; false for the last one,
// which has no bound.
func Bound(bucket int) (time.Duration, bool) {
	return time.Millisecond << bucket, bucket < Buckets-1
}

// Histogram counts durations in etcd's buckets, each in one only (/metrics adds
// up the ones before).
type Histogram struct {
	Count   int
	Sum     time.Duration
	Buckets [Buckets]int
}

func (h *Histogram) add(d time.Duration) {
	h.Count++
	h.Sum += d
	for i := range Buckets {
		if bound, bounded := Bound(i); d <= bound || !bounded {
			h.Buckets[i]++
			return
		}
	}
}

// Disk is a member's disk as long as it was made slow by the same amount, or not
// at all.
type Disk struct {
	Slow  string // how much longer each write takes: "20ms"; "" for as it is
	Since time.Duration
	Event trace.ID  // the fault that changed it; zero for the first
	Fsync Histogram // what the log's writes took, fsyncs included; real time

	took []time.Duration
}

// Writes sums up the last writes to the disk.
func (d *Disk) Writes() Measured { return measure(d.took) }

const maxDisks = 4

// Disks lists how the member's disk was, at most the last four ways, oldest
// first; the last is how it is now.
func (m *Member) Disks() []Disk { return m.disks[:len(m.disks):len(m.disks)] }

// disk is how the member's disk is now, ready to be changed.
func (m *Member) disk() *Disk {
	if len(m.disks) == 0 {
		m.disks = append(m.disks, Disk{})
	}
	return &m.disks[len(m.disks)-1]
}

// sealDisks ends the sharing of the disks with the record copied.
func (m *Member) sealDisks() {
	m.disks = append([]Disk(nil), m.disks...)
	for i := range m.disks {
		clip(&m.disks[i].took)
	}
}

// turnDisks notes which members' disks a fault or its end has made slower or
// faster.
func (b *Builder) turnDisks(e *trace.Event) {
	for name, old := range entries(b.s.Store.members) {
		slow := b.s.slowness(name)
		if n := len(old.disks); n > 0 && old.disks[n-1].Slow == slow || n == 0 && slow == "" {
			continue
		}
		m := b.member(name)
		if m.disk().Fsync.Count == 0 { // nothing was written as it was
			m.disks = m.disks[:len(m.disks)-1]
		}
		if n := len(m.disks); n > 0 && m.disks[n-1].Slow == slow {
			continue
		}
		m.disks = append(m.disks, Disk{Slow: slow, Since: e.At, Event: e.ID})
		m.disks = m.disks[max(len(m.disks)-maxDisks, 0):]
	}
}

// slowness is how much a member's disk is slowed down on purpose.
func (s *State) slowness(member string) string {
	for _, f := range s.FaultsOn("member/" + member) {
		if f.Fault.Fault == "slow" {
			return f.Detail
		}
	}
	return ""
}
