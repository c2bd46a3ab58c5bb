package store

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawAllKeys draws revisions and keys alone.
func (p *Store) drawAllKeys(s *pane.Sheet, f *pane.Frame) {
	if p.staged && p.below != "" {
		p.drawStagedKeys(s, f)
		return
	}
	y := 0
	if f.Rows >= tabsFrom {
		y = p.drawTabs(s, y)
	}
	y = p.drawValue(s, f, drawRefused(s, f, y))
	p.drawKeys(s, f, drawRevisions(s, f, y, 6))
}

func drawRevisions(s *pane.Sheet, f *pane.Frame, y, most int) int {
	all := f.S.Store.Commits()
	note := fmt.Sprintf("newest %d", f.S.Store.Revision)
	if f.S.Store.Compacted > 0 {
		note += fmt.Sprintf(", gone up to %d", f.S.Store.Compacted)
	}
	y = s.Heading(y, "revisions", note+"; what each write put, its version and size")
	if len(all) == 0 {
		s.Row(y).Fit(0, 0, s.W(), "Nothing is written yet.", theme.Muted)
		return y + 1
	}
	shown := 0
	for i := len(all) - 1; i >= 0 && shown < most; i-- {
		c := all[i]
		for _, k := range c.Changes {
			if !f.Match(k.Key, k.Object.String()) {
				continue
			}
			drawChange(s, f, y, c, k)
			y++
			shown++
		}
	}
	return y
}

func drawChange(s *pane.Sheet, f *pane.Frame, y int, c *view.Commit, k trace.KeyChange) {
	sign, st, what := "put", theme.Added, fmt.Sprintf("v%d %s", k.Version, words.Bytes(k.Size))
	switch {
	case k.Deleted:
		sign, st, what = "del", theme.Removed, ""
	case k.Version > 1:
		st = theme.Text
	}
	fresh := grid.Style(0)
	if f.Fresh(c.Event) {
		fresh = grid.Fresh
	}
	a := s.Row(y)
	x := a.Text(0, 0, fmt.Sprintf("%6d", c.Revision), theme.Number|fresh) // a restore may raise it by much
	x = a.Text(x+1, 0, sign, st|fresh)
	right := min(s.W()-grid.Width(what)-1, max(x+52, 90))
	a.Fit(x+1, 0, right-x-2, strings.TrimPrefix(k.Key, "/registry/"), theme.Text|fresh)
	a.Text(right, 0, what, theme.Muted)
	s.Hot(0, y, s.W(), pane.Subject{
		ID: fmt.Sprintf("rev/%d/%s", c.Revision, k.Key), Ref: k.Object, Event: c.Event, Kind: trace.StoreCommit, Copy: k.Key,
		Words: fmt.Sprintf("Revision %d: %s %s (version %d, created at revision %d).", c.Revision, sign, k.Key, k.Version, k.CreateRevision),
	})
}

func (p *Store) drawKeys(s *pane.Sheet, f *pane.Frame, y int) {
	y = s.Heading(y, "keys", fmt.Sprintf("%d below /registry", f.S.Store.KeyCount()))
	p.branch(s, f, y, "/registry", 0)
}

func (p *Store) branch(s *pane.Sheet, f *pane.Frame, y int, path string, depth int) int {
	for _, b := range f.S.Store.Branches(path) {
		if y > 2000 {
			s.Row(y).Text(0, 0, "… more keys; a filter narrows them (/)", theme.Muted)
			return y + 1
		}
		if b.Key != nil && !f.Match(b.Key.Key) {
			continue
		}
		name := b.Name[strings.LastIndex(b.Name, "/")+1:]
		indent := strings.Repeat("  ", depth)
		on := pane.Subject{ID: "key/" + b.Name, Value: b, Copy: b.Name, Words: fmt.Sprintf("%d keys below %s.", b.Keys, b.Name)}
		if b.Key != nil {
			on.Ref, on.Event = b.Key.Ref, b.Key.Event
			on.Words = fmt.Sprintf("%s: written at revision %d, version %d, %s.", b.Name, b.Key.ModRevision, b.Key.Version, words.Bytes(b.Key.Size))
			st := theme.Text
			if f.Fresh(b.Key.Event) {
				st |= grid.Fresh
			}
			s.Line(y, on, grid.Span{Text: indent + "  " + name, Style: st}, grid.Span{Text: fmt.Sprintf("  revision %d, version %d", b.Key.ModRevision, b.Key.Version), Style: theme.Muted})
			y++
			continue
		}
		mark := "▸ "
		if p.open[b.Name] {
			mark = "▾ "
		}
		s.Line(y, on, grid.Span{Text: indent + mark, Style: theme.Accent}, grid.Span{Text: name, Style: theme.Name}, grid.Span{Text: "  " + words.Count(b.Keys, "key"), Style: theme.Muted})
		y++
		if p.open[b.Name] {
			y = p.branch(s, f, y, b.Name, depth+1)
		}
	}
	return y
}
