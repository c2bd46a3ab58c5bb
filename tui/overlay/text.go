package overlay

import (
	"strings"

	"kviz/tui/grid"
)

// Lines breaks a text into lines of w columns, but never of very few.
func Lines(s string, w int) []string { return grid.Lines(s, max(w, 10)) }

// Padded is a text with spaces behind it, w columns wide or as wide as it is.
func Padded(s string, w int) string {
	if grid.Width(s) >= w {
		return s
	}
	return grid.Pad(s, w)
}

// FirstSentence is a text up to the end of its first sentence.
func FirstSentence(s string) string {
	first, _, more := strings.Cut(s, ". ")
	if more {
		return first + "."
	}
	return s
}
