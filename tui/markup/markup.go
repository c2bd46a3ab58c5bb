// Package markup draws the texts of lessons: `code` and **bold**.
package markup

import (
	"strings"

	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Lines breaks marked-up text into lines of w columns as they are seen.
func Lines(s string, w int) []string { return carried(grid.LinesBy(s, w, seen)) }

// seen is how wide a text is without the marks of [Line].
func seen(s string) int { return grid.Width(marks.Replace(s)) }

var marks = strings.NewReplacer("**", "", "`", "")

// carried closes **bold** and `code` at the end of a line and opens them again
// on the next, where breaking the text has cut them.
func carried(lines []string) []string {
	open := ""
	for i, line := range lines {
		line = open + line
		if line == open { // the end of a paragraph ends them too
			lines[i], open = "", ""
			continue
		}
		open = ""
		for _, mark := range []string{"**", "`"} {
			if strings.Count(line, mark)%2 == 1 {
				line += mark
				open += mark
			}
		}
		lines[i] = line
	}
	return lines
}

// Line turns `code` and **bold** of one line into spans.
func Line(line string, st grid.Style) []grid.Span {
	var row []grid.Span
	for line != "" {
		i := strings.IndexAny(line, "`*")
		if i < 0 {
			break
		}
		mark := line[i : i+1]
		style := theme.Name | grid.Bold
		if mark == "*" {
			if !strings.HasPrefix(line[i:], "**") {
				row = append(row, grid.Span{Text: line[:i+1], Style: st})
				line = line[i+1:]
				continue
			}
			mark, style = "**", st|grid.Bold
		}
		end := strings.Index(line[i+len(mark):], mark)
		if end < 0 {
			break
		}
		row = append(row, grid.Span{Text: line[:i], Style: st},
			grid.Span{Text: line[i+len(mark) : i+len(mark)+end], Style: style})
		line = line[i+2*len(mark)+end:]
	}
	return append(row, grid.Span{Text: line, Style: st})
}
