package grid

// Frame draws a box round the area with a title in its upper edge and gives
// the area inside. line is the style of the lines.
func (a Area) Frame(title []Span, line Style) Area {
	w, h := a.R.W, a.R.H
	if w < 2 || h < 2 {
		return a.Sub(0, 0, 0, 0)
	}
	for x := 1; x < w-1; x++ {
		a.Put(x, 0, '─', line)
		a.Put(x, h-1, '─', line)
	}
	for y := 1; y < h-1; y++ {
		a.Put(0, y, '│', line)
		a.Put(w-1, y, '│', line)
	}
	a.Put(0, 0, '╭', line)
	a.Put(w-1, 0, '╮', line)
	a.Put(0, h-1, '╰', line)
	a.Put(w-1, h-1, '╯', line)
	if len(title) > 0 && w > 6 {
		head := a.Sub(2, 0, w-4, 1)
		head.Put(0, 0, ' ', line)
		x := 1
		for _, s := range title {
			x = head.Fit(x, 0, w-6-x, s.Text, s.Style)
		}
		head.Put(x, 0, ' ', line)
	}
	return a.Sub(1, 1, w-2, h-2)
}

// HLine draws a horizontal line over row y.
func (a Area) HLine(x, y, w int, s Style) {
	for i := 0; i < w; i++ {
		a.Put(x+i, y, '─', s)
	}
}

// VLine draws a vertical line.
func (a Area) VLine(x, y, h int, s Style) {
	for i := 0; i < h; i++ {
		a.Put(x, y+i, '│', s)
	}
}

// Bar draws a horizontal bar of w columns filled to part of whole.
func (a Area) Bar(x, y, w int, part, whole float64, on, off Style) {
	n := 0
	if whole > 0 {
		n = int(part/whole*float64(w) + 0.5)
	}
	if part > 0 && n == 0 {
		n = 1
	}
	n = max(0, min(n, w))
	for i := 0; i < w; i++ {
		if i < n {
			a.Put(x+i, y, '▓', on)
		} else {
			a.Put(x+i, y, '░', off)
		}
	}
}

var sparks = []rune("▁▂▃▄▅▆▇█")

// Spark draws values as a row of blocks of rising height, newest at the right
// end of w columns: the lowest block is zero, and a full one is at least seven,
// so that one or two do not look like many.
func (a Area) Spark(x, y, w int, values []int, s Style) {
	if len(values) > w {
		values = values[len(values)-w:]
	}
	x += w - len(values)
	top := len(sparks) - 1
	for _, v := range values {
		top = max(top, v)
	}
	for i, v := range values {
		a.Put(x+i, y, Level(v, top), s)
	}
}

// Level is a block as high as n is beside most: never none for what is more than
// nothing.
func Level(n, most int) rune {
	if n <= 0 || most <= 0 {
		return sparks[0]
	}
	return sparks[max(min(n*(len(sparks)-1)/most, len(sparks)-1), 1)]
}

// Scroll draws a scroll bar in the column x over h rows, for a list of total
// rows of which those from top on are seen.
func (a Area) Scroll(x, y, h, top, total int, s Style) {
	if total <= h || h < 2 {
		return
	}
	size := max(1, h*h/total)
	at := (h - size) * top / max(1, total-h)
	for i := 0; i < size; i++ {
		a.Put(x, y+min(at+i, h-1), '┃', s)
	}
}
