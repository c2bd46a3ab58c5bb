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

// ShowView shows a view by its name. "keys/PATH" shows the keys below a path, or the one key
// that it is: so a lesson says what of a thousand keys it is about.
func (p *Store) ShowView(name string) {
	if path, ok := strings.CutPrefix(name, "keys/"); ok {
		p.below, name = path, "keys"
	}
	p.List.ShowView(name)
}

// drawStagedKeys draws what a lesson is about of the keys, large: one key with all that the
// store knows of it, or what lies right below a path, and the last writes there.
func (p *Store) drawStagedKeys(s *pane.Sheet, f *pane.Frame) {
	a := s.Row(0)
	now := fmt.Sprintf("store's revision %d", f.S.Store.Revision)
	x := s.W() - 2 - grid.Width(now)
	a.Text(x, 0, now, theme.Number)
	s.Mark(grid.Rect{X: x, Y: 0, W: grid.Width(now), H: 1}, "revision")
	if f.S.Store.Compacted > 0 {
		gone := fmt.Sprintf("compacted at %d", f.S.Store.Compacted)
		x -= 2 + grid.Width(gone)
		a.Text(x, 0, gone, theme.Warn)
		s.Mark(grid.Rect{X: x, Y: 0, W: grid.Width(gone), H: 1}, "compacted")
	}
	a.Fit(1, 0, x-2, p.below, theme.Name|grid.Bold)

	branches := f.S.Store.Branches(p.below)
	y := 2
	switch k := f.S.Store.Key(p.below); {
	case k != nil:
		drawKeyCard(s, f, y, k)
		return
	case len(branches) == 0:
		a = s.Row(y)
		end := a.Text(3, 0, "There is no such key.", theme.Warn)
		s.Mark(grid.Rect{X: 3, Y: y, W: end - 3, H: 1}, "value")
		y += 2
	case branches[0].Key == nil:
		y = drawBranches(s, f, y, branches) + 1
	default:
		y = drawKeyTable(s, f, 1, branches) + 1
	}
	p.drawWritesBelow(s, f, y)
}

// drawBranches draws names that have keys below them, in columns.
func drawBranches(s *pane.Sheet, f *pane.Frame, y int, all []view.Branch) int {
	width := 0
	for _, b := range all {
		width = max(width, grid.Width(short(b.Name)))
	}
	across := max((s.W()-1)/(width+6), 1)
	down := (len(all) + across - 1) / across
	column := (s.W() - 1) / across
	for i, b := range all {
		x, y := 2+i/down*column, y+i%down
		a := s.Row(y)
		on := pane.Subject{ID: "key/" + b.Name, Value: b, Copy: b.Name, Words: fmt.Sprintf("%s below %s.", words.Count(b.Keys, "key"), b.Name)}
		st := theme.Text
		if b.Key != nil && f.Fresh(b.Key.Event) {
			st |= grid.Fresh
		}
		end := a.Text(x, 0, short(b.Name), st)
		end = a.Text(end+1, 0, fmt.Sprint(b.Keys), theme.Muted)
		s.Hot(x, y, end-x, on)
	}
	return y + down
}

// Where the numbers of a key stand in a table of keys, from the right.
const (
	createdAt = 34
	writtenAt = 20
	versionAt = 6
)

// drawKeyTable draws keys with their three numbers, a row each.
func drawKeyTable(s *pane.Sheet, f *pane.Frame, y int, all []view.Branch) int {
	head := s.Row(y)
	for _, c := range []struct {
		at   int
		text string
	}{{createdAt, "CreateRevision"}, {writtenAt, "ModRevision"}, {versionAt, "Version"}} {
		head.Text(s.W()-c.at-grid.Width(c.text)+3, 0, c.text, theme.Muted)
	}
	gap := 1
	if f.Rows-y > 2*len(all)+3 {
		gap = 2
	}
	for _, b := range all {
		y += gap
		a := s.Row(y)
		name := b.Name[strings.LastIndex(b.Name, "/")+1:]
		if b.Key == nil {
			a.Text(3, 0, fmt.Sprintf("%s/  %s", name, words.Count(b.Keys, "key")), theme.Muted)
			s.Hot(2, y, s.W()-4, pane.Subject{ID: "key/" + b.Name, Value: b, Copy: b.Name})
			continue
		}
		fresh := grid.Style(0)
		if f.Fresh(b.Key.Event) {
			fresh = grid.Fresh
		}
		a.Fit(3, 0, s.W()-createdAt-6, name, theme.Text|fresh)
		for _, c := range []struct {
			at   int
			part string
			n    int64
		}{{createdAt, "create", b.Key.CreateRevision}, {writtenAt, "mod", b.Key.ModRevision}, {versionAt, "version", b.Key.Version}} {
			text := fmt.Sprint(c.n)
			x := s.W() - c.at + 3 - len(text)
			a.Text(x, 0, text, theme.Number|fresh)
			s.Mark(grid.Rect{X: x, Y: y, W: len(text), H: 1}, "key/"+b.Name+"#"+c.part)
		}
		s.Hot(2, y, s.W()-4, keySubject(b.Key))
	}
	return y + 1
}

