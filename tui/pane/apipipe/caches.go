package apipipe

import (
	"fmt"

	"kviz/cluster/trace"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawCaches draws how far the watch caches are and who watches.
func drawCaches(s *pane.Sheet, f *pane.Frame, y int) {
	y = drawFlows(s, f, y)
	y = drawAudit(s, f, y)
	y = drawConfigs(s, f, y)
	y = drawBalancer(s, f, y)
	caches := f.S.WatchCaches()
	if len(caches) == 0 {
		return
	}
	y = drawEncryption(s, f, y)
	y = s.Heading(y, "watch caches", "v shows who watches: "+words.Count(len(f.S.Watchers()), "watcher"))
	several := len(f.S.Balancer.Servers) > 0
	watching := map[string]int{}
	for _, w := range f.S.Watchers() {
		watching[w.Server+" "+w.Of()]++
	}
	for _, c := range caches {
		if !f.Match(c.Resource) {
			continue
		}
		st := theme.Text
		if f.Fresh(c.Event) {
			st |= grid.Fresh
		}
		at := "" // whose it is, where there are several servers
		if several {
			at = "  at " + c.Server
		}
		s.Line(y, pane.Subject{
			ID: "cache/" + c.Resource + at, Event: c.Event, Kind: trace.WatchCacheEvent,
			Words: fmt.Sprintf("The watch cache of %s is at revision %d; it has %s.", c.Resource, c.Revision, words.Count(watching[c.Server+" "+c.Resource], "watcher")),
		},
			grid.Span{Text: grid.Pad(c.Resource, 21) + " ", Style: st}, grid.Span{Text: fmt.Sprintf("revision %-6d", c.Revision), Style: theme.Number},
			grid.Span{Text: " → " + words.Count(watching[c.Server+" "+c.Resource], "watcher") + ", " + words.Count(int(c.Events), "event") + at, Style: theme.Muted})
		y++
		if c.Locked != "" {
			y = s.Say(y, "✗ cannot be filled: "+c.Locked, theme.Bad)
		}
	}
}
