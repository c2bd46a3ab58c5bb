package scene

import (
	"slices"

	"kviz/tui/grid"
)

// What the full form has at its usual width of 118 columns.
const (
	fullW     = 118
	topRows   = 14 // of the boxes above
	askW      = 31
	serverW   = 28
	storeW    = 33
	footRows  = 5 // kept free below for the path of a command
	cacheRow  = 12
	storeGate = 6  // the row in which the way to the members comes into the store
	storage   = 10 // the row of the API server's last stage
)

// full lays out the form from 112x28 on.
func (s *Scene) full(shape Shape) {
	ask, server, store := askW, serverW, storeW
	if more := s.W - fullW; more > 0 {
		ask, server, store = ask+min(more/5, 20), server+min(more/8, 12), store+min(more/4, 24)
	}
	gap := s.W - 2 - ask - server - store
	xa := 1 + ask + gap/2
	xs := s.W - 1 - store

	you := s.box(You, "", 1, 0, ask, 3)
	controllers := s.box(Controllers, "", 1, 4, ask, 6)
	scheduler := s.box(Scheduler, "", 1, 11, ask, 3)
	api := s.box(APIServer, "", xa, 0, server, topRows)
	st := s.box(Store, "", xs, 0, store, topRows)

	s.across(you, api, You, APIServer, Asks, 1)
	s.across(controllers, api, Controllers, APIServer, Asks, 6)
	s.across(scheduler, api, Scheduler, APIServer, Asks, cacheRow)
	x0 := xa + server
	s.edge(Store, APIServer, Watches, []Joint{{xs, cacheRow, West}, {x0 - 1, cacheRow, East}}, point{xs - 1, cacheRow}, point{x0, cacheRow})

	s.servers(shape.Servers, ask, api)
	if slices.Contains(shape.Servers, Registry) { // with kubelets alone it has to do
		s.line(Registry, "", xs, topRows, store, 1)
	}

	members := s.polygon(shape.Members, st)
	turn := x0 + max((xs-x0)/2, 1)
	for _, m := range members {
		gate, mid := point{xs + 2, storeGate}, m.Rect.Y+m.Rect.H/2
		way := []point{{x0, storage}, {turn, storage}, {turn, storeGate}}
		joint := Joint{x0 - 1, storage, East}
		if m.Rect.X > xs+store/2 { // on the right: along the row between those above and below
			row := gate.y
			if len(members) == 5 {
				row++
				way = append(way, gate)
			}
			x := m.Rect.X + m.Rect.W/2
			way = append(way, point{gate.x, row}, point{x, row})
			if m.Rect.Y > row {
				way = append(way, point{x, m.Rect.Y - 1})
				s.edge(APIServer, m.ID, Writes, []Joint{joint, {x, m.Rect.Y, North}}, way...)
			} else {
				y := m.Rect.Y + m.Rect.H
				way = append(way, point{x, y})
				s.edge(APIServer, m.ID, Writes, []Joint{joint, {x, y - 1, South}}, way...)
			}
			continue
		}
		way = append(way, gate, point{gate.x, mid}, point{m.Rect.X - 1, mid})
		s.edge(APIServer, m.ID, Writes, []Joint{joint, {m.Rect.X, mid, West}}, way...)
	}
	// where nobody leads, or there are too many to have a way each
	s.edge(APIServer, Store, Writes, []Joint{{x0 - 1, storage, East}, {xs, storeGate, West}},
		point{x0, storage}, point{turn, storage}, point{turn, storeGate}, point{xs - 1, storeGate})
	s.links(members)

	rows := max(s.H-topRows-2-1-footRows, 5)
	high := min(rows, 7)
	if s.H > 36 {
		high = min(7+(s.H-36)/2, 12)
	}
	s.nodes(shape, api, topRows+1, high)
}

// servers are those that the API server asks, in a row below who asks it.
func (s *Scene) servers(ids []string, w int, api Place) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == Registry })
	if len(ids) == 0 {
		return
	}
	ids = ids[:min(len(ids), 3)]
	all := s.line(Servers, "", 1, topRows, w, 1)
	for i, id := range ids {
		x0, x1 := 1+w*i/len(ids), 1+w*(i+1)/len(ids)
		s.line(id, Servers, x0, topRows, x1-x0, 1)
	}
	up := api.Rect.X + 2
	s.edge(APIServer, all.ID, Asks, []Joint{{up, api.Rect.Y + api.Rect.H - 1, South}}, point{up, topRows}, point{1 + w, topRows})
	s.reach(West)
}

// polygon puts members into the store of the full form: clockwise by name from the top.
// Too many for boxes are lines, with no way of their own.
func (s *Scene) polygon(names []string, in Place) []Place {
	r := in.Rect
	w := 12 + (r.W-storeW)/4
	left, middle, right := r.X+3, r.X+(r.W-w+1)/2, r.X+r.W-2-w
	var at []point
	switch len(names) {
	case 1:
		at = []point{{middle, 5}}
	case 2:
		at = []point{{middle, 1}, {middle, 8}}
	case 3:
		at = []point{{middle, 1}, {right, 8}, {left, 8}}
	case 4:
		at = []point{{left, 1}, {right, 1}, {right, 8}, {left, 8}}
	case 5:
		at = []point{{middle, 1}, {right, 4}, {right, 8}, {left, 8}, {left, 4}}
	default:
		s.list(names, in, 2, 2)
		return nil
	}
	var all []Place
	for i, n := range names {
		all = append(all, s.box("member/"+n, Store, at[i].x, at[i].y, w, 3))
	}
	return all
}

