package store

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawUpkeep is what the store does beside keys: transactions that found their
// comparison false, leases, watchers, compaction, snapshot files.
func (p *Store) drawUpkeep(s *pane.Sheet, f *pane.Frame, y int) {
	y = drawTxns(s, f, y)
	y = drawLeases(s, f, y)
	y = drawHistory(s, f, y)
	drawCancelled(s, f, drawWatches(s, f, y))
}

// drawTxns shows conditional writes: the comparison, the branch that was taken,
// and what it became for the API's client.
func drawTxns(s *pane.Sheet, f *pane.Frame, y int) int {
	y = s.Heading(y, "transactions", "If the key has the mod revision that was read, Then put, Else get")
	commits := f.S.Store.Commits()
	shown := 0
	for i := len(commits) - 1; i >= 0 && shown < 3; i-- {
		c := commits[i]
		if len(c.If) == 0 || len(c.Changes) == 0 || !f.Match(c.Changes[0].Key) {
			continue
		}
		verb := "put"
		if c.Changes[0].Deleted {
			verb = "delete"
		}
		on := pane.Subject{ID: fmt.Sprintf("txn/%d", c.Revision), Ref: c.Changes[0].Object, Event: c.Event, Kind: trace.StoreCommit, Words: fmt.Sprintf("The comparison held, so the success branch ran: %s %s at revision %d.", verb, c.Changes[0].Key, c.Revision)}
		s.Line(y, on, grid.Span{Text: "✓ if " + condition(c.If[0]), Style: theme.Good}, grid.Span{Text: fmt.Sprintf(" then %s", verb), Style: theme.Text},
			grid.Span{Text: fmt.Sprintf(" → revision %d", c.Revision), Style: theme.Number}, grid.Span{Text: "  " + short(c.Changes[0].Key), Style: theme.Muted})
		y, shown = y+1, shown+1
	}
	unmet := f.S.Store.Unmet
	for i := len(unmet) - 1; i >= max(len(unmet)-4, 0); i-- {
		u := unmet[i]
		if len(u.If) == 0 || !f.Match(u.If[0].Key) {
			continue
		}
		found := ""
		if u.If[0].Found != "" {
			found = ", found " + u.If[0].Found
		}
		became := became(u.If[0])
		on := pane.Subject{ID: "unmet/" + u.Event.String(), Event: u.Event, Kind: trace.StoreUnmet, Copy: u.If[0].Key, Words: "The comparison of the transaction did not hold: nothing was written, the failure branch (" + strings.Join(u.Else, ", ") + ") was run."}
		if became != "" {
			on.Words += " For the client of the API it is " + became + "; w tells whose request it was."
			became = " → " + became
		}
		s.Line(y, on, grid.Span{Text: "✗ if " + condition(u.If[0]) + found, Style: theme.Bad}, grid.Span{Text: " else get" + became, Style: theme.Warn},
			grid.Span{Text: "  " + short(u.If[0].Key), Style: theme.Muted})
		y, shown = y+1, shown+1
	}
	if shown == 0 {
		s.Row(y).Fit(0, 0, s.W(), "Nothing was written under a condition lately.", theme.Muted)
		y++
	}
	return y
}

// became is what a comparison that did not hold is for the API's client; "" where the key is
// none of the API's.
func became(c trace.Comparison) string {
	switch {
	case !strings.HasPrefix(c.Key, "/registry/"):
		return ""
	case c.Want == "0":
		return "409 AlreadyExists"
	}
	return "409 Conflict, or another round"
}

func short(key string) string { return strings.TrimPrefix(key, "/registry/") }

func condition(c trace.Comparison) string {
	if c.Target == "mod" && c.Want == "0" && c.Op == "=" {
		return "no such key"
	}
	return c.Target + " revision " + c.Op + " " + c.Want
}

func drawLeases(s *pane.Sheet, f *pane.Frame, y int) int {
	list := f.S.Store.Leases()
	y = s.Heading(y, "leases", fmt.Sprintf("%d; what is left is virtual time, counted by the leader", len(list)))
	if len(list) == 0 {
		s.Row(y).Fit(0, 0, s.W(), "None is granted. The API server takes one for Events, which go when it runs out.", theme.Muted)
		return y + 1
	}
	for i, l := range list {
		if i == 6 {
			s.Row(y).Text(0, 0, fmt.Sprintf("… and %d more", len(list)-i), theme.Muted)
			return y + 1
		}
		left := l.Remaining(f.S.At)
		st := theme.Text
		if left < l.TTL/10 {
			st = theme.Warn
		}
		on := pane.Subject{ID: fmt.Sprintf("lease/%x", l.ID), Event: l.Granted, Kind: trace.LeaseGranted, Copy: fmt.Sprintf("%x", l.ID), Words: fmt.Sprintf("Lease %x of the store: %s left of %s; %s go with it. It is no Lease object of the API.", l.ID, words.Dur(left), words.Dur(l.TTL), words.Count(l.Keys, "key"))}
		a := s.Row(y)
		x := a.Text(0, 0, fmt.Sprintf("%016x ", l.ID), theme.Muted)
		x = a.Text(x, 0, fmt.Sprintf("%7s left of %-7s", words.Dur(left), words.Dur(l.TTL)), st)
		a.Bar(x+1, 0, 12, float64(left), float64(l.TTL), st, theme.Line)
		a.Fit(x+14, 0, s.W()-x-14, words.Count(l.Keys, "key")+" "+l.For, theme.Muted)
		s.Hot(0, y, s.W(), on)
		y++
	}
	return y
}

