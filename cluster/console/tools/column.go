package tools

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// column is util-linux' column: with -t a table, otherwise lines side by side.
func column(u *Use) int {
	set, names, err := grammar{flags: "txnLe", valued: "sonNcRlH", long: map[string]byte{
		"table": 't', "separator": 's', "output-separator": 'o', "fillrows": 'x', "table-columns": 'N', "output-width": 'c', "table-right": 'R',
		"table-columns-limit": 'l', "table-hide": 'H',
	}}.parse(u)
	if err != nil {
		return usage(u, err)
	}
	lines, exit := u.held(names)
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" })
	if set.has("t") {
		table(u, set, lines)
		return exit
	}
	width := u.Columns
	if width == 0 {
		width = 80
	}
	if width, err = set.number('c', width); err != nil {
		return usage(u, err)
	}
	if set.has("NRlH") {
		return usage(u, errors.New("options --table-* are for -t"))
	}
	sideBySide(u, lines, width, set.has("x"))
	return exit
}

// mostCells is how many fields column -t lays out.
const mostCells = 4 << 20

// table lays the fields of lines out in columns.
func table(u *Use, set options, lines []string) {
	seps, own := set.last('s')
	between, given := set.last('o')
	if !given {
		between = "  "
	}
	limit, err := set.number('l', 0)
	if err != nil {
		panic(ending{1, err})
	}
	split := func(line string) []string {
		switch {
		case own:
			return splitAny(line, seps, limit)
		case limit > 0:
			return fieldsN(line, limit)
		}
		return strings.Fields(line)
	}
	var rows [][]string
	if v, given := set.last('N'); given {
		rows = append(rows, strings.Split(v, ","))
	}
	cells := 0
	for _, l := range lines {
		u.mustGoOn()
		row := split(l)
		if cells += len(row); cells > mostCells {
			panic(ending{1, fmt.Errorf("more than %d fields", mostCells)})
		}
		rows = append(rows, row)
	}
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	rights := map[string]bool{}
	if v, given := set.last('R'); given {
		for name := range strings.SplitSeq(v, ",") {
			rights[name] = true
		}
	}
	right := make([]bool, len(widths))
	for i := range right {
		right[i] = rights[fmt.Sprint(i+1)] || set.has("N") && i < len(rows[0]) && rights[rows[0][i]]
	}
	for _, row := range rows {
		var out strings.Builder
		for i := range widths {
			cell := ""
			if i < len(row) {
				cell = row[i]
			}
			pad := strings.Repeat(" ", widths[i]-ansi.StringWidth(cell))
			last := i == len(widths)-1
			switch {
			case right[i]:
				cell = pad + cell
			case !last:
				cell += pad
			}
			out.WriteString(cell)
			if out.Len() > mostLine {
				panic(ending{1, fmt.Errorf("a line has more than %d MiB", mostLine>>20)})
			}
			if !last {
				out.WriteString(between)
			}
		}
		fmt.Fprintln(u.Out, out.String())
	}
}

// splitAny cuts a line at each of some characters; the last of at most limit fields has
// the rest.
func splitAny(line, seps string, limit int) (fields []string) {
	for limit == 0 || len(fields) < limit-1 {
		at := strings.IndexAny(line, seps)
		if at < 0 {
			break
		}
		fields, line = append(fields, line[:at]), line[at+1:]
	}
	return append(fields, line)
}

// fieldsN is strings.Fields; the last of at most n fields has the rest.
func fieldsN(line string, n int) (fields []string) {
	for line = strings.TrimLeft(line, " \t"); line != ""; line = strings.TrimLeft(line, " \t") {
		at := strings.IndexAny(line, " \t")
		if at < 0 || len(fields) == n-1 {
			return append(fields, strings.TrimRight(line, " \t"))
		}
		fields, line = append(fields, line[:at]), line[at:]
	}
	return fields
}

// sideBySide prints lines in columns as wide as a terminal, filled from top to bottom, or with across
// from left to right.
func sideBySide(u *Use, lines []string, width int, across bool) {
	widest := 0
	for _, l := range lines {
		widest = max(widest, ansi.StringWidth(l))
	}
	widest = (widest + 8) / 8 * 8 // to the next tab stop
	columns := max(1, width/widest)
	if widest >= width {
		columns = 1
	}
	rows := (len(lines) + columns - 1) / columns
	for r := range rows {
		u.mustGoOn()
		var out strings.Builder
		at := 0
		for c := range columns {
			i := c*rows + r
			if across {
				i = r*columns + c
			}
			if i >= len(lines) {
				break
			}
			for at < c*widest {
				out.WriteByte('\t')
				at = (at/8 + 1) * 8
			}
			out.WriteString(lines[i])
			at += ansi.StringWidth(lines[i])
		}
		fmt.Fprintln(u.Out, out.String())
	}
}
