package menu

import (
	"kviz/cluster/glossary"
	"kviz/cluster/trace"
	"kviz/tui/action"
	"kviz/tui/keymap"
	"kviz/tui/overlay"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// Glossary lists the concepts, then every kind of event, the cursor on one of these, and
// after them the panes with their signs.
func Glossary(at trace.Kind, panes []pane.Info) overlay.Overlay {
	p := &overlay.Picker{Title: "Glossary", Search: true, Wide: true}
	selected := -1
	keys := map[string]string{}
	for i, info := range panes {
		keys[info.Name] = keymap.PaneKey(i)
	}
	for _, c := range glossary.Concepts {
		p.Items = append(p.Items, overlay.Item{
			Label: overlay.Padded(c.Word, 18), Note: c.Means, Style: theme.Title,
			Detail: c.Means + "\nSee it in the pane " + c.Pane + " (enter, or " + keys[c.Pane] + "): " + c.Look + ".", Do: action.Focus{Pane: c.Pane},
		})
	}
	for _, k := range trace.Kinds() {
		p.Items = append(p.Items, overlay.Item{
			Label: overlay.Padded(string(k.Kind), 18), Note: k.Means, Style: theme.Name,
			Detail: k.Means + "\nLook at: " + k.Look + "\nIn the real thing: " + k.Source,
		})
		if k.Kind == at {
			selected = len(p.Items) - 1
		}
	}
	for _, info := range panes {
		p.Items = append(p.Items, overlay.Item{Label: overlay.Padded("the pane "+info.Name, 18), Note: overlay.FirstSentence(info.Means), Style: theme.Title, Detail: info.Means, Do: action.Focus{Pane: info.Name}})
		for _, l := range info.Legend {
			p.Items = append(p.Items, overlay.Item{Label: overlay.Padded(l[0], 16), Indent: 2, Note: l[1], Style: theme.Name, Detail: "In the pane " + info.Name + ": " + l[1] + "."})
		}
	}
	if selected >= 0 {
		p.Select(selected)
	}
	return p
}
