package apipipe

import (
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawWatches draws the other half of the API server: what it did with the requests
// in all, and each watch cache with those it tells. Where somebody is not told of what
// happened, that stands first.
func drawWatches(s *pane.Sheet, f *pane.Frame) {
	of := map[string][]*view.Watcher{}
	for _, w := range f.S.Watchers() {
		of[w.Cache()] = append(of[w.Cache()], w)
	}
	names := make([]string, 0, len(of))
	for _, c := range f.S.WatchCaches() {
		names = append(names, c.Name())
	}
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	y := 0
	behind := func(name string) bool {
		return slices.ContainsFunc(of[name], func(w *view.Watcher) bool { return untold(f, w) })
	}
	if slices.ContainsFunc(names, behind) {
		y = s.Heading(y, "not told", "events that were held, dropped or overtaken")
		for _, name := range names {
			if behind(name) {
				y = drawCache(s, f, y, name, of[name])
			}
		}
		names = slices.DeleteFunc(names, behind)
	}
	y = drawReaders(s, f, drawBalancer(s, f, drawTraffic(s, f, y)))
	y = s.Heading(y, "watch caches and watchers", "one watch at the store a kind, however many clients")
	if len(of) == 0 && len(names) == 0 {
		y = s.Say(y, "Nobody watches anything. A watch cache begins when somebody first reads or watches its kind.", theme.Muted)
	}
	var unwatched []string
	for _, name := range names {
		if len(of[name]) == 0 && f.Filter == "" {
			unwatched = append(unwatched, name)
			continue
		}
		y = drawCache(s, f, y, name, of[name])
	}
	if len(unwatched) > 0 {
		y = s.Say(y, "told to nobody: "+strings.Join(unwatched, ", "), theme.Muted)
	}
	drawEnded(s, f, y)
}

// drawTraffic draws how much of each of its duties the server has done.
func drawTraffic(s *pane.Sheet, f *pane.Frame, y int) int {
	t := &f.S.Traffic
	y = s.Heading(y, "since it was started", "")
	s.Line(y, pane.Subject{
		ID: "traffic", Kind: trace.RequestReceived,
		Words: fmt.Sprintf("The API server has got %s; the store took %s of them, and watchers were sent %s.",
			words.Count(int(t.Requests), "request"), words.Count(int(t.Stored), "write"), words.Count(int(t.Told), "event")),
	},
		grid.Span{Text: words.Count(int(t.Requests), "request"), Style: theme.Number}, grid.Span{Text: ", ", Style: theme.Muted},
		grid.Span{Text: words.Count(int(t.Stored), "write") + " stored", Style: theme.Number}, grid.Span{Text: ", ", Style: theme.Muted},
		grid.Span{Text: words.Count(int(t.Told), "watch event") + " told", Style: theme.Number})
	y++
	var refused []string
	for _, st := range trace.Stages() {
		if n := t.Refused(st); n > 0 {
			refused = append(refused, fmt.Sprintf("%s %d", st, n))
		}
	}
	if len(refused) > 0 {
		y = s.Say(y, "refused by "+strings.Join(refused, ", "), theme.Bad)
	}
	return y
}

// drawCache draws one watch cache and, below it, a row for each of its watchers.
func drawCache(s *pane.Sheet, f *pane.Frame, y int, name string, watchers []*view.Watcher) int {
	c := f.S.WatchCache(name)
	var rows []*view.Watcher
	for _, w := range watchers {
		if f.Match(name, w.Client, w.Selector) {
			rows = append(rows, w)
		}
	}
	if len(rows) == 0 && !f.Match(name) {
		return y
	}
	if c == nil {
		c = &view.WatchCache{Resource: watchers[0].Of(), Server: watchers[0].Server}
	}
	st := theme.Name | grid.Bold
	if f.Fresh(c.Event) {
		st |= grid.Fresh
	}
	s.Line(y, pane.Subject{
		ID: "cache/" + name, Event: c.Event, Kind: trace.WatchCacheEvent, Target: "watch/" + c.StoreWatch(),
		Words: fmt.Sprintf("The watch cache of %s is %s only watcher of that kind; %s it. Its window: %s.", c.Resource, whose(c), tells(len(watchers)), window(c)),
	},
		grid.Span{Text: grid.Pad(name, nameWidth(s)) + " ", Style: st}, grid.Span{Text: at(c), Style: theme.Number},
		grid.Span{Text: "  " + window(c), Style: theme.Muted}, grid.Span{Text: storeLag(f, c.StoreWatch()), Style: theme.Warn | grid.Bold})
	y++
	if c.Locked != "" {
		y = s.Say(y, "✗ cannot be filled: "+c.Locked, theme.Bad)
	}
	for _, w := range rows {
		drawWatcher(s, f, y, c, w)
		y = pane.Unknown(s, f, y+1, fmt.Sprintf("watch/%d", w.Watch.Watch), w.Target(), w.Held(), lost(f, w))
	}
	return y
}

// lost is what a watcher's informer believes otherwise than it is stored.
func lost(f *pane.Frame, w *view.Watcher) []view.Stale {
	if i := f.S.Informer(w.Client, w.Resource); i != nil {
		return i.Stale()
	}
	return nil
}

// untold reports whether something is kept from a watcher.
func untold(f *pane.Frame, w *view.Watcher) bool { return len(w.Held()) > 0 || len(lost(f, w)) > 0 }

// nameWidth is how wide the first column is.
func nameWidth(s *pane.Sheet) int {
	if s.W() < 100 {
		return 20
	}
	return 26
}

// whose is the store's, where there is one server, or the other server's.
func whose(c *view.WatchCache) string {
	if strings.Contains(c.Server, "/") {
		return c.Server + "'s"
	}
	return "the store's"
}

func tells(n int) string {
	if n == 1 {
		return "1 client watches through"
	}
	return fmt.Sprintf("%d clients watch through", n)
}

func at(c *view.WatchCache) string {
	if c.Revision == 0 {
		return "no change yet"
	}
	return fmt.Sprintf("revision %d", c.Revision)
}

// window says from where on a watch can begin.
func window(c *view.WatchCache) string {
	switch {
	case c.Kept == 0:
		return "window: nothing yet"
	case c.Oldest == 0:
		return "window: " + words.Count(int(c.Kept), "event") + ", all there was"
	}
	return fmt.Sprintf("window: %s from %d on, else 410", words.Count(int(c.Kept), "event"), c.Oldest)
}

// storeLag tells of a cache whose own watch at the store has to catch up.
func storeLag(f *pane.Frame, name string) string {
	for _, w := range f.S.Store.Watches() {
		if w.Name == name && w.Lag > 0 {
			return fmt.Sprintf("  %s behind the store", words.Count(int(w.Lag), "revision"))
		}
	}
	return ""
}

// drawWatcher draws one client: whether it has been told everything.
func drawWatcher(s *pane.Sheet, f *pane.Frame, y int, c *view.WatchCache, w *view.Watcher) {
	state, st := "✓ up to date", theme.Good
	behind := c.Behind(w.Revision)
	switch {
	case w.Selector != "": // what of the kind's changes is for it, only the server knows
		state, st = "✓ what matches", theme.Muted
	case behind == 1:
		state, st = "◷ 1"+outOf(w)+" waits", theme.Warn|grid.Bold
	case behind > 1:
		state, st = fmt.Sprintf("◷ %d%s wait", behind, outOf(w)), theme.Warn|grid.Bold
	}
	name := theme.Text
	if f.Fresh(w.LastEvent) || f.Fresh(w.Opened) {
		name |= grid.Fresh
	}
	told := w.LastEvent
	if told.IsZero() {
		told = w.Opened
	}
	sel := w.Selector
	if sel == "" {
		sel = "all"
	}
	s.Line(y, pane.Subject{
		ID: fmt.Sprintf("watch/%d", w.Watch.Watch), Event: told, Kind: trace.WatchDelivered, Target: w.Target(),
		Words: fmt.Sprintf("%s watches %s (%s) since revision %d; it was sent %s, the last at revision %d%s.",
			w.Client, c.Resource, sel, w.From, words.Count(int(w.Delivered), "event"), w.Revision, buffered(w, behind)),
	},
		grid.Span{Text: "→ ", Style: theme.Line}, grid.Span{Text: grid.Pad(pane.Abbreviate(w.Client), nameWidth(s)-2) + " ", Style: name},
		grid.Span{Text: grid.Pad(state, 14) + " ", Style: st}, grid.Span{Text: grid.PadLeft(fmt.Sprint(w.Delivered), 5), Style: theme.Number},
		grid.Span{Text: " told, at ", Style: theme.Muted}, grid.Span{Text: grid.Pad(fmt.Sprint(w.Revision), 6), Style: theme.Number}, grid.Span{Text: " " + w.Selector, Style: theme.Muted})
}

func buffered(w *view.Watcher, behind int) string {
	if w.Selector != "" || behind == 0 {
		return ""
	}
	full := ""
	if w.Buffer > 0 {
		full = fmt.Sprintf(", which holds %d: if it stays full the watch ends", w.Buffer)
	}
	return fmt.Sprintf("; %s it in its buffer%s", waits(behind), full)
}

// outOf is how many events may wait for a watcher, after how many do.
func outOf(w *view.Watcher) string {
	if w.Buffer == 0 {
		return ""
	}
	return fmt.Sprintf("/%d", w.Buffer)
}

func waits(n int) string {
	if n == 1 {
		return "1 more waits for"
	}
	return fmt.Sprintf("%d more wait for", n)
}

// drawEnded draws why the last watches ended: a client that was too slow, a cache
// that begins anew, a timeout.
func drawEnded(s *pane.Sheet, f *pane.Frame, y int) {
	list := f.S.EndedWatches()
	if len(list) == 0 {
		return
	}
	y = s.Heading(y, "watches that ended", "the client goes on from where it was, or after 410 lists again")
	for i := len(list) - 1; i >= 0 && i >= len(list)-8; i-- {
		w := list[i]
		st := theme.Text
		if f.Fresh(w.LastEvent) {
			st |= grid.Fresh
		}
		s.Line(y, pane.Subject{
			ID: fmt.Sprintf("ended/%d", w.Watch.Watch), Event: w.LastEvent, Kind: trace.WatchClosed,
			Words: fmt.Sprintf("The watch of %s on %s ended: %s.", w.Client, w.Of(), w.Reason),
		},
			grid.Span{Text: "#" + w.LastEvent.String() + " ", Style: theme.Event}, grid.Span{Text: pane.Abbreviate(w.Client) + " ", Style: theme.Name},
			grid.Span{Text: w.Of() + ": ", Style: theme.Muted}, grid.Span{Text: w.Reason, Style: st})
		y++
	}
}
