package stage

import (
	"slices"
	"strings"

	"kviz/tui/grid"
)

// room is how rows of a picture were moved apart, so that rings have all four sides.
type room map[int]int // by row of the screen: where it stands now; a row without an entry is gone

// makeRoom moves rows of the picture apart where words stand right above or below one of some spots. For each row that
// comes in, one goes.
func makeRoom(a grid.Area, spots []grid.Rect) room {
	in := a.R.Inset(1)
	rows := make([]int, in.H)
	for i := range rows {
		rows[i] = in.Y + i
	}
	needed := func(y int) bool { // it is in a ring, or a side of it is drawn there
		return slices.ContainsFunc(spots, func(r grid.Rect) bool {
			side := y == r.Y-1 || y == r.Y+r.H
			return y >= r.Y && y < r.Y+r.H || side && passable(a, r.X-1, y, r.W+2)
		})
	}
	moved := false
	for _, before := range crowded(a, spots) {
		at := slices.Index(rows, before)
		if before == in.Y+in.H {
			at = len(rows)
		}
		gone := spare(a, rows, at, needed)
		if at < 0 || gone < 0 {
			continue
		}
		rows = slices.Insert(rows, at, inserted)
		if gone >= at {
			gone++
		}
		rows = slices.Delete(rows, gone, gone+1)
		moved = true
	}
	if !moved {
		return nil
	}
	now := room{in.Y - 1: in.Y - 1, in.Y + in.H: in.Y + in.H}
	for i, y := range rows {
		if y != inserted {
			now[y] = in.Y + i
		}
	}
	shift(a, rows)
	return now
}

// inserted stands for a row that was not there.
const inserted = -1

// crowded are the rows before which a blank one is wanted, from below.
func crowded(a grid.Area, spots []grid.Rect) (before []int) {
	in := a.R.Inset(1)
	for _, r := range spots {
		if r.Y == in.Y || !passable(a, r.X-1, r.Y-1, r.W+2) {
			before = append(before, r.Y)
		}
		if below := r.Y + r.H; below == in.Y+in.H || !passable(a, r.X-1, below, r.W+2) {
			before = append(before, below)
		}
	}
	slices.Sort(before)
	slices.Reverse(before)
	return before
}

// spare is the place of a row that can go for one that comes in at a place: the nearest on which nothing stands. Where there
// is none, it is the last one or the first, as if the picture were scrolled by a row; -1 where both are part of spots.
func spare(a grid.Area, rows []int, at int, needed func(y int) bool) int {
	best, least := -1, 0
	for i, y := range rows {
		far := i - at
		if far < 0 {
			far = len(rows) - far // above only where there is none below
		}
		if y != inserted && !needed(y) && vacant(a, y) && (best < 0 || far < least) {
			best, least = i, far
		}
	}
	for _, edge := range []int{len(rows) - 1, 0} {
		if y := rows[edge]; best < 0 && y != inserted && !needed(y) {
			best = edge
		}
	}
	return best
}

// vacant reports whether nothing but lines that go down stands on a row.
func vacant(a grid.Area, y int) bool {
	in := a.R.Inset(1)
	for x := in.X; x < in.X+in.W; x++ {
		switch c := runeAt(a, x, y); {
		case c == 0 || c == ' ':
		case !strings.ContainsRune(upright, c) || !joins(a, x, y-1, y+1):
			return false
		}
	}
	return true
}

// joins reports whether a line goes down from a cell of one row and arrives at that of another.
func joins(a grid.Area, x, above, below int) bool {
	return strings.ContainsRune(downwards, runeAt(a, x, above)) && strings.ContainsRune(upwards, runeAt(a, x, below))
}

// The signs of lines that go straight down, that have an arm down, and that have one up.
const (
	upright   = "│┃╎┆"
	downwards = upright + "╭╮┌┐├┤┬┼┏┓┣┫┳╋╷"
	upwards   = upright + "╰╯└┘├┤┴┼┗┛┣┫┻╋╵"
)

// shift puts the rows of a picture into another order. Lines that go down go on through a row that comes in.
func shift(a grid.Area, rows []int) {
	was := make([][]grid.Cell, a.H())
	for y := range was {
		was[y] = a.Cells(y)
	}
	top := a.R.Y
	for i, y := range rows {
		if y != inserted {
			a.Lay(i+1, was[y-top])
			continue
		}
		above, below := top, top+a.H()-1 // the frame
		for _, over := range rows[:i] {
			above = max(above, over)
		}
		for _, under := range slices.Backward(rows[i+1:]) {
			if under != inserted {
				below = under
			}
		}
		a.Lay(i+1, between(was[above-top], was[below-top]))
	}
}

// between is a row that comes in between two others.
func between(above, below []grid.Cell) []grid.Cell {
	row := make([]grid.Cell, len(above))
	for x := range row {
		row[x] = grid.Cell{R: ' '}
		up, down := above[x], below[x]
		if !strings.ContainsRune(downwards, up.R) || !strings.ContainsRune(upwards, down.R) {
			continue
		}
		row[x] = grid.Cell{R: '│', S: up.S}
		if strings.ContainsRune(upright, down.R) {
			row[x] = down
		}
	}
	row[0], row[len(row)-1] = below[0], below[len(row)-1]
	if !strings.ContainsRune(upright, row[0].R) { // above the frame's last row
		row[0], row[len(row)-1] = above[0], above[len(row)-1]
	}
	return row
}

func runeAt(a grid.Area, x, y int) rune { return a.Screen(grid.Rect{X: x, Y: y, W: 1, H: 1}).Rune() }

// moved is where cells stand after rows were moved apart, and whether all of them are there.
func (r room) moved(at grid.Rect, whole bool) (grid.Rect, bool) {
	if r == nil || at.Empty() {
		return at, whole
	}
	first, last := -1, -1
	for y := at.Y; y < at.Y+at.H; y++ {
		to, ok := r[y]
		if !ok {
			whole = false
			continue
		}
		if first < 0 {
			first = to
		}
		last = to
	}
	if first < 0 {
		return grid.Rect{}, false
	}
	at.Y, at.H = first, last-first+1
	return at, whole
}

// Find is where a thing stands on the screen, and whether it is seen whole.
func (p *picture) Find(name string) (grid.Rect, bool) { return p.room.moved(p.Host.Find(name)) }

// FindAll is every place where a thing stands.
func (p *picture) FindAll(name string) (all []grid.Rect) {
	for _, r := range p.Host.FindAll(name) {
		if r, _ = p.room.moved(r, true); !r.Empty() {
			all = append(all, r)
		}
	}
	return all
}
