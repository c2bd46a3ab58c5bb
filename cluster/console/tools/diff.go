package tools

import (
	"errors"
	"fmt"
	"strings"
)

// text is a file as diff reads it.
type text struct {
	name    string
	lines   []string
	keys    []int  // equal ones are of lines that count as equal
	ends    bool   // the last line has a newline
	changed []bool // lines that the other file lacks
}

// diff compares two files line by line: in diff's own format, or with -u unified. Headers have
// no times: they would not be the same in every run.
func diff(u *Use) int {
	set, names, err := grammar{flags: "uqsiwbNraZ", valued: "UL", long: map[string]byte{
		"unified": 'u', "brief": 'q', "report-identical-files": 's', "ignore-case": 'i', "ignore-all-space": 'w', "ignore-space-change": 'b',
		"new-file": 'N', "label": 'L', "color": 1, "text": 'a', "ignore-trailing-space": 'Z',
	}}.parse(u)
	switch {
	case err != nil:
		return usage(u, err)
	case len(names) < 2:
		return usage(u, fmt.Errorf("missing operand after '%s'", u.Args[len(u.Args)-1]))
	case len(names) > 2:
		return usage(u, fmt.Errorf("extra operand '%s'", names[2]))
	case set.has("r"):
		return usage(u, errors.New("-r is not possible here: diff compares two files"))
	}
	around, err := set.number('U', 3)
	if err != nil {
		return usage(u, fmt.Errorf("invalid context length '%s'", set['U'][len(set['U'])-1]))
	}
	var both [2]*text
	for i, name := range names {
		if both[i] = u.textOf(name, set.has("N")); both[i] == nil {
			return 2
		}
	}
	a, b := both[0], both[1]
	intern(set, a, b)
	compare(u, a, b)
	hunks := hunksOf(a, b)
	switch {
	case len(hunks) == 0:
		if set.has("s") {
			fmt.Fprintf(u.Out, "Files %s and %s are identical\n", a.name, b.name)
		}
		return 0
	case set.has("q"):
		fmt.Fprintf(u.Out, "Files %s and %s differ\n", a.name, b.name)
	case set.has("uU"):
		labels := append(set['L'], a.name, b.name)
		if len(set['L']) == 1 {
			labels = []string{set['L'][0], b.name}
		}
		fmt.Fprintf(u.Out, "--- %s\n+++ %s\n", labels[0], labels[1])
		unified(u, a, b, hunks, around)
	default:
		normal(u, a, b, hunks)
	}
	return 1
}

// textOf reads a file; nil if that is not possible, which has then been said.
func (u *Use) textOf(name string, mayLack bool) *text {
	t := &text{name: name, ends: true}
	size := 0
	_, err := u.from(name, func(s *source) bool {
		for {
			line, more := s.line()
			if !more {
				return true
			}
			if size += len(line) + 64; size > MostHeld {
				panic(ending{2, errHeld})
			}
			t.lines, t.ends = append(t.lines, line), s.ends
		}
	})
	if err != nil && !mayLack {
		u.complain(fmt.Errorf("%s: %w", name, because(err)))
		return nil
	}
	t.changed = make([]bool, len(t.lines))
	return t
}

// intern gives lines that count as equal the same number.
func intern(set options, texts ...*text) {
	numbers := map[string]int{}
	for _, t := range texts {
		t.keys = make([]int, len(t.lines))
		for i, line := range t.lines {
			if i == len(t.lines)-1 && !t.ends && !set.has("wbZ") {
				line += "\n\\"
			}
			switch {
			case set.has("w"):
				line = strings.Join(strings.Fields(line), "")
			case set.has("b"):
				line = strings.TrimRight(collapse(line), " ")
			case set.has("Z"):
				line = strings.TrimRight(line, " \t\r")
			}
			if set.has("i") {
				line = strings.ToLower(line)
			}
			n, known := numbers[line]
			if !known {
				n = len(numbers)
				numbers[line] = n
			}
			t.keys[i] = n
		}
	}
}

// collapse makes each run of blanks one.
func collapse(line string) string {
	var out strings.Builder
	blank := false
	for _, r := range line {
		if is := r == ' ' || r == '\t'; is {
			blank = true
			continue
		}
		if blank {
			out.WriteByte(' ')
			blank = false
		}
		out.WriteRune(r)
	}
	if blank {
		out.WriteByte(' ')
	}
	return out.String()
}

// comparison finds the lines that two texts have in common with Myers' algorithm in linear space
// (An O(ND) Difference Algorithm, 1986). Where two texts have too little in common for the work
// that it may do, what is left counts as changed altogether.
type comparison struct {
	u             *Use
	a, b          *text
	work          int
	forward, back []int
}

const mostComparing = 100_000_000

func compare(u *Use, a, b *text) {
	n := len(a.keys) + len(b.keys) + 3
	c := &comparison{u, a, b, mostComparing, make([]int, 2*n), make([]int, 2*n)}
	c.between(0, len(a.keys), 0, len(b.keys))
	slide(a)
	slide(b)
}

// between marks what differs between a[a0:a1] and b[b0:b1].
func (c *comparison) between(a0, a1, b0, b1 int) {
	for a0 < a1 && b0 < b1 && c.a.keys[a0] == c.b.keys[b0] {
		a0, b0 = a0+1, b0+1
	}
	for a0 < a1 && b0 < b1 && c.a.keys[a1-1] == c.b.keys[b1-1] {
		a1, b1 = a1-1, b1-1
	}
	x, y, found := 0, 0, false
	if a0 < a1 && b0 < b1 {
		x, y, found = c.middle(a0, a1, b0, b1)
	}
	if !found {
		for i := a0; i < a1; i++ {
			c.a.changed[i] = true
		}
		for i := b0; i < b1; i++ {
			c.b.changed[i] = true
		}
		return
	}
	c.between(a0, x, b0, y)
	c.between(x, a1, y, b1)
}

