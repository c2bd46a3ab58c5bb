package grid

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// clean gives the rune to draw and its width in columns. Only what every
// terminal agrees on is let through: control characters become a dot, marks
// of zero width vanish, emoji (whose width terminals dispute) become a box.
func clean(r rune) (rune, int) {
	switch {
	case r == '\t':
		return ' ', 1
	case r >= 0x20 && r < 0x7f:
		return r, 1
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return '·', 1
	case r == 0xad || r == 0xfffd:
		return '·', 1
	case r < 0x300:
		return r, 1
	case r >= 0x2010 && r < 0x20d0 || r >= 0x2100 && r < 0x2ce0 && !emojiLow(r):
		// Lines, boxes, arrows, signs: most of what the explorer draws.
		if r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f {
			return 0, 0
		}
		return r, 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0, 0
	case wide(r) && ansi.StringWidth(string(r)) == 2:
		return r, 2
	case r >= 0x1f000 && r < 0x20000 || emojiLow(r) || r >= 0xe000 && r < 0xf900:
		return '▯', 1
	case !unicode.IsPrint(r):
		return '·', 1
	case wide(r) || ansi.StringWidth(string(r)) != 1: // terminals disagree
		return '▯', 1
	}
	return r, 1
}

// emojiLow are the runes below U+2E80 that terminals draw two columns wide.
func emojiLow(r rune) bool {
	switch r {
	case 0x231a, 0x231b, 0x23e9, 0x23ea, 0x23eb, 0x23ec, 0x23f0, 0x23f3, 0x25fd, 0x25fe, 0x2614, 0x2615,
		0x267f, 0x2693, 0x26a1, 0x26aa, 0x26ab, 0x26bd, 0x26be, 0x26c4, 0x26c5, 0x26ce, 0x26d4, 0x26ea,
		0x26f2, 0x26f3, 0x26f5, 0x26fa, 0x26fd, 0x2705, 0x270a, 0x270b, 0x2728, 0x274c, 0x274e, 0x2753,
		0x2754, 0x2755, 0x2757, 0x2795, 0x2796, 0x2797, 0x27b0, 0x27bf, 0x2b1b, 0x2b1c, 0x2b50, 0x2b55:
		return true
	}
	return r >= 0x2648 && r <= 0x2653 || r == 0x2329 || r == 0x232a ||
		r >= 0x2630 && r <= 0x2637 || r >= 0x268a && r <= 0x268f // Yijing signs, since Unicode 16
}

func wide(r rune) bool {
	return r >= 0x1100 && r <= 0x115f || r >= 0x2e80 && r <= 0x303e || r >= 0x3041 && r <= 0xa4cf ||
		r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f ||
		r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 || r >= 0x20000 && r <= 0x3fffd
}

// Clean is s as the grid draws it.
func Clean(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r, w := clean(r); w > 0 {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Width is the number of columns s takes.
func Width(s string) int {
	n := 0
	for _, r := range s {
		if r >= 0x20 && r < 0x7f {
			n++
			continue
		}
		_, w := clean(r)
		n += w
	}
	return n
}

// Cut shortens s to w columns; a cut is marked with "…".
func Cut(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if len(s) <= w || Width(s) <= w {
		return s
	}
	n := 0
	for i, r := range s {
		_, rw := clean(r)
		if n+rw > w-1 {
			return s[:i] + "…"
		}
		n += rw
	}
	return s
}

// CutLeft shortens s to w columns from the left: "…b9d-x2k".
func CutLeft(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if Width(s) <= w {
		return s
	}
	rs := []rune(s)
	for len(rs) > 0 && Width(string(rs)) > w-1 {
		rs = rs[1:]
	}
	return "…" + string(rs)
}

// Pad is s cut or filled with blanks to w columns.
func Pad(s string, w int) string {
	s = Cut(s, w)
	if n := w - Width(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// PadLeft is s cut or filled with blanks on the left.
func PadLeft(s string, w int) string {
	s = Cut(s, w)
	if n := w - Width(s); n > 0 {
		return strings.Repeat(" ", n) + s
	}
	return s
}

// Lines breaks s at spaces and newlines into lines of at most w columns.
func Lines(s string, w int) []string { return LinesBy(s, w, Width) }

// LinesBy is [Lines] where a text is as wide as width says: of marked-up text,
// what is seen of it.
func LinesBy(s string, w int, width func(string) int) []string {
	if w <= 0 {
		return nil
	}
	var out []string
	for _, para := range strings.Split(s, "\n") {
		line := ""
		for _, word := range strings.Fields(para) {
			for width(word) > w {
				if line != "" {
					out, line = append(out, line), ""
				}
				head := cutHard(word, w)
				out, word = append(out, head), word[len(head):]
			}
			switch {
			case line == "":
				line = word
			case width(line)+1+width(word) <= w:
				line += " " + word
			default:
				out, line = append(out, line), word
			}
		}
		out = append(out, line)
	}
	return out
}

func cutHard(s string, w int) string {
	n := 0
	for i, r := range s {
		_, rw := clean(r)
		if n+rw > w && i > 0 {
			return s[:i]
		}
		n += rw
	}
	return s
}
