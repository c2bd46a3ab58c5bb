package tui

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/layout"
	"kviz/tui/overlay"
	"kviz/tui/theme"
)

func (m *Explorer) startScreen() overlay.Overlay {
	items := []overlay.Item{
		{Label: padded("Explore", 10), Note: "watch the cluster, pause it, step, break it, ask why", Value: explore{}},
	}
	if m.cfg.Lessons != nil {
		done, all := 0, m.cfg.Lessons.List()
		for _, l := range all {
			if l.Done {
				done++
			}
		}
		items = append(items, overlay.Item{Label: padded("Lessons", 10), Note: fmt.Sprintf("learn by doing, step by step (%d of %d done)", done, len(all)), Stay: true, Value: lessonList{}})
	}
	if len(m.cfg.Scenarios) > 0 {
		items = append(items, overlay.Item{Label: padded("Scenarios", 10), Note: "set a scene and see what comes of it", Stay: true, Value: scenarios{}})
	}
	if m.cfg.Recordings != nil {
		items = append(items, overlay.Item{Label: padded("Recording", 10), Note: "open a run that was saved, and go back and forth in it", Stay: true, Value: recordings{}})
	}
	items = append(items,
		overlay.Item{Label: padded("Keys", 10), Note: "what can be pressed", Key: "?", Stay: true, Value: doAction(keymap.Help)},
		overlay.Item{Label: padded("Quit", 10), Note: "leave; nothing is kept unless a flag said so", Key: "q", Value: doAction(keymap.Quit)})
	return &overlay.Picker{
		Title: "kviz · a debugger for Kubernetes", Items: items,
		Intro: "A whole cluster runs in this program: a replicated store, a control plane, nodes, a service network. Everything that happens in it is an event you can stop at.",
	}
}

func (m *Explorer) palette() overlay.Overlay {
	p := &overlay.Picker{Title: "Do anything", Search: true}
	for _, b := range m.host().Pane.Info().Keys {
		p.Items = append(p.Items, overlay.Item{Label: b.Words(), Note: b.Means, Key: b.Labels(), Value: paneAction(b.Action)})
	}
	for _, b := range m.keys.All() {
		if strings.HasPrefix(b.Action, "move.") || strings.HasPrefix(b.Action, "view.pane-") || b.Action == keymap.Palette {
			continue
		}
		p.Items = append(p.Items, overlay.Item{Label: b.Words(), Note: b.Means, Key: b.Labels(), Value: doAction(b.Action)})
	}
	for i, h := range m.panes {
		info := h.Pane.Info()
		p.Items = append(p.Items, overlay.Item{Label: "pane " + info.Name, Note: info.Title, Key: fmt.Sprint(i + 1), Value: focusPane(i + 1)})
	}
	for i, l := range layout.Presets {
		p.Items = append(p.Items, overlay.Item{Label: "layout " + l.Name, Note: l.Means, Value: setLayout(i)})
	}
	for _, t := range theme.Names() {
		p.Items = append(p.Items, overlay.Item{Label: "theme " + t, Value: useTheme(t)})
	}
	for _, s := range m.cfg.Scenarios {
		p.Items = append(p.Items, overlay.Item{Label: "scenario " + s.Name, Note: s.Means, Value: runLine(s.Line)})
	}
	if m.cfg.Recordings != nil {
		p.Items = append(p.Items, overlay.Item{Label: "open a recording", Note: "leave this cluster and watch a run that was saved", Value: recordings{}})
	}
	if m.lessonLook.Active {
		for _, a := range [][2]string{
			{"next", "go on to the next step"},
			{"hint", "a hint for where you stand"},
			{"back", "back to the step before"},
			{"restart", "begin again"},
			{"leave", "leave it, and put everything back"},
			{"text.notes", "the notes for who teaches"},
		} {
			p.Items = append(p.Items, overlay.Item{Label: "lesson: " + strings.TrimPrefix(a[0], "text."), Note: a[1], Value: lessonAction(a[0])})
		}
		for i, c := range m.lessonLook.Choices {
			if m.asks() {
				p.Items = append(p.Items, overlay.Item{Label: fmt.Sprintf("lesson: answer %d", i+1), Note: c.Text, Value: lessonAction(fmt.Sprintf("answer %d", i+1))})
			}
		}
	}
	if m.cfg.Lessons != nil {
		for _, l := range m.cfg.Lessons.List() {
			p.Items = append(p.Items, overlay.Item{Label: "lesson " + l.Title, Note: l.Teaches, Value: beginLesson(l.ID)})
		}
	}
	return p
}

