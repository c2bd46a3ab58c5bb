package tui

import (
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/overlay"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// eventPage shows one event whole: its words, its glossary entry, its payload.
func (m *Explorer) eventPage(id trace.ID) overlay.Overlay {
	e := m.hist.Event(id)
	text := payload(e)
	return &overlay.Page{Title: "Event #" + id.String(), Copy: text, Rows: func(w int) []overlay.Row {
		var rows []overlay.Row
		para := func(label, s string, st grid.Style) {
			for i, l := range linesOf(s, w-11) {
				if i > 0 {
					label = ""
				}
				rows = append(rows, overlay.Row{{Text: padded(label, 11), Style: theme.Muted}, {Text: l, Style: st}})
			}
		}
		para("", view.Explain(e), theme.Text)
		rows = append(rows, nil)
		para("kind", string(e.Kind), theme.Name)
		para("lane", e.Lane.String(), theme.Text)
		para("time", words.Clock(e.At), theme.Text)
		if o := e.Object.String(); o != "" {
			para("object", o, theme.Name)
		}
		var causes []string
		for _, c := range e.Causes {
			causes = append(causes, "#"+c.String())
		}
		if len(causes) > 0 {
			para("causes", strings.Join(causes, " "), theme.Event)
		}
		in := e.Kind.Info()
		para("means", in.Means, theme.Text)
		para("look at", in.Look, theme.Text)
		para("real code", in.Source, theme.Text)
		rows = append(rows, nil)
		for _, l := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
			rows = append(rows, overlay.Row{{Text: l, Style: theme.Muted}})
		}
		return rows
	}}
}

func payload(e *trace.Event) string {
	if e == nil || e.Payload == nil {
		return ""
	}
	raw, err := json.Marshal(e.Payload)
	if err != nil {
		return fmt.Sprintf("(%v)", err)
	}
	out, err := yaml.JSONToYAML(raw)
	if err != nil {
		return string(raw)
	}
	return string(out)
}

func linesOf(s string, w int) []string { return grid.Lines(s, max(w, 10)) }

func padded(s string, w int) string {
	if grid.Width(s) >= w {
		return s
	}
	return grid.Pad(s, w)
}
