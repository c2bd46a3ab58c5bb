package console

import (
	"strings"

	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Draw draws the drawer and gives the cursor's place on the grid. Without a prompt all its
// rows are for what was printed.
func (c *Console) Draw(a grid.Area, focused, prompt, waits bool) (x, y int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	line, name := theme.Line, theme.Muted
	if focused {
		line, name = theme.Accent, theme.Title
	}
	title := []grid.Span{{Text: ": ", Style: theme.Key}, {Text: "Console", Style: name}}
	switch {
	case c.front != nil && waits:
		title = append(title, grid.Span{Text: " · waits: the cluster stands (esc, then space or .)", Style: theme.Warn})
	case c.front != nil:
		title = append(title, grid.Span{Text: " · running " + grid.Cut(c.front.line, 40), Style: theme.Busy})
	}
	if len(c.jobs) > 0 {
		title = append(title, grid.Span{Text: " · background " + c.names(), Style: theme.Busy})
	}
	in := a.Frame(title, line)
	prompt = prompt || c.line.String() != ""
	h := in.H()
	if prompt {
		h--
	}
	if c.hint != "" {
		h--
		in.Fit(1, h, in.W()-2, c.hint, theme.Muted)
	}
	rows := wrapped(c.rows, in.W()-2, h+c.top)
	end := max(len(rows)-c.top, min(h, len(rows)))
	from := max(end-h, 0)
	for i := from; i < end; i++ {
		x := in.Text(1, i-from, rows[i].mark, theme.Key)
		in.Text(x, i-from, rows[i].text, rows[i].style)
	}
	if !prompt {
		return in.R.X + 1, in.R.Y
	}
	px := 1
	py := min(end-from, h)
	if c.hint != "" {
		py = in.H() - 1
	}
	px = in.Text(px, py, "$ ", theme.Accent)
	cx := c.line.Draw(in, px, py, in.W()-px-1, theme.Text)
	return in.R.X + cx, in.R.Y + py
}

// enough is more rows than any screen has for the drawer.
const enough = 200

// need is how many rows of so many columns, frame included, show the newest command, what it
// has printed, and the prompt.
func (c *Console) need(columns int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.top > 0 { // somebody reads back
		return enough
	}
	n := 3
	if c.hint != "" {
		n++
	}
	for i := len(c.rows) - 1; i >= 0 && n < enough; i-- {
		n += len(c.rows[i].parts(columns - 4))
		if c.rows[i].asked {
			return n
		}
	}
	return 0 // nothing was asked for
}

// wrapped breaks the last rows into rows of w columns, enough for n.
func wrapped(rows []*row, w, n int) []row {
	var out []row
	for i := len(rows) - 1; i >= 0 && len(out) < n; i-- {
		mark := rows[i].mark
		parts := rows[i].parts(w)
		for j := len(parts) - 1; j >= 0; j-- {
			if j > 0 { // what goes on below stands below
				out = append(out, row{mark: strings.Repeat(" ", grid.Width(mark)), text: parts[j], style: rows[i].style})
				continue
			}
			out = append(out, row{mark: mark, text: parts[j], style: rows[i].style})
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// parts are the lines of a row in w columns, its mark included.
func (r *row) parts(w int) []string { return broken(r.text, w-grid.Width(r.mark)) }

// broken breaks a line between words, where a word is not longer than the line. What stands
// between words stays as it is: it may be a table.
func broken(s string, w int) []string {
	if w < 1 || grid.Width(s) <= w {
		return []string{s}
	}
	var out []string
	rs := []rune(s)
	for grid.Width(string(rs)) > w {
		n := min(w, len(rs))
		for n > 1 && grid.Width(string(rs[:n])) > w {
			n--
		}
		at := n
		for at > 0 && rs[at] != ' ' {
			at--
		}
		if strings.TrimSpace(string(rs[:at])) == "" { // nothing but one long word
			at = n
		}
		out = append(out, strings.TrimRight(string(rs[:at]), " "))
		rs = []rune(strings.TrimLeft(string(rs[at:]), " "))
	}
	if len(rs) > 0 {
		out = append(out, string(rs))
	}
	return out
}