// drawHistory tells what was thrown away, and what was saved and brought back.
func drawHistory(s *pane.Sheet, f *pane.Frame, y int) int {
	st := &f.S.Store
	say := func(id string, ev trace.ID, text string) {
		s.Line(y, pane.Subject{ID: id, Target: "store", Event: ev, Words: text + "."}, grid.Span{Text: text, Style: theme.Text})
		y++
	}
	if st.Compacted > 0 {
		say("compacted", st.CompactedBy, fmt.Sprintf("compacted up to revision %d: reads and watches from before it fail", st.Compacted))
	}
	for i := max(len(st.Backups)-2, 0); i < len(st.Backups); i++ {
		b := st.Backups[i]
		say(fmt.Sprintf("backup/%d", i), b.Event, fmt.Sprintf("snapshot file of %s by member %s: revision %d, %s", words.Bytes(int(b.Size)), b.Member, b.Revision, words.Count(b.Keys, "key")))
	}
	if r := st.Restored; r != nil {
		say("restored", r.Event, fmt.Sprintf("restored: revision %d, %s, cluster ID %x", r.Revision, words.Count(r.Keys, "key"), r.ClusterID))
	}
	return y
}

func drawWatches(s *pane.Sheet, f *pane.Frame, y int) int {
	list := f.S.Store.Watches()
	y = s.Heading(y, "watchers", fmt.Sprintf("%d: an API server has one for each kind of object, however many clients watch", len(list)))
	for _, x := range f.S.Store.Clients {
		on := pane.Subject{ID: "endpoint/" + x.Client, Event: x.Event, Kind: trace.StoreEndpoint, Target: "member/" + x.To, Words: fmt.Sprintf("Requests and watches of %s go through member %s, which passes them on to the leader: %s.", x.Client, x.To, x.Reason)}
		s.Line(y, on, grid.Span{Text: fmt.Sprintf("%-10s ", x.Client), Style: theme.Name}, grid.Span{Text: "through member " + x.To, Style: theme.Text}, grid.Span{Text: "  of " + strings.Join(x.Endpoints, ", "), Style: theme.Muted})
		y++
	}
	for _, w := range list {
		if !f.Match(w.Prefix, w.Client) {
			continue
		}
		on := pane.Subject{ID: fmt.Sprintf("watch/%d", w.Watch), Event: w.Event, Kind: trace.StoreWatchOpened, Copy: w.Prefix, Words: fmt.Sprintf("%s watches every key below %s since revision %d.", w.Client, w.Prefix, w.Revision)}
		if w.Name != "" {
			on.Target = "watch/" + w.Name
		}
		state := grid.Span{Text: fmt.Sprintf("  since revision %d", w.Revision), Style: theme.Muted}
		if w.Lag > 0 {
			on.Event, on.Kind = w.Lagged, trace.StoreWatchLag
			state = grid.Span{Text: fmt.Sprintf("  %s behind, %s wait", words.Count(int(w.Lag), "revision"), words.Count(w.Waiting, "event")), Style: theme.Warn}
			on.Words = fmt.Sprintf("It lags (etcd: unsynced): revision %d and what follows have not been sent to it. Nothing is lost unless that is compacted.", w.Next)
			if w.Doomed(f.S.Store.Compacted) {
				state.Text, state.Style = state.Text+", compacted: will be cancelled", theme.Bad
				on.Words = fmt.Sprintf("Its next revision is %d, and history begins at %d: as soon as something can be sent to it, it is cancelled, and the API server lists again.", w.Next, f.S.Store.Compacted)
			}
		}
		s.Line(y, on, grid.Span{Text: fmt.Sprintf("%-10s ", w.Client), Style: theme.Name}, grid.Span{Text: w.Prefix, Style: theme.Text}, state)
		y++
	}
	return y
}

// drawCancelled shows the watches that ended because their history was compacted.
func drawCancelled(s *pane.Sheet, f *pane.Frame, y int) int {
	list := f.S.Store.Cancelled
	for i := max(len(list)-3, 0); i < len(list); i++ {
		w := list[i]
		on := pane.Subject{ID: fmt.Sprintf("cancelled/%d", w.Watch), Event: w.Event, Kind: trace.StoreWatchClosed, Copy: w.Prefix, Words: fmt.Sprintf("%s (compact revision %d): the API server listed %s again; its watchers get 410 Gone for older revisions.", w.Reason, w.Compacted, w.Prefix)}
		s.Line(y, on, grid.Span{Text: "✗ cancelled ", Style: theme.Bad}, grid.Span{Text: w.Prefix, Style: theme.Text}, grid.Span{Text: fmt.Sprintf("  wanted revision %d, compacted up to %d", w.Next, w.Compacted), Style: theme.Muted})
		y++
	}
	return y
}
