package scene

// Arms are the sides of a cell on which a line leaves it.
type Arms uint8

// The sides.
const (
	North Arms = 1 << iota
	East
	South
	West
)

// Cell is one cell of an edge.
type Cell struct {
	X, Y int
	Arms Arms
	Dots rune // of a braille line: its dots; 0 for a line with arms
	Wide rune // the dots when it is lit
}

// Joint is the cell of a border in which an edge ends, and the side it comes from.
type Joint struct {
	X, Y int
	Arm  Arms
}

// Class is what an edge is for.
type Class uint8

// The classes.
const (
	Asks     Class = iota // a client and the API server
	Writes                // the API server and a member
	Watches               // the store and the API server
	Hangs                 // the API server and a node
	Raft                  // two members
	Selects               // a Service and a node
	Attaches              // a volume and a node
)

// Edge is the way between two places, its cells in order from one to the other.
type Edge struct {
	From, To string
	Class    Class
	Cells    []Cell
	Joints   []Joint
}

// point is a corner of a way.
type point struct{ x, y int }

// edge adds a way through corners, each in a row or column with the one before, and the
// joints in the borders at its ends.
func (s *Scene) edge(from, to string, class Class, joints []Joint, way ...point) {
	e := Edge{From: from, To: to, Class: class, Joints: joints}
	for i, p := range way {
		if i == 0 {
			e.Cells = append(e.Cells, Cell{X: p.x, Y: p.y})
			continue
		}
		for q := way[i-1]; q != p; {
			last := &e.Cells[len(e.Cells)-1]
			next := Cell{}
			switch {
			case q.x < p.x:
				q.x++
				last.Arms |= East
				next.Arms = West
			case q.x > p.x:
				q.x--
				last.Arms |= West
				next.Arms = East
			case q.y < p.y:
				q.y++
				last.Arms |= South
				next.Arms = North
			default:
				q.y--
				last.Arms |= North
				next.Arms = South
			}
			next.X, next.Y = q.x, q.y
			e.Cells = append(e.Cells, next)
		}
	}
	for _, j := range joints { // the end of the line reaches for its border
		for k := range e.Cells {
			c := &e.Cells[k]
			switch {
			case j.Arm == East && c.X == j.X+1 && c.Y == j.Y:
				c.Arms |= West
			case j.Arm == West && c.X == j.X-1 && c.Y == j.Y:
				c.Arms |= East
			case j.Arm == South && c.Y == j.Y+1 && c.X == j.X:
				c.Arms |= North
			case j.Arm == North && c.Y == j.Y-1 && c.X == j.X:
				c.Arms |= South
			}
		}
	}
	s.edges[[2]string{from, to}] = len(s.Edges)
	s.Edges = append(s.Edges, e)
}

// reach gives the last cell of the newest edge an arm towards what it ends at.
func (s *Scene) reach(arm Arms) {
	cells := s.Edges[len(s.Edges)-1].Cells
	cells[len(cells)-1].Arms |= arm
}

// across is an edge from the right border of a to the left border of b in a row.
func (s *Scene) across(a, b Place, from, to string, class Class, row int) {
	x0, x1 := a.Rect.X+a.Rect.W, b.Rect.X-1
	s.edge(from, to, class, []Joint{{x0 - 1, row, East}, {x1 + 1, row, West}}, point{x0, row}, point{x1, row})
}

// dots are the bits of a braille cell, by column and row.
var dots = [2][4]rune{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}

const braille = 0x2800

// raft adds the line between two members, from the middle of one to that of the other,
// where no member stands in front of it.
func (s *Scene) raft(a, b Place, members []Place) {
	// in dots, of which a cell has two by four
	x0, y0 := 2*a.Rect.X+a.Rect.W, 4*a.Rect.Y+2*a.Rect.H
	x1, y1 := 2*b.Rect.X+b.Rect.W, 4*b.Rect.Y+2*b.Rect.H
	n := max(abs(x1-x0), abs(y1-y0), 1)
	e := Edge{From: a.ID, To: b.ID, Class: Raft}
	for i := 0; i <= n; i++ {
		x, y := x0+div((x1-x0)*i, n), y0+div((y1-y0)*i, n)
		cx, cy := x/2, y/4
		if covered(members, cx, cy) {
			continue
		}
		if k := len(e.Cells); k == 0 || e.Cells[k-1].X != cx || e.Cells[k-1].Y != cy {
			e.Cells = append(e.Cells, Cell{X: cx, Y: cy, Dots: braille, Wide: braille})
		}
		c := &e.Cells[len(e.Cells)-1]
		c.Dots |= dots[x%2][y%4]
		c.Wide |= dots[x%2][y%4]
		if abs(x1-x0) >= abs(y1-y0) {
			c.Wide |= dots[x%2][min(y%4+1, 3)] | dots[x%2][max(y%4-1, 0)]
		} else {
			c.Wide |= dots[1-x%2][y%4]
		}
	}
	s.edges[[2]string{a.ID, b.ID}] = len(s.Edges)
	s.Edges = append(s.Edges, e)
}

func covered(places []Place, x, y int) bool {
	for _, p := range places {
		if p.Rect.Has(x, y) {
			return true
		}
	}
	return false
}

// div divides and rounds to the nearest.
func div(a, b int) int {
	if a < 0 {
		return -((-a + b/2) / b)
	}
	return (a + b/2) / b
}

func abs(n int) int { return max(n, -n) }
