package scene

import "kviz/tui/grid"

// columns is where the parts of the strip stand.
type columns struct {
	asker         int // how wide who asks is
	trunk         int // where the ways of those who ask meet
	api, apiW     int
	fork          int // from here the ways to three members part
	members, drop int // drop is where the way to the nodes leaves the API server
}

// columnsOf are wide enough for whole names where there is room.
func (s *Scene) columnsOf(members int) columns {
	if s.W >= WholeNames && members <= 6 {
		return columns{asker: 13, trunk: 16, api: 20, apiW: 21, fork: 44, members: 48, drop: 22}
	}
	return columns{asker: 7, trunk: 11, api: 15, apiW: 14, fork: 32, members: 36, drop: 17}
}

// WholeNames is the width from which the strip has whole names.
const WholeNames = 74

// strip lays out the form from 54x9 on: words instead of boxes.
func (s *Scene) strip(shape Shape) {
	c := s.columnsOf(len(shape.Members))
	you := s.line(You, "", 1, 0, 5, 1)
	controllers := s.line(Controllers, "", 1, 1, c.asker, 1)
	scheduler := s.line(Scheduler, "", 1, 2, max(c.asker-2, 5), 1)
	s.line(APIServer, "", c.api, 1, c.apiW, 1)
	for _, p := range []Place{you, controllers, scheduler} {
		way := []point{{p.Rect.X + p.Rect.W + 1, p.Rect.Y}, {c.trunk, p.Rect.Y}}
		if p.Rect.Y != 1 {
			way = append(way, point{c.trunk, 1})
		}
		s.edge(p.ID, APIServer, Asks, nil, append(way, point{c.api - 2, 1})...)
	}
	x := c.members
	st := s.place(Place{ID: Store, Rect: grid.Rect{X: x, Y: 0, W: s.W - x, H: 3}})
	end := x - 2
	if len(shape.Members) == 3 { // it forks to each of them
		end = c.fork
	}
	s.edge(APIServer, Store, Writes, nil, point{c.api + c.apiW + 1, 1}, point{end, 1})
	s.stripMembers(shape.Members, st, c)

	n := len(shape.Nodes)
	drop := c.drop
	s.Bus = 3
	from := Joint{drop, 1, South}
	if s.crowded(shape) {
		s.many(shape, drop, from, 4)
		return
	}
	for i, name := range shape.Nodes {
		x0, x1 := 1+(s.W-2)*i/n, 1+(s.W-2)*(i+1)/n-1
		high := max(s.H-4-2, 2)
		if high > 4 {
			high-- // a row stays free below them: a lesson draws a ring there
		}
		p := s.line("node/"+name, "", x0, 4, x1-x0, high)
		s.edge(APIServer, p.ID, Hangs, nil, point{drop, 2}, point{drop, 3}, point{x0 + 5, 3})
		s.reach(South)
	}
	y := s.H - 2
	if n > 0 && len(shape.Services) > 0 {
		s.line("svc/"+shape.Services[0], "", 1, y, s.W-2, 1)
		y++
	}
	s.Foot = grid.Rect{X: 1, Y: y, W: s.W - 2, H: max(s.H-y, 0)}
}

// stripMembers lists three members one below the other, each with a way of its own to the API server, since any of them
// may lead, and the links between them at the right; more, or fewer, stand in columns.
func (s *Scene) stripMembers(names []string, in Place, c columns) {
	x, api := in.Rect.X, c.api+c.apiW+1
	if len(names) == 3 {
		const w = 10
		var all []Place
		for y, n := range names {
			p := s.line("member/"+n, Store, x, y, w, 1)
			all = append(all, p)
			way := []point{{api, 1}, {c.fork, 1}, {c.fork, y}, {x - 2, y}}
			if y == 1 {
				way = []point{{api, 1}, {x - 2, 1}}
			}
			s.edge(APIServer, p.ID, Writes, nil, way...)
		}
		between := func(a, b, column int) {
			s.edge(all[a].ID, all[b].ID, Raft, nil, point{x + w, a}, point{column, a}, point{column, b}, point{x + w, b})
		}
		between(0, 1, x+w+2)
		between(1, 2, x+w+2)
		between(0, 2, x+w+5)
		return
	}
	cols := (len(names) + 2) / 3
	for i, n := range names {
		w := in.Rect.W / max(cols, 1)
		s.line("member/"+n, Store, x+i/3*w, i%3, w, 1)
	}
}
