package layout

import "kviz/tui/grid"

// Rest is how many rows the console's drawer has at rest, frame included: the prompt, and a
// line of what was printed last.
const Rest = 4

// Rows that a pane and the picture of the cluster keep while the drawer is open.
const (
	paneKeeps    = 7
	pictureKeeps = 11
)

// consoleRect is the drawer's place below the panes. It gets the rows that it asks for, as
// long as no pane has to go for it and the picture of the cluster is not squeezed.
func consoleRect(in In, body grid.Rect, rows int) (rest, console grid.Rect) {
	if in.Console == 0 {
		return body, grid.Rect{}
	}
	h := max(min(in.Console, consoleMost(in, body, rows)), min(Rest, body.H-4))
	return grid.Rect{X: body.X, Y: body.Y, W: body.W, H: body.H - h},
		grid.Rect{X: body.X, Y: body.Y + body.H - h, W: body.W, H: h}
}

// consoleMost is how far the drawer may grow over so many rows of panes.
func consoleMost(in In, body grid.Rect, rows int) int {
	most := min(body.H/2, body.H-1-rows*paneKeeps)
	switch {
	case !pictured(in):
		return most
	case body.W >= fourW && body.H-1 >= fourH:
		return min(most, body.H-1-fourH)
	case in.Focus == Order(in)[0] && body.H-1-smallRows >= 2*Rest:
		return min(most, body.H-1-smallRows)
	case in.Focus == Order(in)[0]:
		return min(most, body.H-1-pictureKeeps)
	case body.H-1 >= smallRows+belowRows:
		return min(most, body.H-1-pictureKeeps-belowRows)
	}
	return most
}
