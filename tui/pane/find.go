package pane

import (
	"slices"
	"strings"

	"kviz/tui/grid"
)

// Find is where a thing was drawn last, by the name that the pane gives it ("member/a", "entry/b/367",
// "pod/demo/web-1", "node/node-1"), in cells of the screen, and whether all of it is to be seen.
// Of a thing in several places it is the first.
func (h *Host) Find(name string) (r grid.Rect, whole bool) {
	r, ok := h.place(name)
	if !ok {
		return grid.Rect{}, false
	}
	r.X += h.win.X
	r.Y += h.win.Y - h.top
	seen := r.And(h.win)
	return seen, seen == r && !r.Empty()
}

// FindAll is every place where a thing was drawn last, as far as it is to be seen.
func (h *Host) FindAll(name string) (all []grid.Rect) {
	for _, r := range h.places(name) {
		r.X += h.win.X
		r.Y += h.win.Y - h.top
		if r = r.And(h.win); !r.Empty() {
			all = append(all, r)
		}
	}
	return all
}

// Reveal scrolls so that a thing is seen, with the rows above and below it, as far as the window allows, and reports
// whether it had to; it takes effect at the next drawing.
func (h *Host) Reveal(name string) bool {
	r, ok := h.place(name)
	if with := (grid.Rect{X: r.X, Y: r.Y - 1, W: r.W, H: r.H + 2}).And(grid.Rect{W: h.sheet.w, H: h.sheet.rows}); with.H <= h.win.H {
		r.Y, r.H = with.Y, with.H
	}
	if !ok || r.Y >= h.top && r.Y+r.H <= h.top+h.win.H {
		return false
	}
	h.free, h.dirty = true, true
	h.top = max(r.Y+r.H-h.win.H, min(r.Y, h.top), 0)
	if r.Y < h.top {
		h.top = r.Y
	}
	return true
}

// Things are the names of all that was drawn last and can be pointed at, in order.
func (h *Host) Things() []string {
	var all []string
	for _, m := range h.sheet.marks {
		all = append(all, m.name)
	}
	for _, s := range h.sheet.hots {
		all = append(all, s.Names()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// place is where on the sheet a thing is first.
func (h *Host) place(name string) (grid.Rect, bool) {
	if all := h.places(name); len(all) > 0 {
		return all[0], true
	}
	return grid.Rect{}, false
}

// places are all places on the sheet where a thing is.
func (h *Host) places(name string) (all []grid.Rect) {
	for _, m := range h.sheet.marks {
		if m.name == name {
			all = append(all, m.r)
		}
	}
	for _, s := range h.sheet.hots {
		if slices.Contains(s.Names(), name) {
			all = append(all, grid.Rect{X: s.X, Y: s.Y, W: s.W, H: 1})
		}
	}
	return all
}

// Names are what a thing can be called, its own name first.
func (s Subject) Names() []string {
	all := []string{s.ID}
	add := func(name string) {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if s.Target != "" && !strings.HasPrefix(s.ID, "entry/") { // an entry is not the member that has it
		add(s.Target)
	}
	switch {
	case s.Pod != "":
		add("pod/" + s.Pod)
	case s.Node != "" && !strings.Contains(s.ID, "/"):
		add("node/" + s.Node)
	}
	if s.Ref.Name != "" && s.Pod == "" {
		add(strings.ToLower(s.Ref.Kind) + "/" + strings.TrimPrefix(s.Ref.Namespace+"/"+s.Ref.Name, "/"))
	}
	return all
}

// ShowView shows a view of the pane by its name, if it has one of that name.
func (h *Host) ShowView(name string) {
	if p, ok := h.Pane.(interface{ ShowView(name string) }); ok && name != "" {
		p.ShowView(name)
		h.dirty = true
	}
}