// help is the page about the focused pane and all keys.
func (m *Explorer) help() overlay.Overlay {
	info := m.host().Pane.Info()
	return &overlay.Page{Title: fmt.Sprintf("Help · %d %s", info.Number, info.Title), Rows: func(w int) []overlay.Row {
		var rows []overlay.Row
		for _, l := range linesOf(info.Means, w) {
			rows = append(rows, overlay.Row{{Text: l}})
		}
		rows = append(rows, nil)
		for _, l := range info.Legend {
			rows = append(rows, hanging(l[0], 10, theme.Name, l[1], w)...)
		}
		if len(info.Legend) > 0 {
			rows = append(rows, nil)
		}
		if len(info.Keys) > 0 {
			rows = append(rows, overlay.Row{{Text: "Keys of this pane", Style: theme.Title}})
			for _, b := range info.Keys {
				rows = append(rows, keyRow(b, w)...)
			}
		}
		headings := [][2]string{
			{"clock", "The clock"},
			{"time", "Going through time"},
			{"ask", "Asking"},
			{"do", "Doing"},
			{"find", "Finding"},
			{"view", "The screen"},
			{"move", "Moving"},
			{"go", "Leaving"},
		}
		for _, g := range headings {
			rows = append(rows, nil, overlay.Row{{Text: g[1], Style: theme.Title}})
			for _, b := range m.keys.Group(g[0]) {
				if !strings.HasPrefix(b.Action, "view.pane-") {
					rows = append(rows, keyRow(b, w)...)
				}
			}
			if g[0] == "view" {
				rows = append(rows, hanging("1 … 9", 12, theme.Key, "Focus on the pane of that number.", w)...)
			}
		}
		return rows
	}}
}

func keyRow(b keymap.Binding, w int) []overlay.Row {
	return hanging(b.Labels(), 12, theme.Key, b.Means, w)
}

// hanging is a label and, beside it, a text that is broken where the width
// ends.
func hanging(label string, col int, st grid.Style, text string, w int) []overlay.Row {
	var rows []overlay.Row
	for i, l := range linesOf(text, w-col-3) {
		if i > 0 {
			label = ""
		}
		rows = append(rows, overlay.Row{{Text: "  " + padded(label, col) + " ", Style: st}, {Text: l}})
	}
	return rows
}

// glossary lists every kind of event, the cursor on the one of what is under
// the explorer's, or else of the event that the explanation line tells.
func (m *Explorer) glossary() overlay.Overlay {
	p := &overlay.Picker{Title: "Glossary · kinds of events", Search: true, Wide: true}
	at, here := -1, m.kindHere()
	for i, k := range trace.Kinds() {
		p.Items = append(p.Items, overlay.Item{
			Label: padded(string(k.Kind), 18), Note: k.Means, Style: theme.Name,
			Detail: k.Means + "\nLook at: " + k.Look + "\nIn the real thing: " + k.Source,
		})
		if k.Kind == here {
			at = i
		}
	}
	if at >= 0 {
		p.Select(at)
	}
	return p
}

// kindHere is the kind of event that the person is looking at.
func (m *Explorer) kindHere() trace.Kind {
	on := m.host().Under()
	if on.Kind != "" {
		return on.Kind
	}
	if e := m.hist.Event(on.Event); m.pointed && e != nil && !on.Event.IsZero() {
		return e.Kind
	}
	if e := m.told(); e != nil {
		return e.Kind
	}
	return ""
}

// grains is the menu of step sizes.
func (m *Explorer) grains() overlay.Overlay {
	means := []string{
		"one raft message, disk write or vote", "one revision of the store", "one stage of an API request, one action of a kubelet or proxy",
		"one watch event delivered", "one move of a work queue", "one reconcile or scheduling decision", "one object whose status says what its spec asks",
	}
	p := &overlay.Picker{Title: "How far is a step?"}
	for i, n := range trace.GrainNames() {
		it := overlay.Item{Label: padded(n, 10), Note: means[i], Value: setGrain(i)}
		if trace.Grain(i) == m.grain {
			it.Style = theme.Accent
			it.Note += "  ← now"
		}
		p.Items = append(p.Items, it)
	}
	p.Select(int(m.grain))
	return p
}

type openTargets struct{}

