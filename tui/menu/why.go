package menu

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/overlay"
	"kviz/tui/theme"
)

// mostReasons is how many of the things that an answer comes from are shown below it.
const mostReasons = 4

// answer is what kviz why says first of an object, in a few lines.
func answer(reasons []view.Reason) string {
	var lines []string
	for _, r := range reasons {
		lines = append(lines, r.Says+".")
		for i, k := range r.From {
			if i == mostReasons {
				lines = append(lines, fmt.Sprintf("  … and %d more", len(r.From)-i))
				break
			}
			mark := "✗ "
			if k.Good {
				mark = "✓ "
			}
			lines = append(lines, strings.TrimSuffix("  "+mark+k.What+": "+k.Why, ": "))
		}
	}
	return strings.Join(lines, "\n")
}

// Why is the chain of causes of an event, what followed from it, and other events that
// the question may have meant, below the answers that there are. It is nil where there is no
// such event.
func Why(h *view.History, id trace.ID, reasons []view.Reason, others ...trace.ID) overlay.Overlay {
	e := h.Event(id)
	if e == nil {
		return nil
	}
	chain := h.Chain(id)
	p := &overlay.Picker{Title: "Why #" + id.String() + "?", Wide: true, Intro: view.Explain(e)}
	if says := answer(reasons); says != "" {
		p.Intro = says
	}
	for i, l := range chain {
		p.Items = append(p.Items, linkItem(l, min(i, 1)))
	}
	if all := h.Why(id); len(all) > len(chain) {
		p.Items = append(p.Items, overlay.Item{Label: fmt.Sprintf("… all %d causes, with queues, stages and caches", len(all)-1), Style: theme.Muted, Do: action.AllCauses{ID: id}})
	}
	if len(e.Causes) == 0 {
		p.Items = append(p.Items, overlay.Item{Label: "nothing caused it: it is an input, or a timer ran out", Style: theme.Muted})
	}
	then := h.Followed(id)
	if len(then) > 0 {
		p.Items = append(p.Items, overlay.Item{Label: fmt.Sprintf("and then (%d)", len(then)), Style: theme.Title})
	}
	for i, t := range then {
		if i == 20 {
			p.Items = append(p.Items, overlay.Item{Label: fmt.Sprintf("  … and %d more", len(then)-i), Style: theme.Muted})
			break
		}
		it := linkItem(view.Link{ID: t, Event: h.Event(t)}, 1)
		it.Label = strings.Replace(it.Label, "←", "→", 1)
		p.Items = append(p.Items, it)
	}
	p.Items = append(p.Items, overlay.Item{Label: "the event itself, whole", Style: theme.Muted, Do: action.Whole{ID: id}})
	for _, other := range others {
		if e := h.Event(other); e != nil && other != id {
			p.Items = append(p.Items, overlay.Item{Label: "rather: why #" + other.String() + "?", Note: view.Explain(e), Style: theme.Muted, Do: action.Why{ID: other}})
		}
	}
	return p
}

// AllCauses lists every cause of an event, with queues, stages and caches.
func AllCauses(h *view.History, id trace.ID) overlay.Overlay {
	p := &overlay.Picker{Title: "Why #" + id.String() + "? · everything", Wide: true}
	for _, l := range h.Why(id) {
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
	it := overlay.Item{Label: overlay.Padded("#"+l.ID.String(), 7), Indent: indent, Style: theme.Event, Do: action.Goto{ID: l.ID}}
	if indent > 0 {
		it.Label = "← " + it.Label
	}
	if l.Event == nil {
		it.Note, it.Off = "not in memory any more", "This event is older than what the trace has in memory."
		return it
	}
	it.Note = l.Event.Lane.String() + "  " + view.Explain(l.Event)
	it.Detail = view.Explain(l.Event) + "\n" + string(l.Event.Kind) + ": " + l.Event.Kind.Info().Means
	return it
}
