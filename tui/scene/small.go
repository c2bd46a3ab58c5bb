package scene

import "kviz/tui/grid"

// small lays out the form from 76x15 on: the same places in half the rows.
func (s *Scene) small(shape Shape) {
	ask, server, store := 16, 26, 24
	if more := s.W - 78; more > 0 {
		ask, server, store = ask+more/4, server+more/4, store+more/4
	}
	many := s.crowded(shape)
	rows := 7
	if many {
		rows = 5
	}
	gap := s.W - ask - server - store
	xa, xs := ask+(gap*7+6)/12, s.W-store

	askers := s.box(Askers, "", 0, 0, ask, rows)
	api := s.box(APIServer, "", xa, 0, server, rows)
	st := s.box(Store, "", xs, 0, store, rows)
	at, step := 1, 2
	if many {
		step = 1
	}
	for i, id := range []string{You, Controllers, Scheduler} {
		high := step
		if i == 2 {
			high = 1
		}
		p := s.line(id, Askers, 1, at, ask-2, high)
		s.across(askers, api, id, APIServer, Asks, p.Rect.Y)
		at += step
	}
	s.across(api, st, APIServer, Store, Writes, rows/2)
	s.links(s.triangle(shape.Members, st))

	s.nodes(shape, api, rows, 5+max(s.H-16, 0)*2/3)
}

// triangle puts members into the store of the small form, a line each.
func (s *Scene) triangle(names []string, in Place) []Place {
	r := in.Rect
	const w = 9
	bottom := 4
	if r.H < 7 {
		bottom = 3
	}
	left, middle, right := r.X+2, r.X+(r.W-w+1)/2, r.X+r.W-1-w
	var at []point
	switch len(names) {
	case 1:
		at = []point{{middle, 2}}
	case 2:
		at = []point{{middle, 1}, {middle, bottom}}
	case 3:
		at = []point{{middle, 1}, {right, bottom}, {left, bottom}}
	case 4:
		at = []point{{left, 1}, {right, 1}, {right, bottom}, {left, bottom}}
	case 5:
		at = []point{{middle, 1}, {right, 2}, {right, bottom}, {left, bottom}, {left, 2}}
	default:
		s.list(names, in, 1, 3)
		return nil
	}
	var all []Place
	for i, n := range names {
		all = append(all, s.line("member/"+n, Store, at[i].x, at[i].y, w, 1))
	}
	return all
}

// Sizes of what represents a node where there are too many for boxes.
const (
	tileW  = 15
	tileX  = 1
	cellsX = 6 // after the number of the first cell in the row
)

// many lays out more nodes than there is room for boxes, from row y on: tiles if they
// fit, else cells. Ways to them end at the rule above their column.
func (s *Scene) many(shape Shape, drop int, from Joint, y int) {
	names, foot := shape.Nodes, 3
	if s.Form == Full {
		foot = footRows
	}
	if s.Form == Strip {
		foot = 1
	}
	rows := max(s.H-y-foot-1, 1)
	s.Rules = append(s.Rules, s.Bus)
	cols := (s.W - 2) / tileW
	s.Grain = Tiles
	if len(names) <= cols*rows && shape.Grain <= Tiles {
		used := (len(names) + cols - 1) / cols
		for i, n := range names {
			w := (s.W - 2) / cols
			p := s.line("node/"+n, "", tileX+i%cols*w, y+i/cols, tileW-1, 1)
			s.toRule(p, drop, from)
		}
		s.under(y + used)
		return
	}
	s.Grain = Cells
	cols = s.W - cellsX - 4
	each := (len(names) + cols*rows - 1) / (cols * rows)
	groups := (len(names) + each - 1) / each
	used := (groups + cols - 1) / cols
	s.line(Nodes, "", cellsX, y, cols, used)
	for at := range groups {
		group := names[at*each : min((at+1)*each, len(names))]
		s.line("node/"+group[0], Nodes, cellsX+at%cols, y+at/cols, 1, 1)
		s.Places[len(s.Places)-1].Names = group
		for _, n := range group {
			s.places["node/"+n] = len(s.Places) - 1
		}
	}
	s.under(y + used)
	s.edge(APIServer, Nodes, Hangs, []Joint{from}, point{drop, from.Y + 1}, point{drop, s.Bus})
}

// under rules the nodes off from the foot, which begins there.
func (s *Scene) under(y int) {
	s.Rules = append(s.Rules, y)
	s.Foot = grid.Rect{X: 0, Y: y + 1, W: s.W, H: max(s.H-y-1, 0)}
}

// toRule is the way to a tile: down to the rule, along it, to above the tile.
func (s *Scene) toRule(p Place, drop int, from Joint) {
	s.edge(APIServer, p.ID, Hangs, []Joint{from}, point{drop, from.Y + 1}, point{drop, s.Bus}, point{p.Rect.X + p.Rect.W/2, s.Bus})
}
