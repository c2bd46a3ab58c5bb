// Package store is the pane of the replicated store. Its first view is the raft picture:
// the members in their places, what each knows and believes, and what crosses between
// them. The second, which stands where there is no room for a picture, has the members'
// logs side by side, one cell an entry, with the term as its digit and colour and the
// commit, match and next marks; then votes, messages under way, the last
// revisions, and the tree of keys. Its other views are the keys with their
// values, the members, what the store does beside keys, its metrics, reads at single
// members, and the chart of how slowness climbs from its disks to the work queues.
//
// Start reading at [Store.Draw], then picture.go, raft.go and logs.go.
package store

import (
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/scene"
	"kviz/tui/theme"
)

// Store is the pane.
type Store struct {
	pane.List
	open   map[string]bool // branches of the key tree that are open
	limit  int             // the threshold of the alert line: one of thresholds
	step   int             // how much time a column of the chart is: one of steps
	value  value
	staged bool   // it stands on a lesson's stage
	below  string // the path of keys that a lesson is about; "" for all

	scene   *scene.Scene // the last one, and what it was made of
	sceneOf string
	lights  []scene.Light // of its links
	painter scene.Painter
}

var about = pane.Info{
	Name: "store", Title: "Store", Tabs: true,
	Kinds: []string{"alarm", "answer", "backup", "cancelled", "commit", "compacted", "create", "endpoint", "entry", "fault", "floor", "forwarded", "fsync", "full", "key", "latency", "lease", "link", "member", "metric", "mod", "msg", "peer", "quorum", "refused", "rev", "revision", "round", "scale", "slow", "slowed", "status", "store", "txn", "unmet", "value", "version", "watch", "write"},
	Means: "The store that holds the cluster's state, and how its members agree. Every cell is an entry of a member's raft " +
		"log; the digit and the colour are the term in which it was proposed. An entry is safe once a quorum of " +
		"members has it on disk: then the leader moves the commit mark, the members apply it, and a new revision exists. " +
		"A message says what it carries: \"78+1\" is one entry after entry 78; without entries it is a heartbeat.",
	Legend: [][2]string{
		{"[3]", "committed entry of term 3"},
		{":3:", "on this member's disk, not committed"},
		{".3.", "written, not yet on disk"},
		{"▾", "the leader's commit index"},
		{"^", "match: the leader knows the follower has it"},
		{">", "next: what the leader sends next"},
		{"★", "leader"},
		{"◇", "candidate"},
		{"──▷", "message under way"},
		{"○", "learner: it has no vote"},
		{"✗", "down, or lost"},
	},
}

// New makes the pane.
func New() *Store {
	p := &Store{List: pane.NewList(about), open: map[string]bool{"/registry": true}}
	p.Key(keymap.Bind(keymap.Open, "open", "Open or close a branch of the keys; show the object of a key.", "enter"), func(on pane.Subject, _ *pane.Frame) action.Action {
		if b, ok := on.Value.(view.Branch); ok && b.Key == nil {
			p.open[b.Name] = !p.open[b.Name]
			return action.Redraw{}
		}
		return on.Open()
	})
	p.Views("store.part", "view",
		pane.View{Name: "picture", Means: "the members in their places, and what crosses between them", Draw: p.drawPicture},
		pane.View{Name: "logs", Means: "the raft logs", Draw: p.drawLogs},
		pane.View{Name: "keys", Means: "revisions and keys", Draw: p.drawAllKeys},
		pane.View{Name: "members", Means: "members with quorum, sizes and faults", Draw: p.tabbed(p.drawMembers)},
		pane.View{Name: "leases", Means: "transactions, leases and watchers", Draw: p.tabbed(p.drawUpkeep)},
		pane.View{Name: "metrics", Means: "metrics", Draw: p.tabbed(p.drawMetrics)},
		pane.View{Name: "reads", Means: "reads", Draw: p.tabbed(drawReads)},
		pane.View{Name: "cascade", Means: "the chart from slow disks to full queues", Draw: p.tabbed(p.drawCascade)})
	p.Key(keymap.Bind("store.back", "view back", "The previous view.", "V"), pane.Then(p.PreviousView))
	p.Key(keymap.Bind("store.value", "value", "The value of the key under the cursor: decoded, then the bytes, then closed.", "x"), p.look)
	p.Key(keymap.Bind("store.read", "read", "Ask every member for the key under the cursor, linearizable and serializable.", "R"), p.read)
	p.Key(keymap.Bind("store.cascade", "cascade", "The chart of how slowness climbs: fsync, commit, API requests, timeouts, queue depth over the same time; again goes back to the logs.", "c"), pane.Then(p.toCascade))
	p.Key(keymap.Bind("store.step", "scale", "How much virtual time a column of the chart is.", "S"), pane.Turn(&p.step, len(steps)))
	p.Key(keymap.Bind("store.limit", "threshold", "Change the threshold of the alert about slow disks.", "T"), pane.Turn(&p.limit, len(thresholds)))
	return p
}

