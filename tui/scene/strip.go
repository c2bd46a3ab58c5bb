package scene

import "kviz/tui/grid"

// strip lays out the form from 54x9 on: words instead of boxes.
func (s *Scene) strip(shape Shape) {
	you := s.line(You, "", 1, 0, 5, 1)
	controllers := s.line(Controllers, "", 1, 1, 7, 1)
	scheduler := s.line(Scheduler, "", 1, 2, 5, 1)
	const trunk = 11
	s.line(APIServer, "", 15, 1, 14, 1)
	for _, p := range []Place{you, controllers, scheduler} {
		way := []point{{p.Rect.X + p.Rect.W + 1, p.Rect.Y}, {trunk, p.Rect.Y}}
		if p.Rect.Y != 1 {
			way = append(way, point{trunk, 1})
		}
		s.edge(p.ID, APIServer, Asks, nil, append(way, point{13, 1})...)
	}
	x := 36
	st := s.place(Place{ID: Store, Rect: grid.Rect{X: x, Y: 0, W: s.W - x, H: 3}})
	end := x - 2
	if len(shape.Members) == 3 { // it forks to each of them
		end = fork
	}
	s.edge(APIServer, Store, Writes, nil, point{30, 1}, point{end, 1})
	s.stripMembers(shape.Members, st)

	n := len(shape.Nodes)
	const drop = 17
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

// fork is the column from which the ways to three members part.
const fork = 32

// stripMembers lists three members one below the other, each with a way of its own to the API server, since any of them
// may lead, and the links between them at the right; more, or fewer, stand in columns.
func (s *Scene) stripMembers(names []string, in Place) {
	x := in.Rect.X
	if len(names) == 3 {
		const w = 10
		var all []Place
		for y, n := range names {
			p := s.line("member/"+n, Store, x, y, w, 1)
			all = append(all, p)
			way := []point{{30, 1}, {fork, 1}, {fork, y}, {x - 2, y}}
			if y == 1 {
				way = []point{{30, 1}, {x - 2, 1}}
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
