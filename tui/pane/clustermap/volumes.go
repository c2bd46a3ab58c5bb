package clustermap

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/scene"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// volumeGlyph stands before each claim and volume.
const volumeGlyph = "▤ "

// volumeMark is how the state of a volume looks, as that of a pod does where it means the same.
func volumeMark(state string) (string, grid.Style) {
	switch state {
	case view.VolumeAttached, view.VolumeMounted:
		return "●", theme.Good
	case view.VolumeAttaching:
		return "◐", theme.Busy
	case view.VolumeDetaching:
		return "◌", theme.Warn
	case view.VolumePending:
		return "○", theme.Warn
	case view.VolumeFailed, view.VolumeLost:
		return "✗", theme.Bad
	case view.VolumeReleased:
		return "□", theme.Warn
	}
	return "□", theme.Muted // nobody uses it
}

// volumes are the claims and the volumes that no claim has, of those that are shown. They are kept for as long as all of
// them stand well, and nothing of them changes.
func (c *population) volumes(f *pane.Frame) []*view.VolumeStanding {
	if !c.volumesStale && !slices.ContainsFunc(c.vols, (*view.VolumeStanding).Attention) {
		return c.vols
	}
	c.volumesStale = false
	all := f.S.Volumes(func(claim string) (pods []*view.Object) {
		namespace, _, _ := strings.Cut(claim, "/")
		for _, name := range slices.Sorted(maps.Keys(c.users[claim])) {
			if o := f.S.Object("pods", namespace, name); o != nil {
				pods = append(pods, o)
			}
		}
		return pods
	})
	slices.SortStableFunc(all, func(a, b *view.VolumeStanding) int {
		x, y := a.Object(), b.Object()
		switch {
		case (a.Claim == "") != (b.Claim == ""): // those that no claim has stand last
			return strings.Compare(b.Claim, a.Claim)
		case (len(a.Pods) == 0) != (len(b.Pods) == 0): // and before them those that no pod uses
			return len(b.Pods) - len(a.Pods)
		case x.Namespace() != y.Namespace():
			return strings.Compare(x.Namespace(), y.Namespace())
		case natural(x.Name(), y.Name()):
			return -1
		}
		return 1
	})
	c.vols = slices.DeleteFunc(all, func(v *view.VolumeStanding) bool {
		o := v.Object()
		return c.namespace != "" && o.Namespace() != c.namespace || !f.Match(o.Name(), o.Namespace(), v.Volume, v.State)
	})
	return c.vols
}

// uses notes that a pod uses claims, or does no longer.
func (c *population) uses(namespace, name string, claims []string) {
	key := namespace + "/" + name
	for _, claim := range c.claimed[key] {
		if delete(c.users[claim], name); len(c.users[claim]) == 0 {
			delete(c.users, claim)
		}
		c.volumesStale = true
	}
	delete(c.claimed, key)
	for _, claim := range claims {
		claim = namespace + "/" + claim
		if c.users[claim] == nil {
			c.users[claim] = map[string]bool{}
		}
		c.users[claim][name] = true
		c.claimed[key] = append(c.claimed[key], claim)
		c.volumesStale = true
	}
}

// volumeName is what a volume is called on the map: by its claim, else by itself.
func volumeName(v *view.VolumeStanding) string {
	if v.Claim != "" {
		return v.Claim
	}
	return v.Volume
}

// volumes draws each volume with the way to the nodes that it is attached to.
func (p *picture) volumes() {
	for _, at := range p.Places {
		if at.ID == scene.Volumes {
			p.otherVolumes(at)
			continue
		}
		name, ok := strings.CutPrefix(at.ID, "vol/")
		v := p.volume(name)
		if !ok || v == nil {
			continue
		}
		row := p.volumeRow(v, at.Rect.W-1)
		used := width(row)
		drawn := false
		for i, e := range p.Edges {
			if node, to := strings.CutPrefix(e.To, "node/"); to && e.Class == scene.Attaches && e.From == at.ID && slices.Contains(v.Nodes, node) {
				p.Lines[i].Light, drawn = wayOf(v.State), true
			}
		}
		if drawn {
			dash, st := "─", theme.Muted
			switch wayOf(v.State) {
			case scene.Slow:
				dash, st = "╌", theme.Warn
			case scene.Refused:
				dash, st = "╌", theme.Bad
			}
			row = append(row, span(" "+strings.Repeat(dash, max(at.Rect.W-used-1, 0)), st))
		}
		p.box(at.ID).Rows = [][]grid.Span{row}
		p.s.Hot(at.Rect.X, at.Rect.Y, min(used, at.Rect.W), volumeSubject(v))
	}
}