// list puts members into a store as lines in some columns, from a row on.
func (s *Scene) list(names []string, in Place, row, cols int) {
	r := in.Inside()
	w := (r.W - 2) / cols
	for i, n := range names {
		s.line("member/"+n, Store, r.X+1+i%cols*w, r.Y-1+row+i/cols, w-1, 1)
	}
}

// links are the lines between members, each pair once.
func (s *Scene) links(members []Place) {
	for i, a := range members {
		for _, b := range members[i+1:] {
			s.raft(a, b, members)
		}
	}
}

// nodes lays out what hangs below the API server: the bus in a row, then the nodes, the
// boxes so many rows high, then the Services; what is left is the foot.
func (s *Scene) nodes(shape Shape, api Place, bus, high int) {
	s.Bus = bus
	x, w := 0, s.W
	gap := 0
	if s.Form == Full {
		x, w, gap = 1, s.W-2, 1
	}
	n := len(shape.Nodes)
	drop := api.Rect.X + api.Rect.W/2 + gap
	from := Joint{drop, api.Rect.Y + api.Rect.H - 1, South}
	y := bus + 1
	if s.crowded(shape) {
		s.many(shape, drop, from, y)
		return
	}
	high = s.lower(shape, y, high)
	var boxes []Place
	for i, name := range shape.Nodes {
		x0, x1 := x+(w+gap)*i/n, x+(w+gap)*(i+1)/n-gap
		p := s.box("node/"+name, "", x0, y, x1-x0, high)
		boxes = append(boxes, p)
		port := x0 + (x1-x0)/2
		way := []point{{drop, api.Rect.Y + api.Rect.H}, {drop, bus}, {port, bus}}
		s.edge(APIServer, p.ID, Hangs, []Joint{from, {port, y, North}}, way...)
	}
	y += high
	if n == 0 {
		y = bus
	}
	services, volumes := s.rowsBelow(shape, y)
	if n > 0 {
		for i, name := range shape.Services[:services] {
			s.service(name, boxes, y+i)
		}
		s.volumes(shape.Volumes, boxes, y, y+services, volumes)
	} else {
		volumes = 0
	}
	y += services + volumes
	s.Foot = grid.Rect{X: x, Y: y, W: w, H: max(s.H-y, 0)}
}

// fewVolumes is for how many volumes there are rows at least, where the nodes' boxes can be a little lower.
const fewVolumes = 3

// rowsBelow is how many rows there are for Services and for volumes below the nodes, which end above row y.
func (s *Scene) rowsBelow(shape Shape, y int) (services, volumes int) {
	foot, most := 2, 3
	if s.Form == Full {
		foot, most = footRows+1, s.H
	}
	room := max(min(s.H-y-foot, most), 1)
	few := min(len(shape.Volumes), fewVolumes)
	services = min(len(shape.Services), max(room-few, min(room, 2)))
	return services, min(len(shape.Volumes), max(s.H-y-foot-services, 0))
}

// leastHigh is how high a node's box is at least where it makes room for volumes.
const leastHigh = 6

// lower is how high the nodes' boxes are, which begin in row y: lower where else there would be no rows for volumes.
func (s *Scene) lower(shape Shape, y, high int) int {
	for high > leastHigh {
		if _, volumes := s.rowsBelow(shape, y+high); volumes >= min(len(shape.Volumes), fewVolumes) {
			break
		}
		high--
	}
	return high
}

// crowded reports whether the nodes are tiles or cells.
func (s *Scene) crowded(shape Shape) bool {
	n := len(shape.Nodes)
	return n > s.boxesBeside() || n > 0 && shape.Grain > Boxes
}

// boxesBeside is how many nodes can have a box.
func (s *Scene) boxesBeside() int {
	switch {
	case s.Form == Strip:
		return max((s.W-2)/17, 1)
	case s.W < 100:
		return s.W / 24
	case s.W < 150:
		return 4
	}
	return 6
}

// service adds the row of a Service, and the ways from it to the nodes. Of its words it
// has what stands left of the first node's end.
func (s *Scene) service(name string, boxes []Place, row int) {
	port := func(p Place) int { return p.Rect.X + p.Rect.W - 5 }
	at := s.line("svc/"+name, "", boxes[0].Rect.X+1, row, port(boxes[0])-boxes[0].Rect.X-3, 1)
	for _, b := range boxes {
		end := point{port(b), row}
		s.edge(at.ID, b.ID, Selects, nil, point{at.Rect.X + at.Rect.W, row}, end)
		s.reach(North)
	}
}

// volumes adds a row for each volume from a row on, and the ways from it to the nodes, whose boxes end above row top. Where
// there are more volumes than rows, the last row is for the others together.
func (s *Scene) volumes(names []string, boxes []Place, top, y, rows int) {
	port := func(p Place) int { return p.Rect.X + p.Rect.W - 3 }
	first, last := boxes[0].Rect, boxes[len(boxes)-1].Rect
	for i, name := range names[:rows] {
		row := y + i
		if i == rows-1 && len(names) > rows {
			s.line(Volumes, "", first.X+1, row, last.X+last.W-first.X-2, 1)
			return
		}
		at := s.line("vol/"+name, "", first.X+1, row, first.W-9, 1)
		for _, b := range boxes {
			end := point{port(b), top}
			s.edge(at.ID, b.ID, Attaches, []Joint{{end.x, top - 1, South}}, point{at.Rect.X + at.Rect.W, row}, point{end.x, row}, end)
		}
	}
}