// Do implements [pane.Pane]; other panes too ask for the chart to be shown.
func (p *Store) Do(name string, on pane.Subject, f *pane.Frame) action.Action {
	if name == pane.Members {
		switch p.View().Name {
		case "picture", "logs", "members":
		default:
			p.ShowView("picture")
		}
		return nil
	}
	if name == pane.Slowness {
		p.ShowView("cascade")
		return action.Redraw{}
	}
	return p.List.Do(name, on, f)
}

// toCascade shows the chart, or the logs again.
func (p *Store) toCascade() {
	if p.View().Name == "cascade" {
		p.ShowView("logs")
		return
	}
	p.ShowView("cascade")
}

// read asks every member for a key.
func (p *Store) read(on pane.Subject, _ *pane.Frame) action.Action {
	key, ok := strings.CutPrefix(on.ID, "key/")
	if !ok {
		return action.Notice{Text: "Put the cursor on a key (v shows the keys) to read it at every member."}
	}
	if b, branch := on.Value.(view.Branch); branch && b.Key == nil {
		return action.Notice{Text: belowOnly(b)}
	}
	p.ShowView("reads")
	return action.Exec{Line: "kviz read '" + key + "'"}
}

// Note implements [pane.Pane].
func (p *Store) Note(f *pane.Frame) string {
	s := &f.S.Store
	if p.View().Name == "picture" {
		r := newRing(nil, f)
		if note := r.note(); note != "" {
			return note
		}
	}
	if len(s.Members()) == 0 {
		return fmt.Sprintf("revision %d", s.Revision)
	}
	for _, m := range s.Members() {
		if m.Name == s.Leader {
			return fmt.Sprintf("%s leads term %d, revision %d", m.Name, m.Term, s.Revision)
		}
	}
	return fmt.Sprintf("no leader, term %d, revision %d", s.Term, s.Revision)
}

// wide is from which width on the revisions and keys stand beside the logs.
const wide = 130

// Draw implements [pane.Pane].
func (p *Store) Draw(s *pane.Sheet, f *pane.Frame) {
	p.staged = f.Stage
	p.View().Draw(s, f)
}

// tabsFrom is from how many rows on the logs and keys have tabs above them: beside other
// panes every row is needed.
const tabsFrom = 12

// tabbed draws a view below the tabs and the alarms.
func (p *Store) tabbed(draw func(s *pane.Sheet, f *pane.Frame, y int)) func(*pane.Sheet, *pane.Frame) {
	return func(s *pane.Sheet, f *pane.Frame) { draw(s, f, p.drawAlarms(s, f, p.drawTabs(s, 0))) }
}

// drawTabs names the views and which one is shown, closer together where there is little
// room; what still does not fit on the left is left out there.
func (p *Store) drawTabs(s *pane.Sheet, y int) int {
	if p.staged { // nobody goes through views there
		return y
	}
	a, x, gap := s.Row(y), 0, 2
	views := p.Info().Views
	at := slices.IndexFunc(views, func(v pane.View) bool { return v.Name == p.View().Name })
	if tabsWidth(views, gap) > s.W()+1 {
		gap = 1
	}
	from := 0
	for from < at && tabsWidth(views[from:at+1], gap) > s.W() {
		from++
	}
	for i, v := range views[from:] {
		name, st := v.Name, theme.Muted
		if gap == 2 {
			name = " " + name
		}
		if from+i == at {
			name, st = "▸"+v.Name, theme.Accent|grid.Bold
		}
		x = a.Text(x, 0, name, st) + 1
	}
	if hint := "v V views"; x+len(hint) < s.W() {
		a.Right(s.W(), 0, hint, theme.Muted)
	}
	return y + 1
}

// tabsWidth is how many columns the tabs of views take.
func tabsWidth(views []pane.View, gap int) int {
	w := 1 // the mark
	for _, v := range views {
		w += grid.Width(v.Name) + gap
	}
	return w
}
