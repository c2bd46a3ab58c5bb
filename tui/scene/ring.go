package scene

import "kviz/tui/grid"

// Ring is what the raft picture depends on beside its size.
type Ring struct {
	Voters   []string // by name
	Learners []string
	Hub      string // who stands above where the voters are too many for a ring; from there all links go
	Foot     int    // rows that are wanted below the picture
}

// What a ring is at most: how many voters, columns and rows. Links that are longer are not
// seen as one.
const (
	most    = 5
	widest  = 150
	tallest = 30
)

// voteCells is how wide the mark of a vote is, with its name and a blank.
const voteCells = 3

// MemberID is the ID of a member's place.
func MemberID(name string) string { return "member/" + name }

// RingOf lays the members of a store out in a window of w columns and h rows: three in a
// triangle, four in a square, five in a pentagon, each clockwise by name from the top. More
// stand in rows below the hub. Learners stand outside. There is no strip of it.
func RingOf(r Ring, w, h int) *Scene {
	s := &Scene{Form: FormOf(w, h), W: w, H: h, places: map[string]int{}, edges: map[[2]string]int{}}
	if s.Form != Full && s.Form != Small {
		s.Form = None
		return s
	}
	bw, bh, least, apart := 28, 5, 11, 11 // rows with the least between the boxes, and from which on they stand apart
	if s.Form == Full {
		bw, bh, least, apart = 29+min(max(w-fullW, 0)/8, 11), 6, 15, 15
		if len(r.Voters) == most {
			least, apart = 18, 20
		}
	}
	foot := max(min(r.Foot, h-1-least), h-1-tallest, 3)
	s.Bus = h - 1 - foot
	s.Rules = []int{s.Bus}
	s.Foot = grid.Rect{X: 0, Y: s.Bus + 1, W: w, H: foot}
	high := s.Bus
	if s.Form == Full && h-1-foot > apart {
		high--
	}
	ring := min(w, widest)
	var voters []Place
	if len(r.Voters) > most {
		voters = s.below(r, bw, bh, high)
	} else {
		for i, at := range corners(len(r.Voters), s.Form, ring, high, &bw, bh) {
			voters = append(voters, s.box(MemberID(r.Voters[i]), "", (w-ring)/2+at.x, at.y, bw, bh))
		}
	}
	for _, n := range r.Learners {
		s.outside(n, bw, bh, high)
	}
	s.between(r, voters)
	return s
}

// corners are where the boxes of up to five voters stand, clockwise from the top.
func corners(n int, form Form, w, high int, bw *int, bh int) []point {
	right, middle, bottom := w-1-*bw, (w-*bw)/2, high-bh
	switch n {
	case 1:
		return []point{{middle, (high - bh) / 2}}
	case 2:
		return []point{{w / 10, bottom / 2}, {w - w/10 - *bw, bottom / 2}}
	case 3:
		return []point{{middle, 0}, {right, bottom}, {1, bottom}}
	case 4:
		in := 1
		if form == Full {
			in = w / 10
		}
		return []point{{in, 0}, {w - in - *bw, 0}, {w - in - *bw, bottom}, {in, bottom}}
	case 5:
		if form == Full {
			side := min(max(bh, bottom/2-1), bottom-bh-2) // two rows for the links between it and the box below
			low := w * 12 / fullW
			return []point{{middle, 0}, {right, side}, {w - low - 1 - *bw, bottom}, {low, bottom}, {0, side}}
		}
		*bw = (w - 6) / 3
		low := (w - 2**bw - 10) / 2
		return []point{{0, 0}, {(w - *bw) / 2, 0}, {w - *bw, 0}, {w - low - *bw, bottom}, {low, bottom}}
	}
	return nil
}

// below stands the hub above, as wide as the marks of all the votes need it, and the others
// in a row below it: where they are narrow one right beside the other, so that no line
// shows through between two.
func (s *Scene) below(r Ring, bw, bh, high int) []Place {
	wide := min(max(bw, voteCells*len(r.Voters)+9), s.W)
	all := []Place{s.box(MemberID(r.Hub), "", (s.W-wide)/2, 0, wide, bh)}
	var others []string
	for _, n := range r.Voters {
		if n != r.Hub {
			others = append(others, n)
		}
	}
	k := len(others)
	w := min(s.W/k, bw)
	gap := 0
	if w == bw {
		gap = (s.W - k*w) / k
	}
	left := (s.W - k*w - (k-1)*gap) / 2
	for i, n := range others {
		all = append(all, s.box(MemberID(n), "", left+i*(w+gap), high-bh, w, bh))
	}
	return all
}

// outside stands a learner where there is room beside the voters: in a corner if it can be.
func (s *Scene) outside(name string, bw, bh, high int) {
	for _, w := range []int{bw, 24, 20, 16, 12} {
		for _, y := range []int{0, high - bh, (high - bh) / 2} {
			for _, x := range []int{0, s.W - w, (s.W - w) / 2} {
				if w <= bw && s.clear(grid.Rect{X: x, Y: y, W: w, H: bh}) {
					s.box(MemberID(name), "", x, y, w, bh)
					return
				}
			}
		}
	}
}

// clear reports whether nothing stands in a place, nor beside it.
func (s *Scene) clear(r grid.Rect) bool {
	for _, p := range s.Places {
		q := p.Rect
		if r.X < q.X+q.W && q.X < r.X+r.W && r.Y < q.Y+q.H && q.Y < r.Y+r.H {
			return false
		}
	}
	return true
}

// between are the links: each pair of voters in a ring once, else those of the hub; and
// those of every voter with the learners.
func (s *Scene) between(r Ring, voters []Place) {
	all := append([]Place(nil), s.Places...)
	for i, a := range all {
		for j, b := range all[i+1:] {
			isVoter := i+1+j < len(voters)
			if len(voters) > most && i != 0 {
				continue
			}
			if i >= len(voters) && !isVoter { // two learners have nothing to tell each other
				continue
			}
			s.raft(a, b, all)
		}
	}
}
