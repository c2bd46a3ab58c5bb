package scene

// The glyphs of a cell by its arms. An arm alone is drawn as the line it belongs to.
var (
	light  = [16]rune{' ', '│', '─', '╰', '│', '│', '╭', '├', '─', '╯', '─', '┴', '╮', '┤', '┬', '┼'}
	heavy  = [16]rune{' ', '┃', '━', '┗', '┃', '┃', '┏', '┣', '━', '┛', '━', '┻', '┓', '┫', '┳', '╋'}
	broken = [16]rune{' ', '╎', '╌', '└', '╎', '╎', '┌', '├', '╌', '┘', '╌', '┴', '┐', '┤', '┬', '┼'}
	dotted = [16]rune{' ', '┆', '┄', '╰', '┆', '┆', '╭', '├', '┄', '╯', '┄', '┴', '╮', '┤', '┬', '┼'}
)

// weight is how a cell's line is drawn; where two meet, the greater one.
type weight uint8

const (
	selects weight = iota // ┄
	thin                  // ─
	dashed                // ╌
	thick                 // ━
)

func glyph(a Arms, w weight) rune {
	switch w {
	case selects:
		return dotted[a&15]
	case dashed:
		return broken[a&15]
	case thick:
		return heavy[a&15]
	}
	return light[a&15]
}

// arrow is what stands at the end of a way that something came along.
func arrow(a Arms) rune {
	switch {
	case a&West != 0:
		return '▶'
	case a&East != 0:
		return '◀'
	case a&North != 0:
		return '▼'
	}
	return '▲'
}
