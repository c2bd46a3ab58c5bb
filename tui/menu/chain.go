package menu

import (
	"fmt"
	"slices"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/overlay"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// chain is the picture of a chain of causes as it is open over the panes. Between two of
// its rows the plumbing can be opened in place: the stages, queues and caches that it
// went through, and what else had a part in it.
type chain struct {
	*overlay.Picker
	lanes *lanes
	rows  []cause        // oldest first
	tail  []overlay.Item // what can be asked for besides
	on    []place        // what each item of the picker belongs to
}

// cause is a row of the chain.
type cause struct {
	view.Link
	plumbing []view.Link // what stands between the row above and it, oldest first
	open     bool
}

// place is where an item stands: the row that it belongs to, and its event.
type place struct {
	row int // number of rows: none, but the line that speaks of all
	id  trace.ID
}

// plumbingKey opens what stands above the row under the cursor, or closes it.
var plumbingKey = keymap.Hint("a", "what is between", "a")

// turnAll is what the line does that speaks of all causes.
type turnAll struct{}

// newChain sorts an answer to "why?" into the rows of the chain and what stands between
// them: every cause that is not of the chain stands above the row that it led to first.
func newChain(all []view.Link) *chain {
	c := &chain{}
	row := map[int]int{} // of a link of the chain
	for i, l := range all {
		if i == 0 || l.Main && !l.Minor {
			row[i] = len(c.rows)
			c.rows = append(c.rows, cause{Link: l})
		}
	}
	for i, l := range all {
		if _, ok := row[i]; ok || l.Again { // again: it stands above another row already
			continue
		}
		to := l.From
		for ; ; to = all[to].From {
			if r, ok := row[to]; ok {
				c.rows[r].plumbing = append(c.rows[r].plumbing, l)
				break
			}
		}
	}
	slices.Reverse(c.rows)
	for _, r := range c.rows {
		slices.SortFunc(r.plumbing, func(a, b view.Link) int { return a.ID.Compare(b.ID) })
	}
	return c
}

// count is how many causes there are in all, and how many of the plumbing are shown.
func (c *chain) count() (all, shown int) {
	for _, r := range c.rows {
		all += 1 + len(r.plumbing)
		if r.open {
			shown += len(r.plumbing)
		}
	}
	return all - 1, shown
}

// draw writes the items again, with the cursor on an event of a row, or on the row itself
// where that event is not shown.
func (c *chain) draw(row int, id trace.ID) {
	var items []overlay.Item
	c.on = c.on[:0]
	add := func(row int, id trace.ID, it overlay.Item) {
		items = append(items, it)
		c.on = append(c.on, place{row, id})
	}
	var latest time.Duration // of what is above
	var begun bool
	var before *trace.Event // the cause above
	since := func(row int, e *trace.Event) string {
		if e == nil {
			return "?"
		}
		took := e.At - latest
		switch {
		case !begun:
			begun, latest = true, e.At
			return ""
		case took < 0: // of another way than the row above
			return "earlier"
		case took > waited:
			add(row, trace.ID{}, overlay.Item{Label: stamp("", words.Dur(took)) + c.lanes.gap(e), Style: theme.Muted, Note: "meanwhile: " + e.Lane.String()})
		}
		latest = e.At
		return "+" + words.Dur(took)
	}
	item := func(l view.Link, style grid.Style) overlay.Item {
		it := overlay.Item{Style: style, Do: action.Goto{ID: l.ID}}
		if l.Event == nil {
			it.Off = "This event is older than what the trace has in memory."
			return it
		}
		it.Note = view.Explain(l.Event)
		it.Detail = l.Event.Lane.String() + ": " + it.Note
		return it
	}
	for i, r := range c.rows {
		if r.open {
			for _, l := range r.plumbing {
				took := since(i, l.Event)
				it := item(l, theme.Muted)
				if it.Label = stamp("·#"+l.ID.String(), took); l.Event != nil {
					it.Label += c.lanes.beside(l.Event)
				}
				add(i, l.ID, it)
			}
		}
		took := since(i, r.Event)
		it := item(r.Link, theme.Event)
		if it.Label = stamp("#"+r.ID.String(), took); r.Event != nil {
			it.Label += c.lanes.row(before, r.Event, i == len(c.rows)-1)
			before = r.Event
		}
		add(i, r.ID, it)
	}
	if all, shown := c.count(); all > len(c.rows)-1 {
		says := ": a opens queues, stages and caches between two rows"
		if shown > 0 {
			says = ": a closes what it opened between two rows"
		}
		add(len(c.rows), trace.ID{}, overlay.Item{Label: fmt.Sprintf("… all %d causes", all) + says, Key: "a", Style: theme.Muted, Do: turnAll{}})
	}
	c.Set(append(items, c.tail...))
	to := place{row, id}
	if !slices.Contains(c.on, to) && row < len(c.rows) {
		to.id = c.rows[row].ID
	}
	c.Select(max(slices.Index(c.on, to), 0))
}

// turn opens what stands above a row, or closes it.
func (c *chain) turn(at place) overlay.Reaction {
	r := &c.rows[at.row]
	if len(r.plumbing) == 0 {
		return overlay.Reaction{Do: action.Notice{Text: "nothing stands between #" + r.ID.String() + " and its cause: go to another row, or to the line that counts them all"}}
	}
	r.open = !r.open
	c.draw(at.row, at.id)
	return overlay.Reaction{}
}

// turnAll opens what stands above every row, or closes all of it.
func (c *chain) turnAll() {
	_, shown := c.count()
	for i := range c.rows {
		c.rows[i].open = shown == 0
	}
	c.draw(len(c.rows), trace.ID{})
}

// Keys implements [overlay.Overlay].
func (c *chain) Keys() []key.Binding {
	keys := c.Picker.Keys()
	if all, _ := c.count(); all > len(c.rows)-1 {
		keys = append(keys, plumbingKey)
	}
	return keys
}

// Key implements [overlay.Overlay].
func (c *chain) Key(k tea.KeyPressMsg) overlay.Reaction {
	if at := c.At(); key.Matches(k, plumbingKey) && at < len(c.on) && c.on[at].row < len(c.rows) {
		return c.turn(c.on[at])
	}
	return c.mine(c.Picker.Key(k))
}

// Click implements [overlay.Overlay].
func (c *chain) Click(x, y int) overlay.Reaction { return c.mine(c.Picker.Click(x, y)) }

// mine does itself what concerns the picture alone.
func (c *chain) mine(r overlay.Reaction) overlay.Reaction {
	if r.Do == (turnAll{}) {
		c.turnAll()
		return overlay.Reaction{}
	}
	return r
}
