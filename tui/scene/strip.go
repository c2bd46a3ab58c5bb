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
	s.edge(APIServer, Store, Writes, nil, point{30, 1}, point{34, 1})
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

// stripMembers stands three members around the first, as the write reaches them; more, or
// fewer, stand in columns.
func (s *Scene) stripMembers(names []string, in Place) {
	x := in.Rect.X
	if len(names) == 3 {
		a := s.line("member/"+names[0], Store, x, 1, 8, 1)
		for i, y := range []int{0, 2} {
			to := s.line("member/"+names[i+1], Store, x+10, y, min(9, s.W-x-10), 1)
			s.edge(a.ID, to.ID, Raft, nil, point{x + 3, y}, point{x + 8, y})
			s.Edges[len(s.Edges)-1].Cells[0].Arms |= []Arms{South, North}[i]
		}
		return
	}
	cols := (len(names) + 2) / 3
	for i, n := range names {
		w := in.Rect.W / max(cols, 1)
		s.line("member/"+n, Store, x+i/3*w, i%3, w, 1)
	}
}
