package menu

import (
	"kviz/cluster/trace"
	"kviz/tui/action"
	"kviz/tui/keymap"
	"kviz/tui/overlay"
	"kviz/tui/pane"
	"kviz/tui/timeline"
)

// Jump lists what can have the focus, and the marks of the timeline.
func Jump(panes []pane.Info, marks []timeline.Mark, stream *trace.Stream) overlay.Overlay {
	p := &overlay.Picker{Title: "Jump to", Search: true}
	for i, info := range panes {
		p.Items = append(p.Items, overlay.Item{
			Label: overlay.Padded(keymap.PaneKey(i), 1) + " " + info.Title, Note: overlay.FirstSentence(info.Means), Do: action.Focus{Pane: info.Name},
		})
	}
	p.Items = append(p.Items, overlay.Item{Label: "Console", Key: ":", Do: action.Key(keymap.Console)})
	for _, k := range marks {
		if e := stream.Get(k.Pos); e != nil {
			p.Items = append(p.Items, overlay.Item{Label: string(k.Glyph) + " #" + e.ID.String(), Note: k.Words, Style: k.Style, Do: action.Goto{ID: e.ID}})
		}
	}
	return p
}
