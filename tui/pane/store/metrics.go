package store

import (
	"fmt"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// thresholds are what the alert line can be set to. etcd's documentation asks
// for a fsync under 10 ms at the 99th percentile.
var thresholds = []time.Duration{10 * time.Millisecond, 25 * time.Millisecond, 100 * time.Millisecond, time.Second}

func (p *Store) threshold() time.Duration { return thresholds[p.limit] }

// drawMetrics is what etcd's /metrics tells: the histograms of the disks, what a
// commit takes with how many members and which disks, then the counters.
func (p *Store) drawMetrics(s *pane.Sheet, f *pane.Frame, y int) {
	y = p.drawHistograms(s, f, y)
	s.Row(y).Fit(0, 0, s.W(), "alert when p99 is above "+words.Dur(p.threshold())+", at ╎ (T changes it)", theme.Muted)
	y = drawLatencies(s, f, y+1)
	drawCounters(s, f, y)
}

// drawCounters are the metrics that are one number.
func drawCounters(s *pane.Sheet, f *pane.Frame, y int) int {
	st := &f.S.Store
	y = s.Heading(y, "counters and sizes", "under etcd's names")
	row := func(name, value string, style grid.Style) {
		a := s.Row(y)
		a.Fit(0, 0, max(s.W()-grid.Width(value)-1, 20), name, theme.Muted)
		a.Right(s.W(), 0, value, style)
		s.Hot(0, y, s.W(), pane.Subject{ID: "metric/" + name, Target: "store", Copy: name, Words: name + " is " + value + "."})
		y++
	}
	q := st.Proposals()
	row("etcd_server_leader_changes_seen_total", fmt.Sprint(st.Elections), theme.Number)
	row("etcd_server_proposals_committed_total", fmt.Sprint(q.Committed), theme.Number)
	row("etcd_server_proposals_pending", fmt.Sprint(q.Pending), theme.Number)
	row("etcd_server_proposals_failed_total", fmt.Sprint(q.Failed), theme.Number)
	sizes, applying := "", ""
	for _, m := range st.Members() {
		if m.DBSize > 0 {
			sizes += "  " + m.Name + " " + words.Bytes(int(m.DBSize))
		}
		if x := m.Applying(); x.Count > 0 {
			applying += "  " + m.Name + " " + words.Dur(x.P99)
		}
	}
	if sizes != "" {
		row("etcd_mvcc_db_total_size_in_bytes", strings.TrimSpace(sizes), theme.Text)
	}
	if applying != "" {
		row("etcd_server_apply_duration_seconds p99", strings.TrimSpace(applying), theme.Text)
	}
	return y
}

// drawLatencies compares how long commits took, and how many writes a second
// that leaves: the knob is the disks' fsync (kviz fault slow member/a 20ms) and
// the number of voters.
func drawLatencies(s *pane.Sheet, f *pane.Frame, y int) int {
	list := f.S.Store.Latencies()
	y = s.Heading(y, "commit latency and throughput", "from the leader's first byte until a quorum has it")
	if len(list) == 0 {
		s.Row(y).Fit(0, 0, s.W(), "Nothing is committed yet.", theme.Muted)
		return y + 1
	}
	label, bar := 24, (s.W()-24-14-9)/2
	if s.W() < 74 {
		label, bar = 17, (s.W()-17-14-9)/2
	}
	rate := label + 14 + bar + 1
	a := s.Row(y)
	a.Text(0, 0, "voters, disks", theme.Muted)
	a.Text(label, 0, "p50", theme.Muted)
	a.Text(label+7, 0, "p99", theme.Muted)
	a.Fit(rate, 0, s.W()-rate, "writes/s, one writer", theme.Muted)
	y++
	var slowest, fastest float64
	var peak time.Duration
	for _, l := range list {
		slowest, fastest = max(slowest, float64(l.Commit().P50)), max(fastest, perSecond(l))
		peak = max(peak, l.Commit().P99)
	}
	for _, l := range list {
		c := l.Commit()
		disks, slow := "all disks as they are", l.Disks
		if slow != "" {
			disks = "slow: " + slow
		} else {
			slow = "as they are"
		}
		a := s.Row(y)
		a.Fit(0, 0, label-1, fmt.Sprintf("%d, %s", l.Voters, slow), theme.Name)
		a.Text(label, 0, words.Dur(c.P50), theme.Number)
		a.Text(label+7, 0, words.Dur(c.P99), theme.Number)
		a.Bar(label+14, 0, bar, float64(c.P50), slowest, theme.Busy, theme.Line)
		a.Text(rate, 0, fmt.Sprintf("≤ %.0f", perSecond(l)), theme.Number)
		a.Bar(rate+8, 0, s.W()-rate-8, perSecond(l), fastest, theme.Good, theme.Line)
		s.Hot(0, y, s.W(), pane.Subject{ID: fmt.Sprintf("latency/%d/%s", l.Voters, l.Disks), Event: l.Last, Target: "store", Words: fmt.Sprintf("With %s (%s), half of the last %d commits took under %s, 99 of 100 under %s; one writer after another gets at most %.0f writes a second.", words.Count(l.Voters, "voter"), disks, c.Count, words.Dur(c.P50), words.Dur(c.P99), perSecond(l))})
		y++
		y = drawSeries(s, y, l, label, peak)
	}
	return y
}

// drawSeries is the last commits one after another, as high as they took beside
// the slowest of all.
func drawSeries(s *pane.Sheet, y int, l *view.Latency, x int, peak time.Duration) int {
	series := l.Series()
	w := s.W() - x
	series = series[max(len(series)-w, 0):]
	a := s.Row(y)
	a.Fit(2, 0, x-3, "its last commits", theme.Muted)
	for i, d := range series {
		a.Put(x+i, 0, grid.Level(int(d), int(peak)), theme.Busy)
	}
	return y + 1
}

// perSecond is how many writes one writer after another can have committed.
func perSecond(l *view.Latency) float64 {
	if d := l.Commit().P50; d > 0 {
		return float64(time.Second) / float64(d)
	}
	return 0
}

// drawReads shows what the members answered to one question, each both ways.
func drawReads(s *pane.Sheet, f *pane.Frame, y int) {
	y = s.Heading(y, "reads", "linearizable asks a quorum first; serializable: what the member has")
	answers := f.S.Store.Question()
	if len(answers) == 0 {
		y = s.Say(y, "Put the cursor on a key and press R, or type kviz read KEY: every member is asked both ways. In a partition they differ.", theme.Muted)
	} else {
		s.Row(y).Text(0, 0, answers[0].Key, theme.Name)
		y++
		half := max((s.W()-10)/2, 16)
		a := s.Row(y)
		a.Text(0, 0, "member", theme.Muted)
		a.Text(10, 0, "linearizable", theme.Muted)
		a.Text(10+half, 0, "serializable", theme.Muted)
		y++
		for i, x := range answers {
			if i%2 == 0 {
				s.Row(y).Text(0, 0, x.Member, theme.Name)
			}
			drawAnswer(s, y, x, 10+half*(i%2), half)
			if i%2 == 1 {
				y++
			}
		}
		y += len(answers) % 2 // a read that etcdctl asked one member for
	}
	if n := len(f.S.Store.Rounds); n > 0 {
		r := f.S.Store.Rounds[n-1]
		st, text := theme.Text, fmt.Sprintf("last ReadIndex: %s had a quorum's word in term %d after %s; %s at entry %d", r.Member, r.Term, words.Dur(r.Took), words.Count(r.Reads, "read"), r.Index)
		if r.Error != "" {
			st, text = theme.Bad, fmt.Sprintf("last ReadIndex: %s got no quorum's word: %s", r.Member, r.Error)
		}
		s.Line(y, pane.Subject{ID: "round", Event: r.Event, Kind: trace.RaftRead, Words: text + "."}, grid.Span{Text: text, Style: st})
		y++
	}
	if w := f.S.Store.Forwarded; w.From != "" {
		text := fmt.Sprintf("last request passed on: from %s, which does not lead, to %s", w.From, w.To)
		s.Line(y, pane.Subject{ID: "forwarded", Event: w.Event, Kind: trace.RaftForward, Words: text + "."}, grid.Span{Text: text, Style: theme.Text})
		y++
	}
}

func drawAnswer(s *pane.Sheet, y int, x view.Answer, at, w int) {
	text, st := fmt.Sprintf("revision %d, written at %d", x.Revision, x.ModRevision), theme.Text
	switch {
	case x.Error != "":
		text, st = "✗ "+x.Error, theme.Bad
	case x.ModRevision == 0:
		text, st = fmt.Sprintf("revision %d: no such key", x.Revision), theme.Warn
	}
	s.Row(y).Fit(at, 0, w-1, text, st)
	s.Hot(at, y, w-1, pane.Subject{ID: fmt.Sprintf("answer/%s/%v", x.Member, x.Serializable), Event: x.Event, Target: "member/" + x.Member, Kind: trace.MemberRead, Words: view.Explain(&trace.Event{Kind: trace.MemberRead, Payload: x.MemberAnswer}) + "."})
}
