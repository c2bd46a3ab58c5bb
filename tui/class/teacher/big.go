package teacher

import (
	"strings"

	"kviz/tui/grid"
)

// glyphs are the letters of big words: five pixels high, of which two stand in one row.
var glyphs = map[rune][5]string{
	'A': {".#.", "#.#", "###", "#.#", "#.#"}, 'B': {"##.", "#.#", "##.", "#.#", "##."}, 'C': {".##", "#..", "#..", "#..", ".##"},
	'D': {"##.", "#.#", "#.#", "#.#", "##."}, 'E': {"###", "#..", "##.", "#..", "###"}, 'F': {"###", "#..", "##.", "#..", "#.."},
	'G': {".##", "#..", "#.#", "#.#", ".##"}, 'H': {"#.#", "#.#", "###", "#.#", "#.#"}, 'I': {"###", ".#.", ".#.", ".#.", "###"},
	'J': {"..#", "..#", "..#", "#.#", ".#."}, 'K': {"#.#", "#.#", "##.", "#.#", "#.#"}, 'L': {"#..", "#..", "#..", "#..", "###"},
	'M': {"#...#", "##.##", "#.#.#", "#...#", "#...#"}, 'N': {"#..#", "##.#", "#.##", "#..#", "#..#"}, 'O': {".#.", "#.#", "#.#", "#.#", ".#."},
	'P': {"##.", "#.#", "##.", "#..", "#.."}, 'Q': {".##.", "#..#", "#..#", "#.#.", ".#.#"}, 'R': {"##.", "#.#", "##.", "#.#", "#.#"},
	'S': {".##", "#..", ".#.", "..#", "##."}, 'T': {"###", ".#.", ".#.", ".#.", ".#."}, 'U': {"#.#", "#.#", "#.#", "#.#", "###"},
	'V': {"#.#", "#.#", "#.#", "#.#", ".#."}, 'W': {"#...#", "#...#", "#.#.#", "##.##", "#...#"}, 'X': {"#.#", "#.#", ".#.", "#.#", "#.#"},
	'Y': {"#.#", "#.#", ".#.", ".#.", ".#."}, 'Z': {"###", "..#", ".#.", "#..", "###"},
	'0': {"###", "#.#", "#.#", "#.#", "###"}, '1': {".#.", "##.", ".#.", ".#.", "###"}, '2': {"###", "..#", "###", "#..", "###"},
	'3': {"###", "..#", ".##", "..#", "###"}, '4': {"#.#", "#.#", "###", "..#", "..#"}, '5': {"###", "#..", "###", "..#", "###"},
	'6': {"###", "#..", "###", "#.#", "###"}, '7': {"###", "..#", ".#.", ".#.", ".#."}, '8': {"###", "#.#", "###", "#.#", "###"},
	'9': {"###", "#.#", "###", "..#", "###"},
	' ': {"..", "..", "..", "..", ".."}, '-': {"...", "...", "###", "...", "..."}, '+': {"...", ".#.", "###", ".#.", "..."},
	'.': {".", ".", ".", ".", "#"}, ',': {"..", "..", "..", ".#", "#."}, ':': {".", "#", ".", "#", "."}, '!': {"#", "#", "#", ".", "#"},
	'?': {"##.", "..#", ".#.", "...", ".#."}, '/': {"..#", "..#", ".#.", "#..", "#.."}, '=': {"...", "###", "...", "###", "..."},
	'%': {"#.#", "..#", ".#.", "#..", "#.#"}, '\'': {"#", "#", ".", ".", "."}, '(': {".#", "#.", "#.", "#.", ".#"}, ')': {"#.", ".#", ".#", ".#", "#."},
}

// bigRows is how many rows big words take.
const bigRows = 3

// big is a text in big words, of rows of the same width: two columns a pixel where there is room, else one. It is nil where a
// character has no glyph, or there is no room at all.
func big(text string, w int) []string {
	var lines [5]strings.Builder
	for i, r := range []rune(strings.ToUpper(text)) {
		g, known := glyphs[r]
		if !known {
			return nil
		}
		for y := range lines {
			if i > 0 {
				lines[y].WriteByte('.')
			}
			lines[y].WriteString(g[y])
		}
	}
	pixels := lines[0].Len()
	scale := 2
	if pixels*scale > w {
		scale = 1
	}
	if pixels == 0 || pixels*scale > w {
		return nil
	}
	rows := make([]string, bigRows)
	for i := range rows {
		above, below := lines[2*i].String(), strings.Repeat(".", pixels)
		if 2*i+1 < len(lines) {
			below = lines[2*i+1].String()
		}
		var b strings.Builder
		for x := range pixels {
			b.WriteString(strings.Repeat(block(above[x] == '#', below[x] == '#'), scale))
		}
		rows[i] = b.String()
	}
	return rows
}

// block is a cell of two pixels.
func block(above, below bool) string {
	switch {
	case above && below:
		return "█"
	case above:
		return "▀"
	case below:
		return "▄"
	}
	return " "
}

// drawBig draws a headline in the middle of an area: in big words, else in bold ones.
func drawBig(a grid.Area, text string, st grid.Style) {
	rows := big(text, a.W()-4)
	if rows == nil || a.H() < bigRows {
		a.Center(min(a.H()/2, 1), text, st|grid.Bold)
		return
	}
	for i, row := range rows {
		a.Text((a.W()-grid.Width(row))/2, i, row, st)
	}
}
