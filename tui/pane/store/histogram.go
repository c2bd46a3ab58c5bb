package store

import (
	"fmt"
	"strings"
	"time"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// scale is where a histogram's buckets stand in a row.
type scale struct {
	p50, p99, count int // columns of the figures before them; count 0: no room
	x, cell         int // where the first bucket is, and how wide each is
	step            int // which buckets are named
}

func scaleFor(w int) scale {
	switch {
	case w >= 108:
		return scale{p50: 14, p99: 21, count: 28, x: 33, cell: 5, step: 1}
	case w >= 74:
		return scale{p50: 12, p99: 18, count: 24, x: 29, cell: 3, step: 2}
	}
	return scale{p50: 10, p99: 16, x: 23, cell: 2, step: 4}
}

// bounded names a bucket by the longest duration in it.
func bounded(bucket int) string {
	d, ok := view.Bound(bucket)
	switch {
	case !ok:
		return "more"
	case d >= time.Second:
		return fmt.Sprintf("%ds", d/time.Second)
	case bucket == 0:
		return "≤1ms"
	}
	return fmt.Sprint(d.Milliseconds())
}

// over reports whether what a bucket counts may be above the threshold.
func (p *Store) over(bucket int) bool {
	d, ok := view.Bound(bucket)
	return !ok || d > p.threshold()
}

// drawHistograms shows what writes to the members' disks took, in etcd's
// buckets: a row a member, and one more for each time that its disk was made
// slower or faster.
func (p *Store) drawHistograms(s *pane.Sheet, f *pane.Frame, y int) int {
	y = s.Heading(y, "etcd_disk_wal_fsync_duration_seconds", "writes by what they took; real time")
	s.Row(y).Fit(0, 0, s.W(), "and etcd_disk_backend_commit_duration_seconds: one transaction is both here", theme.Muted)
	y++
	c := scaleFor(s.W())
	y = p.drawScale(s, c, y)
	drawn := false
	for _, m := range f.S.Store.Members() {
		disks := m.Disks()
		for i := range disks {
			if disks[i].Fsync.Count == 0 && i < len(disks)-1 {
				continue
			}
			drawn = true
			p.drawDisk(s, c, y, m, i)
			y++
		}
	}
	if !drawn {
		s.Row(y).Fit(0, 0, s.W(), "Nothing has been written to a disk yet.", theme.Muted)
		y++
	}
	return y
}

// drawScale names the columns and the buckets, and where the threshold is.
func (p *Store) drawScale(s *pane.Sheet, c scale, y int) int {
	a := s.Row(y)
	a.Text(0, 0, "disk", theme.Muted)
	a.Text(c.p50, 0, "p50", theme.Muted)
	a.Text(c.p99, 0, "p99", theme.Muted)
	if c.count > 0 {
		a.Text(c.count, 0, "of", theme.Muted)
	}
	for i := 0; i < view.Buckets; i += c.step {
		st := theme.Muted
		if p.over(i) {
			st = theme.Warn
		}
		a.Text(c.x+i*c.cell, 0, bounded(i), st)
	}
	s.Hot(0, y, s.W(), pane.Subject{ID: "scale", Target: "store", Words: fmt.Sprintf("Each bar is a bucket of etcd's histogram, named by the longest write in it; right of ╎ are those above the alert's threshold of %s (T changes it).", words.Dur(p.threshold()))})
	return y + 1
}

// diskWords names how a member's disk was, beside how it was before.
func diskWords(m *view.Member, i int) (label, sentence string) {
	d := m.Disks()[i]
	switch {
	case d.Slow != "" && i == 0:
		return m.Name + " +" + d.Slow, "made slower by " + d.Slow + " a write"
	case d.Slow != "":
		return "  +" + d.Slow, "made slower by " + d.Slow + " a write"
	case i > 0:
		return "  mended", "as fast as it was again"
	}
	return m.Name, "as it is"
}

// drawDisk is one histogram.
func (p *Store) drawDisk(s *pane.Sheet, c scale, y int, m *view.Member, i int) {
	d := m.Disks()[i]
	label, how := diskWords(m, i)
	x := d.Writes()
	st, now := theme.Text, i == len(m.Disks())-1
	if !now {
		st = theme.Muted
	}
	a := s.Row(y)
	a.Fit(0, 0, c.p50-1, label, theme.Name)
	on := pane.Subject{ID: fmt.Sprintf("fsync/%s/%d", m.Name, i), Target: "member/" + m.Name, Event: d.Event, Copy: "etcd_disk_wal_fsync_duration_seconds"}
	if d.Fsync.Count == 0 {
		a.Fit(c.p50, 0, s.W()-c.p50, "nothing written since", theme.Muted)
		on.Words = fmt.Sprintf("Member %s's disk is %s since %s and has written nothing since.", m.Name, how, words.Clock(d.Since))
		s.Hot(0, y, s.W(), on)
		return
	}
	p99 := st
	if x.P99 > p.threshold() && now {
		p99 = theme.Warn
	}
	a.Text(c.p50, 0, words.Dur(x.P50), st)
	a.Text(c.p99, 0, words.Dur(x.P99), p99)
	if c.count > 0 {
		a.Text(c.count, 0, fmt.Sprint(d.Fsync.Count), theme.Muted)
	}
	p.drawBuckets(a, c, &d.Fsync, now)
	on.Words = fmt.Sprintf("Member %s, disk %s: %s, p50 %s, p99 %s of the last %d; %s.", m.Name, how, words.Count(d.Fsync.Count, "write"), words.Dur(x.P50), words.Dur(x.P99), x.Count, inBuckets(&d.Fsync))
	s.Hot(0, y, s.W(), on)
}

// drawBuckets draws the bars: as high as the bucket is full beside the fullest,
// and a line where the threshold is.
func (p *Store) drawBuckets(a grid.Area, c scale, h *view.Histogram, now bool) {
	most := 0
	for _, n := range h.Buckets {
		most = max(most, n)
	}
	marked := false
	for i, n := range h.Buckets {
		st := theme.Good
		if p.over(i) {
			st = theme.Warn
			if !marked && i > 0 {
				a.Put(c.x+i*c.cell-1, 0, '╎', theme.Muted)
				marked = true
			}
		}
		if !now {
			st = theme.Muted
		}
		if n == 0 {
			a.Put(c.x+i*c.cell, 0, '·', theme.Line)
			continue
		}
		a.Text(c.x+i*c.cell, 0, strings.Repeat(string(grid.Level(n, most)), max(c.cell-1, 1)), st)
	}
}

// inBuckets tells a histogram in words: "12 up to 2ms, 3 up to 4ms".
func inBuckets(h *view.Histogram) string {
	var all []string
	for i, n := range h.Buckets {
		if n == 0 {
			continue
		}
		if d, ok := view.Bound(i); ok {
			all = append(all, fmt.Sprintf("%d up to %s", n, words.Dur(d)))
		} else {
			all = append(all, fmt.Sprintf("%d longer", n))
		}
	}
	return strings.Join(all, ", ")
}
