// Package beside marks what differs between two drawings of the same pane: rows that the
// other lacks, and the differing cells of rows that both have. It knows nothing but cells,
// so it works for every pane.
//
// Start reading at [Mark].
package beside

import (
	"strings"

	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Differs is what stands at the left border of a row that differs.
const Differs = '≠'

// Mark marks in two framed panes what differs, and returns the number of rows that do.
// What is the same in both may be in different rows.
func Mark(a, b grid.Area) (rows int) {
	x, y := lines(a), lines(b)
	pairs := common(x, y)
	pairs = append(pairs, [2]int{len(x), len(y)})
	i, j := 0, 0
	mark := func(a grid.Area, row int, is, other string) {
		if is != "" || other != "" { // that one has fewer rows is no difference
			cells(a, row, is, other)
			rows++
		}
	}
	for n, p := range pairs { // what stands between two rows that both have
		edge := n <= head && i == j || n == len(pairs)-1
		if edge && (i == p[0] && full(x) || j == p[1] && full(y)) { // the other is only scrolled elsewhere
			i, j = p[0]+1, p[1]+1
			continue
		}
		for ; i < p[0]; i++ {
			other := alike(x[i], y[j:p[1]])
			if other < 0 {
				mark(a, i, x[i], "")
				continue
			}
			for ; other > 0; other, j = other-1, j+1 {
				mark(b, j, y[j], "")
			}
			mark(a, i, x[i], y[j])
			cells(b, j, y[j], x[i])
			j++
		}
		for ; j < p[1]; j++ {
			mark(b, j, y[j], "")
		}
		i, j = p[0]+1, p[1]+1
	}
	return rows
}

// head is how many rows of a pane, such as names of columns, may stay when it is scrolled.
const head = 2

// full reports whether there may be more rows than are seen.
func full(rows []string) bool { return len(rows) > 0 && rows[len(rows)-1] != "" }

// alike is the first of some rows that is about the same as a row: that begins with the same
// word; -1 if there is none.
func alike(row string, others []string) int {
	for i, other := range others {
		if row != "" && first(row) == first(other) {
			return i
		}
	}
	return -1
}

func first(row string) string {
	if words := strings.Fields(row); len(words) > 0 {
		return words[0]
	}
	return ""
}

// cells marks a row, and in it what the other has not at the same place.
func cells(a grid.Area, row int, is, other string) {
	a.Put(0, row+1, Differs, theme.Warn|grid.Bold)
	was, lit := []rune(other), -2
	for x, r := range []rune(is) {
		if x >= len(was) && r != ' ' || x < len(was) && was[x] != r {
			if x > 1 && lit == x-2 { // one mark over several words
				a.Mark(x, row+1, 1, grid.Fresh)
			}
			a.Mark(x+1, row+1, 1, grid.Fresh)
			lit = x
		}
	}
}

// lines are the rows within the frame, without the blanks at their ends.
func lines(a grid.Area) []string {
	in := a.Sub(1, 1, a.W()-2, a.H()-2)
	out := make([]string, in.H())
	for y := range out {
		out[y] = strings.TrimRight(in.Row(y), " ")
	}
	return out
}

// common are the rows that both have, in the order in which both have them: as many as
// there can be.
func common(x, y []string) (pairs [][2]int) {
	most := make([][]int, len(x)+1) // of what is behind the i-th and the j-th row
	for i := range most {
		most[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			switch {
			case x[i] == y[j]:
				most[i][j] = most[i+1][j+1] + 1
			default:
				most[i][j] = max(most[i+1][j], most[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] == y[j]:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case most[i+1][j] >= most[i][j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}
