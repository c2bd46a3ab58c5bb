package store

import (
	"fmt"
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

// drawMetrics is what etcd's /metrics tells, and the chart of what a commit
// takes with how many members and which disks.
func (p *Store) drawMetrics(s *pane.Sheet, f *pane.Frame, y int) int {
	st := &f.S.Store
	y = s.Heading(y, "metrics", "etcd's names; durations are real time, of the last writes")
	row := func(name, value string, style grid.Style) {
		a := s.Row(y)
		a.Fit(0, 0, max(s.W()-22, 20), name, theme.Muted)
		a.Right(s.W(), 0, value, style)
		s.Hot(0, y, s.W(), pane.Subject{ID: "metric/" + name, Target: "store", Copy: name, Words: name + " is " + value + "."})
		y++
	}
	q := st.Proposals()
	row("etcd_server_leader_changes_seen_total", fmt.Sprint(st.Elections), theme.Number)
	row("etcd_server_proposals_committed_total", fmt.Sprint(q.Committed), theme.Number)
	row("etcd_server_proposals_pending", fmt.Sprint(q.Pending), theme.Number)
	row("etcd_server_proposals_failed_total", fmt.Sprint(q.Failed), theme.Number)
	for _, m := range st.Members() {
		style := theme.Text
		if x := m.Fsync(); x.Count > 0 {
			if x.P99 > p.threshold() {
				style = theme.Warn
			}
			row("etcd_disk_wal_fsync_duration_seconds  "+m.Name, "p50 "+words.Dur(x.P50)+" p99 "+words.Dur(x.P99), style)
		}
		if x := m.BackendCommit(); x.Count > 0 {
			row("etcd_disk_backend_commit_duration_seconds  "+m.Name, "p50 "+words.Dur(x.P50)+" p99 "+words.Dur(x.P99), theme.Text)
		}
		if m.DBSize > 0 {
			row("etcd_mvcc_db_total_size_in_bytes  "+m.Name, words.Bytes(int(m.DBSize)), theme.Text)
		}
	}
	a := s.Row(y)
	a.Fit(0, 0, s.W(), "alert when fsync p99 is above "+words.Dur(p.threshold())+" (T changes it)", theme.Muted)
	return drawLatencies(s, f, y+1)
}

// drawLatencies compares how long commits took: the knob is the disks' fsync
// (kviz fault slow member/a 20ms) and the number of voters.
func drawLatencies(s *pane.Sheet, f *pane.Frame, y int) int {
	list := f.S.Store.Latencies()
	y = s.Heading(y, "commit latency", "from the leader's first byte until a quorum has it; real time")
	if len(list) == 0 {
		s.Row(y).Fit(0, 0, s.W(), "Nothing is committed yet.", theme.Muted)
		return y + 1
	}
	var most time.Duration
	for _, l := range list {
		most = max(most, l.Commit().P50)
	}
	for _, l := range list {
		c := l.Commit()
		disks := "all disks as they are"
		if l.Disks != "" {
			disks = "slow: " + l.Disks
		}
		perSecond := 0.0
		if c.P50 > 0 {
			perSecond = float64(time.Second) / float64(c.P50)
		}
		s.Line(y, pane.Subject{ID: fmt.Sprintf("latency/%d/%s", l.Voters, l.Disks), Event: l.Last, Target: "store", Words: fmt.Sprintf("With %s (%s), half of the last %d commits took under %s, 99 of 100 under %s; one writer after another gets %.0f writes a second.", words.Count(l.Voters, "voter"), disks, c.Count, words.Dur(c.P50), words.Dur(c.P99), perSecond)},
			grid.Span{Text: fmt.Sprintf("%d voters ", l.Voters), Style: theme.Name}, grid.Span{Text: fmt.Sprintf("p50 %-6s p99 %-6s ", words.Dur(c.P50), words.Dur(c.P99)), Style: theme.Number},
			grid.Span{Text: fmt.Sprintf("≤ %.0f writes/s by one writer ", perSecond), Style: theme.Text}, grid.Span{Text: disks, Style: theme.Muted})
		y++
		a := s.Row(y)
		bar := min(s.W()/3, 30)
		a.Bar(2, 0, bar, float64(c.P50), float64(most), theme.Busy, theme.Line)
		if w := s.W() - bar - 5; w > 8 {
			a.Spark(bar+4, 0, min(w, 60), micros(l.Series(), min(w, 60)), theme.Busy)
		}
		y++
	}
	return y
}

// micros are the last w durations in microseconds.
func micros(series []time.Duration, w int) []int {
	series = series[max(len(series)-w, 0):]
	out := make([]int, len(series))
	for i, d := range series {
		out[i] = int(d / time.Microsecond)
	}
	return out
}

// drawReads shows what the members answered to one question, each both ways.
func drawReads(s *pane.Sheet, f *pane.Frame, y int) int {
	y = s.Heading(y, "reads", "linearizable: after asking a quorum; serializable: what the member has, however old")
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
	}
	if n := len(f.S.Store.Rounds); n > 0 {
		r := f.S.Store.Rounds[n-1]
		st, text := theme.Text, fmt.Sprintf("last ReadIndex: %s asked the others in term %d and had a quorum's word after %s; %s as of entry %d", r.Member, r.Term, words.Dur(r.Took), words.Count(r.Reads, "read"), r.Index)
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
	return y
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