// keySubject is what there is to say of a key.
func keySubject(k *view.Key) pane.Subject {
	return pane.Subject{
		ID: "key/" + k.Key, Ref: k.Ref, Event: k.Event, Copy: k.Key,
		Words: fmt.Sprintf("%s: made at revision %d, written last at revision %d, version %d, %s.", k.Key, k.CreateRevision, k.ModRevision, k.Version, words.Bytes(k.Size)),
	}
}

// drawKeyCard draws one key: the beginning of its value, its numbers, and its lease.
func drawKeyCard(s *pane.Sheet, f *pane.Frame, y int, k *view.Key) {
	fresh := grid.Style(0)
	if f.Fresh(k.Event) {
		fresh = grid.Fresh
	}
	line := func(part, name, value string, st grid.Style, means string) {
		a := s.Row(y)
		a.Text(3, 0, name, theme.Muted)
		end := a.Text(20, 0, value, st|fresh)
		s.Mark(grid.Rect{X: 20, Y: y, W: end - 20, H: 1}, part)
		a.Fit(max(end+3, 30), 0, s.W()-max(end+3, 30)-1, means, theme.Muted)
		y += 2
	}
	_, b := stored(f, k)
	line("value", "value", beginning(b), theme.Text, words.Bytes(k.Size))
	line("create", "CreateRevision", fmt.Sprint(k.CreateRevision), theme.Number, "the write that made the key")
	line("mod", "ModRevision", fmt.Sprint(k.ModRevision), theme.Number, "its last write: the object's resourceVersion")
	line("version", "Version", fmt.Sprint(k.Version), theme.Number, "how often it was written since it was made")
	lease := "none"
	if k.Lease != 0 {
		lease = fmt.Sprintf("%x", k.Lease)
	}
	line("lease", "Lease", lease, theme.Text, "the key ends with it")
	s.Hot(1, 0, grid.Width(k.Key), keySubject(k))
}

// beginning is how a value begins: "k8s" and a zero byte for protobuf, else as text.
func beginning(b []byte) string {
	const most = 8
	text := make([]rune, 0, most)
	hex := make([]string, 0, most)
	for _, c := range b[:min(len(b), most)] {
		hex = append(hex, fmt.Sprintf("%02x", c))
		if c < 0x20 || c > 0x7e {
			c = '.'
		}
		text = append(text, rune(c))
	}
	out := strings.Join(hex, " ")
	if len(b) > most {
		out += " …"
	}
	return out + "  " + string(text)
}

// drawWritesBelow draws the last writes below the path, the newest first.
func (p *Store) drawWritesBelow(s *pane.Sheet, f *pane.Frame, y int) {
	all := f.S.Store.Commits()
	if y+2 > f.Rows {
		return
	}
	s.Row(y).Text(1, 0, "last writes here", theme.Muted)
	y++
	for i := len(all) - 1; i >= 0 && y < f.Rows; i-- {
		for _, k := range all[i].Changes {
			if y < f.Rows && below(k, p.below) {
				drawChange(s, f, y, all[i], k)
				y++
			}
		}
	}
}

// below reports whether a write is of a key that is a path, or below it.
func below(k trace.KeyChange, path string) bool {
	return k.Key == path || strings.HasPrefix(k.Key, strings.TrimSuffix(path, "/")+"/")
}
