package theme

import "kviz/tui/grid"

var emphasised = map[grid.Style]bool{Accent: true, Title: true, Key: true}

var dark = palette{
	roles: [Roles]uint32{
		Text: 0xd8dee9, Muted: 0x8b95a7, Line: 0x4a5467, Accent: 0x7cc7f5, Title: 0xe6ebf3, Key: 0xf0e442,
		Good: 0x56b4e9, Warn: 0xe69f00, Bad: 0xff7a3d, Busy: 0xf0e442, Added: 0x2cc295, Removed: 0xff7a3d,
		Name: 0xb9d7f0, Number: 0xf2dfa7, Event: 0xd9a3c4, Cause: 0xd98fbb, Past: 0xe69f00,
		Term0: 0x56b4e9, Term1: 0xe69f00, Term2: 0x2cc295, Term3: 0xd98fbb, Term4: 0xf0e442, Term5: 0x8fa3ff,
		Shadow: 0x4f596b,
	},
	selected: 0x2b3b52, fresh: 0x23314a, bold: emphasised,
}

var light = palette{
	roles: [Roles]uint32{
		Text: 0x1f2429, Muted: 0x5b6470, Line: 0xb4bcc6, Accent: 0x005a9c, Title: 0x14181d, Key: 0x7a4300,
		Good: 0x0067a8, Warn: 0x8f5400, Bad: 0xb13c00, Busy: 0x6b5d00, Added: 0x00684c, Removed: 0xb13c00,
		Name: 0x1b3f66, Number: 0x5c4200, Event: 0x8a3a70, Cause: 0x8a3a70, Past: 0x8f5400,
		Term0: 0x0067a8, Term1: 0x8f5400, Term2: 0x00684c, Term3: 0x8a3a70, Term4: 0x6b5d00, Term5: 0x3c43a8,
		Shadow: 0xa3acb8,
	},
	selected: 0xd3e5f7, fresh: 0xe6eef7, bold: emphasised,
}

// ansi are the 16-colour codes: the user's own palette decides their looks.
var ansi = [Roles]string{
	Text: "", Muted: "37", Line: "90", Accent: "96", Title: "97", Key: "93",
	Good: "94", Warn: "33", Bad: "91", Busy: "93", Added: "32", Removed: "31",
	Name: "36", Number: "37", Event: "95", Cause: "35", Past: "33",
	Term0: "94", Term1: "33", Term2: "32", Term3: "95", Term4: "93", Term5: "36",
	Shadow: "90",
}

func sixteen(s grid.Style) []string {
	role := grid.Style(s.Role())
	p := attrs(s)
	if emphasised[role] {
		p = append(p, "1")
	}
	if s.Has(grid.Selected) && !s.Has(grid.Reverse) {
		return append(p, "7")
	}
	if s.Has(grid.Fresh) && !s.Has(grid.Underline) {
		p = append(p, "4")
	}
	if role < Roles && ansi[role] != "" {
		p = append(p, ansi[role])
	}
	return p
}

// plain uses weight, underline and reverse only.
func plain(s grid.Style) []string {
	p := attrs(s)
	switch grid.Style(s.Role()) {
	case Accent, Title, Key, Bad, Removed, Added:
		if !s.Has(grid.Bold) {
			p = append(p, "1")
		}
	case Line, Muted, Shadow:
		if !s.Has(grid.Faint) {
			p = append(p, "2")
		}
	}
	if s.Has(grid.Selected) && !s.Has(grid.Reverse) {
		p = append(p, "7")
	}
	if s.Has(grid.Fresh) && !s.Has(grid.Underline) {
		p = append(p, "4")
	}
	return p
}
