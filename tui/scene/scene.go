// Package scene is where each part of a cluster is on the screen, and how it is drawn
// there: members, API server, its clients, nodes and Services as [Place]s, and the ways
// between them as [Edge]s, lists of cells in order. A scene depends on what exists and on
// the size, never on the state of anything: a place never moves, only its highlighting
// changes.
//
// Start reading at [Of], then full.go (the layout from 112x28 on), [Painter].
package scene

import (
	"slices"

	"kviz/tui/grid"
)

// Shape is what a scene depends on beside its size.
type Shape struct {
	Members  []string // of the store, by name; none for a bare store
	Nodes    []string // in their order
	Services []string // "namespace/name", those that matter most first
	Volumes  []string // claims and volumes, those that matter most first
	Servers  []string // beside the API server, by ID: "webhook/…", "kms", "oidc", [Registry]
	Grain    Grain    // of the nodes at least: coarser where they do not fit
}

// Equal reports whether two shapes have the same scene.
func (s Shape) Equal(o Shape) bool {
	return s.Grain == o.Grain && slices.Equal(s.Servers, o.Servers) && slices.Equal(s.Members, o.Members) && slices.Equal(s.Nodes, o.Nodes) && slices.Equal(s.Services, o.Services) && slices.Equal(s.Volumes, o.Volumes)
}

// Form is how much of the picture there is room for.
type Form uint8

// The forms. They show the same places with fewer words.
const (
	None  Form = iota // there is no room for a picture
	Strip             // a line or two for each place
	Small             // those who ask in one frame, a member is a line
	Full              // every stage of the API server is written down
)

// FormOf is the form that fits into a window.
func FormOf(w, h int) Form {
	switch {
	case w >= 112 && h >= 28:
		return Full
	case w >= 76 && h >= 15:
		return Small
	case w >= 54 && h >= 9:
		return Strip
	}
	return None
}

// Grain is how a node is drawn.
type Grain uint8

// The grains.
const (
	Boxes Grain = iota // a box with its pods
	Tiles              // its number and a mark for each pod
	Cells              // one cell for a node, or for some of them
)

// IDs of the places there is one of. The others are "member/", "node/", "svc/" and
// "vol/" with a name.
const (
	You         = "you"
	Controllers = "process/controller-manager"
	Scheduler   = "process/scheduler"
	APIServer   = "process/apiserver"
	Store       = "store"
	Askers      = "askers"  // the frame round the first three, where they share one
	Nodes       = "nodes"   // all cells together
	Servers     = "servers" // those that the API server asks
	Registry    = "registry"
	Volumes     = "volumes" // those together for which there is no row of their own
)

// Place is where something stands.
type Place struct {
	ID     string
	In     string // the place it stands in; "" for none
	Rect   grid.Rect
	Framed bool     // it has a border; its inside is a cell smaller on each side
	Names  []string // of a cell that stands for several nodes: all of them
}

// Inside is where the words of the place stand.
func (p Place) Inside() grid.Rect {
	if p.Framed {
		return p.Rect.Inset(1)
	}
	return p.Rect
}

// Scene is a laid out cluster. It is not changed once it is made.
type Scene struct {
	Form   Form
	Grain  Grain
	W, H   int
	Places []Place
	Edges  []Edge
	Rules  []int     // rows that are ruled off from border to border
	Bus    int       // the row from which the nodes hang
	Foot   grid.Rect // what is left below, for words

	places map[string]int
	edges  map[[2]string]int
}

// Of lays a cluster out in a window of w columns and h rows.
func Of(shape Shape, w, h int) *Scene {
	s := &Scene{Form: FormOf(w, h), W: w, H: h, places: map[string]int{}, edges: map[[2]string]int{}}
	switch s.Form {
	case Full:
		s.full(shape)
	case Small:
		s.small(shape)
	case Strip:
		s.strip(shape)
	}
	return s
}

// Index is the number of a place in Places, -1 where there is none of that ID.
func (s *Scene) Index(id string) int {
	if i, ok := s.places[id]; ok {
		return i
	}
	return -1
}

// At is a place by its ID.
func (s *Scene) At(id string) (Place, bool) {
	if i, ok := s.places[id]; ok {
		return s.Places[i], true
	}
	return Place{}, false
}

// Way is the edge on which something goes from one place to another, and whether it goes
// against the order of the edge's cells. Where there is none to the place itself, it is
// the one to what contains it.
func (s *Scene) Way(from, to string) (edge int, back, ok bool) {
	for _, f := range s.up(from) {
		for _, t := range s.up(to) {
			if i, there := s.edges[[2]string{f, t}]; there {
				return i, false, true
			}
			if i, there := s.edges[[2]string{t, f}]; there {
				return i, true, true
			}
		}
	}
	return 0, false, false
}

// up is a place and what it stands in.
func (s *Scene) up(id string) []string {
	if p, ok := s.At(id); ok && p.In != "" {
		return []string{id, p.In}
	}
	return []string{id}
}

func (s *Scene) place(p Place) Place {
	s.places[p.ID] = len(s.Places)
	s.Places = append(s.Places, p)
	return p
}

// box is a place with a border.
func (s *Scene) box(id, in string, x, y, w, h int) Place {
	return s.place(Place{ID: id, In: in, Rect: grid.Rect{X: x, Y: y, W: w, H: h}, Framed: true})
}

// line is a place without one.
func (s *Scene) line(id, in string, x, y, w, h int) Place {
	return s.place(Place{ID: id, In: in, Rect: grid.Rect{X: x, Y: y, W: w, H: h}})
}