// middle is a point on a shortest way from one corner to the other, about half way.
func (c *comparison) middle(a0, a1, b0, b1 int) (x, y int, found bool) {
	n, m := a1-a0, b1-b0
	delta := n - m
	zero := len(c.forward) / 2
	f, r := c.forward, c.back
	f[zero+1], r[zero+1] = 0, 0
	for d := 0; d <= (n+m+1)/2; d++ {
		c.u.mustGoOn()
		if c.work -= 2*d + 1; c.work < 0 {
			return 0, 0, false
		}
		for k := -d; k <= d; k += 2 {
			x := 0
			if k == -d || k != d && f[zero+k-1] < f[zero+k+1] {
				x = f[zero+k+1]
			} else {
				x = f[zero+k-1] + 1
			}
			y := x - k
			from := x
			for x < n && y < m && c.a.keys[a0+x] == c.b.keys[b0+y] {
				x, y = x+1, y+1
			}
			f[zero+k] = x
			if o := delta - k; delta%2 != 0 && o >= -(d-1) && o <= d-1 && x+r[zero+o] >= n {
				return a0 + from, b0 + from - k, !(from == 0 && from-k == 0 && x == n && y == m)
			}
		}
		for k := -d; k <= d; k += 2 {
			x := 0
			if k == -d || k != d && r[zero+k-1] < r[zero+k+1] {
				x = r[zero+k+1]
			} else {
				x = r[zero+k-1] + 1
			}
			y := x - k
			for x < n && y < m && c.a.keys[a1-1-x] == c.b.keys[b1-1-y] {
				x, y = x+1, y+1
			}
			r[zero+k] = x
			if o := delta - k; delta%2 == 0 && o >= -d && o <= d && x+f[zero+o] >= n {
				return a1 - x, b1 - y, true
			}
		}
	}
	return 0, 0, false
}

// slide moves each run of changed lines as far down as it goes: a new entry of a list then
// ends with its own last line, not with that of the one before.
func slide(t *text) {
	for i := 0; i < len(t.changed); {
		if !t.changed[i] {
			i++
			continue
		}
		from := i
		for i < len(t.changed) && t.changed[i] {
			i++
		}
		for i < len(t.changed) && !t.changed[i] && t.keys[from] == t.keys[i] {
			t.changed[from], t.changed[i] = false, true
			from, i = from+1, i+1
			for i < len(t.changed) && t.changed[i] {
				i++
			}
		}
	}
}

// hunk is lines a0 to a1 of one text, which b0 to b1 of the other replace.
type hunk struct{ a0, a1, b0, b1 int }

func hunksOf(a, b *text) (hunks []hunk) {
	for i, j := 0, 0; i < len(a.lines) || j < len(b.lines); {
		h := hunk{i, i, j, j}
		for h.a1 < len(a.lines) && a.changed[h.a1] {
			h.a1++
		}
		for h.b1 < len(b.lines) && b.changed[h.b1] {
			h.b1++
		}
		if h.a1 > i || h.b1 > j {
			hunks = append(hunks, h)
		}
		i, j = h.a1+1, h.b1+1
	}
	return hunks
}

// line prints a line of a text behind a sign.
func (t *text) line(u *Use, sign string, i int) {
	fmt.Fprintln(u.Out, sign+t.lines[i])
	if i == len(t.lines)-1 && !t.ends {
		fmt.Fprintln(u.Out, `\ No newline at end of file`)
	}
}

func normal(u *Use, a, b *text, hunks []hunk) {
	span := func(from, to int) string {
		switch {
		case to == from:
			return fmt.Sprint(from)
		case to == from+1:
			return fmt.Sprint(to)
		}
		return fmt.Sprintf("%d,%d", from+1, to)
	}
	for _, h := range hunks {
		how := "c"
		switch {
		case h.a0 == h.a1:
			how = "a"
		case h.b0 == h.b1:
			how = "d"
		}
		fmt.Fprintln(u.Out, span(h.a0, h.a1)+how+span(h.b0, h.b1))
		for i := h.a0; i < h.a1; i++ {
			a.line(u, "< ", i)
		}
		if how == "c" {
			fmt.Fprintln(u.Out, "---")
		}
		for i := h.b0; i < h.b1; i++ {
			b.line(u, "> ", i)
		}
	}
}

func unified(u *Use, a, b *text, hunks []hunk, around int) {
	around = min(around, len(a.lines)+len(b.lines))
	span := func(from, to int) string {
		switch to - from {
		case 0:
			return fmt.Sprintf("%d,0", from)
		case 1:
			return fmt.Sprint(to)
		}
		return fmt.Sprintf("%d,%d", from+1, to-from)
	}
	for len(hunks) > 0 {
		n := 1
		for n < len(hunks) && hunks[n].a0-hunks[n-1].a1 <= 2*around {
			n++
		}
		group := hunks[:n]
		hunks = hunks[n:]
		before := min(around, group[0].a0)
		from, last := group[0].a0-before, group[n-1]
		after := min(around, len(a.lines)-last.a1)
		fmt.Fprintf(u.Out, "@@ -%s +%s @@\n", span(from, last.a1+after), span(group[0].b0-before, last.b1+after))
		at := from
		for _, h := range group {
			for ; at < h.a0; at++ {
				a.line(u, " ", at)
			}
			for ; at < h.a1; at++ {
				a.line(u, "-", at)
			}
			for i := h.b0; i < h.b1; i++ {
				b.line(u, "+", i)
			}
		}
		for ; at < last.a1+after; at++ {
			a.line(u, " ", at)
		}
	}
}