// volumeReasons says of volumes that are attached nowhere what they wait for, where their rows are free.
func (p *picture) volumeReasons() {
	for _, at := range p.Places {
		name, ok := strings.CutPrefix(at.ID, "vol/")
		v := p.volume(name)
		if !ok || v == nil || v.Why == "" {
			continue
		}
		from, end := at.Rect.X+width(p.box(at.ID).Rows[0])+2, p.W-1
		own := false
		for i, e := range p.Edges {
			if e.Class != scene.Attaches || p.Lines[i].Light == scene.Hidden {
				continue
			}
			own = own || e.From == at.ID
			for _, c := range e.Cells {
				if c.Y == at.Rect.Y && c.X >= from {
					end = min(end, c.X-1)
				}
			}
		}
		if room := end - from; !own && room > 16 {
			p.s.Row(at.Rect.Y).Fit(from, 0, room, v.Why, theme.Muted)
		}
	}
}

// wayOf is how the way from a volume to a node looks.
func wayOf(state string) scene.Light {
	switch state {
	case view.VolumeAttaching, view.VolumeDetaching:
		return scene.Slow
	case view.VolumeFailed:
		return scene.Refused
	}
	return scene.Sound
}

// volume is the one of a name on the map; nil for none.
func (p *picture) volume(name string) *view.VolumeStanding {
	if i := slices.IndexFunc(p.vols, func(v *view.VolumeStanding) bool { return volumeName(v) == name }); i >= 0 {
		return p.vols[i]
	}
	return nil
}

// volumeRow is a volume in so many columns: its name, its size, the letters of the pods that use it, and its state, which
// is said last and left out last.
func (p *picture) volumeRow(v *view.VolumeStanding, w int) []grid.Span {
	glyph, st := volumeMark(v.State)
	name := v.Object().Name()
	if v.Claim == "" && len(name) > 36 { // as a provisioner calls it
		name = grid.Cut(name, 12)
	}
	style := theme.Name
	if p.f.Fresh(v.Object().Changed) {
		style |= grid.Fresh
	}
	var size []grid.Span
	if v.Size != "0" {
		size = append(size, span(" "+v.Size, theme.Number))
	}
	var pods []grid.Span
	for i, key := range v.Pods {
		c, ok := p.pods.cells[key]
		if !ok {
			continue
		}
		if i == 3 {
			pods = append(pods, span(fmt.Sprintf("+%d", len(v.Pods)-i), theme.Muted))
			break
		}
		pods = append(pods, span(" ", theme.Text), marked(c, p.f.Fresh(c.obj.Changed)))
	}
	state := []grid.Span{span(" "+glyph+" "+v.State, st)}
	const least = 7
	left := w - 2 - width(state)
	if left < min(least, grid.Width(name)) { // only its mark
		state = state[:0]
		state = append(state, span(" "+glyph, st))
		left = w - 2 - width(state)
	}
	room := left - min(grid.Width(name), left)
	if width(size)+width(pods) > room {
		size = nil
	}
	if width(pods) > room-width(size) {
		pods = nil
	}
	row := []grid.Span{span(volumeGlyph, theme.Muted), span(grid.Cut(name, left-width(size)-width(pods)), style)}
	return append(append(append(row, size...), state...), pods...)
}

func width(row []grid.Span) (w int) {
	for _, x := range row {
		w += grid.Width(x.Text)
	}
	return w
}