// why opens the chain of causes of an event.
func (m *Explorer) why(id trace.ID) {
	e := m.hist.Event(id)
	if e == nil {
		m.say("there is no event to ask about")
		return
	}
	chain := m.hist.Chain(id)
	p := &overlay.Picker{Title: "Why #" + id.String() + "?", Wide: true, Intro: view.Explain(e)}
	for i, l := range chain {
		p.Items = append(p.Items, linkItem(l, min(i, 1)))
	}
	if all := m.hist.Why(id); len(all) > len(chain) {
		p.Items = append(p.Items, overlay.Item{Label: fmt.Sprintf("… all %d causes, with queues, stages and caches", len(all)-1), Style: theme.Muted, Value: allCauses{id}})
	}
	if len(e.Causes) == 0 {
		p.Items = append(p.Items, overlay.Item{Label: "nothing caused it: it is an input, or a timer ran out", Style: theme.Muted})
	}
	then := m.hist.Followed(id)
	if len(then) > 0 {
		p.Items = append(p.Items, overlay.Item{Label: fmt.Sprintf("and then (%d)", len(then)), Style: theme.Title})
	}
	for i, t := range then {
		if i == 20 {
			p.Items = append(p.Items, overlay.Item{Label: fmt.Sprintf("  … and %d more", len(then)-i), Style: theme.Muted})
			break
		}
		it := linkItem(view.Link{ID: t, Event: m.hist.Event(t)}, 1)
		it.Label = strings.Replace(it.Label, "←", "→", 1)
		p.Items = append(p.Items, it)
	}
	p.Items = append(p.Items, overlay.Item{Label: "the event itself, whole", Style: theme.Muted, Value: wholeEvent{id}})
	others := []trace.ID{m.host().Under().Event}
	if told := m.told(); told != nil {
		others = append([]trace.ID{told.ID}, others...)
	}
	for _, other := range others {
		if e := m.hist.Event(other); e != nil && other != id {
			p.Items = append(p.Items, overlay.Item{Label: "rather: why #" + other.String() + "?", Note: view.Explain(e), Style: theme.Muted, Value: askWhy{other}})
		}
	}
	m.push(p)
}

func (m *Explorer) whyAll(id trace.ID) overlay.Overlay {
	p := &overlay.Picker{Title: "Why #" + id.String() + "? · everything", Wide: true}
	for _, l := range m.hist.Why(id) {
		it := linkItem(l, min(l.Depth, 24))
		if l.Again {
			it.Note += " (see above)"
		}
		if l.Main {
			it.Style = theme.Accent
		}
		p.Items = append(p.Items, it)
	}
	return p
}

func linkItem(l view.Link, indent int) overlay.Item {
	it := overlay.Item{Label: padded("#"+l.ID.String(), 7), Indent: indent, Style: theme.Event, Value: jumpTo{l.ID}}
	if indent > 0 {
		it.Label = "← " + it.Label
	}
	if l.Event == nil {
		it.Note, it.Off = "not kept any more", "This event is older than what the trace keeps."
		return it
	}
	it.Note = l.Event.Lane.String() + "  " + view.Explain(l.Event)
	it.Detail = view.Explain(l.Event) + "\n" + string(l.Event.Kind) + ": " + l.Event.Kind.Info().Means
	return it
}

// jumpList lists what can have the focus, with a letter each.
func (m *Explorer) jumpList() overlay.Overlay {
	p := &overlay.Picker{Title: "Jump to", Search: true}
	for i, h := range m.panes {
		info := h.Pane.Info()
		p.Items = append(p.Items, overlay.Item{Label: fmt.Sprintf("%d %s", i+1, info.Title), Note: firstSentence(info.Means), Value: focusPane(i + 1)})
	}
	p.Items = append(p.Items, overlay.Item{Label: "Console", Key: ":", Value: doAction(keymap.Console)})
	for _, k := range m.index.Marks() {
		if e := m.hist.Stream().Get(k.Pos); e != nil {
			p.Items = append(p.Items, overlay.Item{Label: string(k.Glyph) + " #" + e.ID.String(), Note: k.Words, Style: k.Style, Value: jumpTo{e.ID}})
		}
	}
	return p
}

func firstSentence(s string) string {
	head, _, found := strings.Cut(s, ". ")
	if found {
		return head + "."
	}
	return s
}

func (m *Explorer) scenarioList() overlay.Overlay {
	p := &overlay.Picker{Title: "Scenarios", Search: true}
	for _, s := range m.cfg.Scenarios {
		p.Items = append(p.Items, overlay.Item{Label: s.Name, Note: s.Means, Detail: s.Means, Value: runLine(s.Line)})
	}
	return p
}
