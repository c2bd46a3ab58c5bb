package queues

import (
	"fmt"
	"slices"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawInformers draws the clients' own copies: of each kind what its owner has of
// it, beside what the store has.
func drawInformers(s *pane.Sheet, f *pane.Frame) {
	y := s.Heading(0, "informers", "list, sync, then a watch; workers start when the list is there")
	kinds := map[string]*kindNow{}
	list := f.S.Informers()
	if len(list) == 0 {
		s.Say(y, "Nobody keeps a cache yet. Each component lists the kinds that it cares about once, and watches for changes from then on.", theme.Muted)
		return
	}
	selectors, held := map[string]string{}, map[string][]view.Stale{}
	for _, w := range f.S.Watchers() {
		held[w.Target()] = w.Held()
		selectors[w.Client+"\x00"+w.Resource] = w.Selector
	}
	for from := 0; from < len(list); {
		to := from + slices.IndexFunc(list[from:], func(i *view.Informer) bool { return i.Informer.Informer != list[from].Informer.Informer })
		if to < from {
			to = len(list)
		}
		y = drawOwner(s, f, y, list[from:to], selectors, held, kinds)
		from = to
	}
}

// kindNow is what the store has of a kind: how many objects, and the revision of its
// last change.
type kindNow struct {
	objects int
	newest  int64
}

func stored(f *pane.Frame, resource string, known map[string]*kindNow) *kindNow {
	k := known[resource]
	if k == nil {
		k = &kindNow{}
		f.S.EachObject(resource, "", func(o *view.Object) bool {
			k.objects++
			k.newest = max(k.newest, o.Revision)
			return true
		})
		for _, c := range f.S.WatchCaches() { // a deletion is a change too
			if c.Resource == resource {
				k.newest = max(k.newest, c.Revision)
			}
		}
		known[resource] = k
	}
	return k
}

func drawOwner(s *pane.Sheet, f *pane.Frame, y int, list []*view.Informer, selectors map[string]string, held map[string][]view.Stale, kinds map[string]*kindNow) int {
	owner, synced := list[0].Informer.Informer, 0
	var rows []*view.Informer
	for _, i := range list {
		if i.Synced {
			synced++
		}
		if f.Match(owner, i.Resource) {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		return y
	}
	st, mark := theme.Good, "✓"
	if synced < len(list) {
		st, mark = theme.Warn, "◷"
	}
	s.Line(y, pane.Subject{
		ID: "owner/" + owner, Target: owner, Copy: owner, Kind: trace.InformerSync,
		Words: fmt.Sprintf("%s has %s, %d of them synced. All its controllers share them: one watch a kind.", owner, words.Count(len(list), "informer"), synced),
	},
		grid.Span{Text: grid.Pad(owner, 20) + " ", Style: theme.Name | grid.Bold}, grid.Span{Text: mark, Style: st},
		grid.Span{Text: fmt.Sprintf(" %d of %d synced", synced, len(list)), Style: theme.Muted})
	y++
	for _, i := range rows {
		y = drawInformer(s, f, y, i, selectors[owner+"\x00"+i.Resource], held, stored(f, i.Resource, kinds))
	}
	return y
}

func drawInformer(s *pane.Sheet, f *pane.Frame, y int, i *view.Informer, selector string, held map[string][]view.Stale, now *kindNow) int {
	wide, numbers := 24, 18
	if s.W() < 100 {
		wide, numbers = 18, 16
	}
	phase, st := "◷ listing", theme.Warn
	if i.Synced {
		phase, st = "✓ synced", theme.Good
	}
	if f.Fresh(i.Event) {
		st |= grid.Fresh
	}
	spans := []grid.Span{
		{Text: "  " + grid.Pad(i.Resource, wide) + " ", Style: theme.Text},
		{Text: grid.Pad(phase, 10), Style: st},
		{Text: grid.PadLeft(fmt.Sprint(i.Items), 4), Style: theme.Number},
	}
	words := informerWords(i, selector, now)
	switch {
	case selector != "":
		spans = append(spans, grid.Span{Text: grid.Pad(" of "+fmt.Sprint(now.objects), 14), Style: theme.Muted})
	case i.Items != now.objects:
		spans = append(spans, grid.Span{Text: grid.Pad(fmt.Sprintf(" ≠ %d stored", now.objects), 14), Style: theme.Warn | grid.Bold})
	default:
		spans = append(spans, grid.Span{Text: grid.Pad(" = store", 14), Style: theme.Muted})
	}
	rev := theme.Muted
	text := fmt.Sprintf("at %d", i.Revision)
	if selector == "" && i.Synced && i.Revision < now.newest {
		rev, text = theme.Warn|grid.Bold, fmt.Sprintf("at %d, store %d", i.Revision, now.newest)
		if grid.Width(text) > numbers { // both numbers are needed more than the word
			text = fmt.Sprintf("at %d < %d", i.Revision, now.newest)
		}
	}
	spans = append(spans, grid.Span{Text: grid.Pad(text, numbers), Style: rev})
	spans = append(spans, grid.Span{Text: counted(i) + " ", Style: theme.Muted}, grid.Span{Text: selector, Style: theme.Muted})
	s.Line(y, pane.Subject{ID: "informer/" + i.Informer.Informer + "/" + i.Resource, Event: i.Event, Kind: trace.InformerSync, Words: words}, spans...)
	y++
	if i.Reason != "" && !i.Synced {
		s.Row(y).Fit(4, 0, s.W()-4, "lists: "+i.Reason, theme.Warn)
		y++
	}
	target := "informer/" + i.Informer.Informer + "/" + i.Resource
	return pane.Unknown(s, f, y, "stale/"+target, target, held[target], i.Stale())
}

// counted says how often the informer listed, and what came of it; what is rarest stands first, where a
// narrow screen shows it.
func counted(i *view.Informer) string {
	text := words.Count(int(i.Delivered), "event")
	if i.Relists > 1 {
		text = fmt.Sprintf("listed %d times, %s", i.Relists, text)
	}
	if i.Tombstones > 0 {
		text = words.Count(i.Tombstones, "tombstone") + ", " + text
	}
	if i.Resyncs > 0 {
		text += ", " + words.Count(i.Resyncs, "resync")
	}
	return text
}

func informerWords(i *view.Informer, selector string, now *kindNow) string {
	text := fmt.Sprintf("The cache of %s has %s of %s, up to revision %d; the store has %d, the last change at revision %d.",
		i.Informer.Informer, words.Count(i.Items, "object"), i.Resource, i.Revision, now.objects, now.newest)
	text += " Since its start: " + counted(i) + "."
	if selector != "" {
		text += " It asked only for " + selector + "."
	}
	return text
}