// volumeSubject is what the cursor finds on a volume.
func volumeSubject(v *view.VolumeStanding) pane.Subject {
	o := v.Object()
	says := o.Ref.String() + " is " + v.Phase
	if v.Claim != "" && v.Volume != "" {
		says += " to volume " + v.Volume
	}
	says += ": " + v.Size
	if v.Class != "" {
		says += ", class " + v.Class
	}
	switch v.State {
	case view.VolumeAttached, view.VolumeMounted:
		says += ", " + v.State + " on " + strings.Join(v.Nodes, ", ")
	case view.VolumeAttaching:
		says += ", being attached to " + strings.Join(v.Nodes, ", ")
	case view.VolumeDetaching:
		says += ", being detached from " + strings.Join(v.Nodes, ", ")
	}
	switch n := len(v.Pods); {
	case n > 3:
		says += ", used by " + words.Count(n, "pod")
	case n > 0:
		says += ", used by " + strings.Join(v.Pods, ", ")
	}
	if v.Why != "" {
		says += "; " + v.Why
	}
	return pane.Subject{ID: "vol/" + volumeName(v), Ref: o.Ref, Event: o.Changed, Copy: o.Ref.Key(), Words: strings.TrimSuffix(says, ".") + "."}
}

// otherVolumes draws those for which there is no row of their own.
func (p *picture) otherVolumes(at scene.Place) {
	var rest []*view.VolumeStanding
	for _, v := range p.vols {
		if p.Index("vol/"+volumeName(v)) < 0 {
			rest = append(rest, v)
		}
	}
	row, on := volumeSum(rest, at.Rect.W, "more ")
	p.box(at.ID).Rows = [][]grid.Span{row}
	p.s.Hot(at.Rect.X, at.Rect.Y, min(width(row), at.Rect.W), on)
}

// volumesFoot draws all volumes in one row, where none has a row of its own; it reports whether there are any.
func (p *picture) volumesFoot(s *pane.Sheet, y, w int) bool {
	if len(p.vols) == 0 || slices.ContainsFunc(p.Places, func(at scene.Place) bool { return at.ID == scene.Volumes || strings.HasPrefix(at.ID, "vol/") }) {
		return false
	}
	row, on := volumeSum(p.vols, w, "")
	s.Row(y).Spans(0, 0, row...)
	s.Hot(0, y, min(width(row), w), on)
	return true
}

// worstFirst is in which order the states of volumes are counted.
var worstFirst = []string{
	view.VolumeFailed, view.VolumeLost, view.VolumePending, view.VolumeAttaching, view.VolumeDetaching, view.VolumeReleased,
	view.VolumeAttached, view.VolumeMounted, view.VolumeBound, view.VolumeAvailable,
}

// volumeSum counts volumes by state, the worst first and by name, in so many columns.
func volumeSum(all []*view.VolumeStanding, w int, more string) ([]grid.Span, pane.Subject) {
	row := []grid.Span{span(volumeGlyph, theme.Muted), span(strings.TrimSpace(fmt.Sprintf("%d %s", len(all), more)), theme.Number)}
	if more == "" {
		row[1].Text = words.Count(len(all), "volume")
	}
	on := pane.Subject{ID: scene.Volumes, Words: words.Count(len(all), more+"volume") + "."}
	for _, state := range worstFirst {
		var of []*view.VolumeStanding
		for _, v := range all {
			if v.State == state {
				of = append(of, v)
			}
		}
		if len(of) == 0 {
			continue
		}
		if s := volumeSubject(of[0]); on.Ref.Name == "" { // enter opens the worst
			on.Ref, on.Event, on.Copy = s.Ref, s.Event, s.Copy
			on.Words = strings.TrimSuffix(on.Words, ".") + ", the first that is " + state + ": " + s.Words
		}
		glyph, st := volumeMark(state)
		part := []grid.Span{span(fmt.Sprintf("  %s %d %s", glyph, len(of), state), st)}
		if of[0].Attention() {
			name := " " + of[0].Object().Name()
			if len(of) > 1 {
				name += ", …"
			}
			if width(row)+width(part)+grid.Width(name) <= w {
				part = append(part, span(name, theme.Name))
			}
		}
		if width(row)+width(part) > w {
			break
		}
		row = append(row, part...)
	}
	return row, on
}
