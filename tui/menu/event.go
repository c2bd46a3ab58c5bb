package menu

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

// Event shows one event whole: its words, its glossary entry, its payload. It is nil
// where there is no such event.
func Event(e *trace.Event) overlay.Overlay {
	if e == nil {
		return nil
	}
	text := payload(e)
	return &overlay.Page{Title: "Event #" + e.ID.String(), Copy: text, Rows: func(w int) []overlay.Row {
		var rows []overlay.Row
		para := func(label, s string, st grid.Style) {
			for i, l := range overlay.Lines(s, w-11) {
				if i > 0 {
					label = ""
				}
				rows = append(rows, overlay.Row{{Text: overlay.Padded(label, 11), Style: theme.Muted}, {Text: l, Style: st}})
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
