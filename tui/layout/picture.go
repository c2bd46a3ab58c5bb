package layout

import (
	"slices"

	"kviz/tui/grid"
)

// picture is the name of the first arrangement.
const picture = "picture"

// Rows that the picture of the cluster needs with its frame: in the form that fits above
// another pane, which needs belowRows, and, tabs included, in its smallest.
const (
	smallRows    = 17
	belowRows    = 13
	picturedRows = 12
)

// fourW and fourH are how much room four parts need.
const (
	fourW = 165
	fourH = 42
)

// pictured reports whether the picture of the cluster has the panes' place to itself. A
// lesson that names panes has them shown as everywhere else.
func pictured(in In) bool {
	return Presets[preset(in)].Name == picture && !in.Zoom && !in.Twice && len(in.Order) == 0
}

// pictureSlots shows the picture alone, another pane that has the focus below it, and where
// there is room for all of it four parts.
func pictureSlots(in In, body grid.Rect) []Slot {
	order := Order(in)
	first := order[0]
	switch {
	case body.W >= fourW && body.H >= fourH:
		w, h := body.W*3/5, body.H*2/3
		at := []grid.Rect{
			{X: body.X, Y: body.Y, W: w, H: h},
			{X: body.X + w, Y: body.Y, W: body.W - w, H: h},
			{X: body.X, Y: body.Y + h, W: body.W / 2, H: body.H - h},
			{X: body.X + body.W/2, Y: body.Y + h, W: body.W - body.W/2, H: body.H - h},
		}
		var out []Slot
		for i, name := range chosen(order, in.Focus, len(at)) {
			out = append(out, Slot{Pane: name, Rect: at[i]})
		}
		return out
	case in.Focus == first:
		return []Slot{{Pane: first, Rect: body}}
	case body.H >= smallRows+belowRows, in.Console > 0 && body.H >= pictureKeeps+belowRows:
		h := min(smallRows, body.H-belowRows)
		return []Slot{
			{Pane: first, Rect: grid.Rect{X: body.X, Y: body.Y, W: body.W, H: h}},
			{Pane: in.Focus, Rect: grid.Rect{X: body.X, Y: body.Y + h, W: body.W, H: body.H - h}},
		}
	}
	return []Slot{{Pane: in.Focus, Rect: body}}
}

// fullW and fullRows are what the largest form of the picture needs, frame included.
const (
	fullW    = 115
	fullRows = 30
)

// under is how many rows of the console lie over the picture: where it would lose its largest form by giving way, its foot
// and its Services are covered instead.
func under(picture, console grid.Rect) int {
	if console.Empty() || picture.W < fullW || picture.H >= fullRows || picture.H+console.H < fullRows {
		return 0
	}
	return console.H
}

// Pictured reports whether an arrangement is the one that shows the picture.
func Pictured(preset int) bool {
	return slices.IndexFunc(Presets, func(p Preset) bool { return p.Name == picture }) == preset
}

// menuRect gives the menu that stands beside the panes a column on the right, or the lower
// part where the screen is narrow, so that the picture has its smallest form above it.
func menuRect(in In, body grid.Rect) (rest, menu grid.Rect) {
	switch {
	case !in.Menu:
		return body, grid.Rect{}
	case in.W >= beside:
		w := min(max(in.W/3, 40), 64)
		return grid.Rect{X: body.X, Y: body.Y, W: body.W - w, H: body.H},
			grid.Rect{X: body.X + body.W - w, Y: body.Y, W: w, H: body.H}
	}
	h := min(max(body.H-picturedRows+1, 5), body.H-4)
	return grid.Rect{X: body.X, Y: body.Y, W: body.W, H: body.H - h},
		grid.Rect{X: body.X, Y: body.Y + body.H - h, W: body.W, H: h}
}
