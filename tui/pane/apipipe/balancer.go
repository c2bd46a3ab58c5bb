package apipipe

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// drawBalancer draws the API servers behind the load balancer and who is connected to
// which; nothing while there is one server.
func drawBalancer(s *pane.Sheet, f *pane.Frame, y int) int {
	servers := f.S.Balancer.Servers
	if len(servers) == 0 {
		return y
	}
	y = s.Heading(y, "load balancer", "a client's connection stays with one server: "+words.Count(len(servers), "server"))
	for _, x := range servers {
		clients := f.S.Balancer.Clients(x.Server)
		who := words.Count(len(clients), "client")
		if len(clients) > 0 {
			who += ": " + strings.Join(clients, ", ")
		}
		state, st := "● up  ", theme.Good
		if !x.Up {
			state, st = "✗ down", theme.Bad
		}
		if f.Fresh(x.Event) {
			st |= grid.Fresh
		}
		on := pane.Subject{
			ID: "balanced/" + x.Server, Event: x.Event, Kind: trace.BalancerServer, Target: x.Server,
			Words: fmt.Sprintf("%s at %s: %s. Connected: %s.", x.Server, x.Address, x.Reason, who),
		}
		s.Line(y, on, grid.Span{Text: grid.Pad(x.Server, 14) + " ", Style: theme.Name}, grid.Span{Text: state, Style: st},
			grid.Span{Text: "  " + x.Address, Style: theme.Text}, grid.Span{Text: " → " + who, Style: theme.Muted})
		y++
	}
	return y
}
