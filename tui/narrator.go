package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/motion"
	"kviz/tui/narrate"
	"kviz/tui/scene"
	"kviz/tui/words"
)

// narrator writes one explained line an event and tells in words what the picture shows: along which way something goes, who is
// elected by whom, which floors have fallen, and how far one's command has come.
type narrator struct {
	floors narrate.Floors
	said   map[string]string // by member: what was told of it last
	walk   *told             // the newest command that did something; nil before the first
	asked  *told             // one that has done nothing yet: most only read
}

// told is how far a command has come.
type told struct {
	path  *view.Path
	line  string
	begin time.Duration
	way   []string // the places of its stations, in a row
}

func newNarrator() *narrator { return &narrator{said: map[string]string{}} }

// line is what is written of an event, seen from the state after it: the event itself, unless
// it is one of the raft lane and those are not asked for, and below it what it means.
func (n *narrator) line(e *trace.Event, s *view.State, outside bool) string {
	var all []string
	station := n.follow(e, s)
	if outside || !e.Outside() {
		all = append(all, eventLine(e, s)+station)
	}
	for _, said := range n.tell(e, s) {
		all = append(all, "* "+words.Clock(e.At)+" "+said)
	}
	text := ""
	for _, l := range all {
		text += grid.Clean(l) + "\n"
	}
	return text
}

// eventLine is one event: number, time, way or lane, sentence, causes.
func eventLine(e *trace.Event, s *view.State) string {
	where := e.Lane.String()
	if l, ok := motion.Of(e, s); ok && l.To != "" && l.To != l.From {
		where = placeName(l.From) + " -> " + placeName(l.To)
	}
	line := fmt.Sprintf("#%s %s %s: %s", e.ID, words.Clock(e.At), where, view.Explain(e))
	for i, c := range e.Causes {
		if i == 0 {
			line += " Because of"
		}
		line += " #" + c.String()
	}
	return line
}

// placeName is a place of the picture as one says it.
func placeName(id string) string {
	switch id {
	case scene.APIServer:
		return "API server"
	case scene.Controllers:
		return "controllers"
	}
	if service, ok := strings.CutPrefix(id, "svc/"); ok {
		return "Service " + service
	}
	id = strings.TrimPrefix(id, "process/")
	return strings.TrimPrefix(id, "node/")
}

// follow takes an event in on the ways of the newest commands, and says which station of
// which it is.
func (n *narrator) follow(e *trace.Event, s *view.State) string {
	if e.Kind == trace.CommandStart {
		n.asked = &told{path: view.NewPath(e.ID), begin: e.At, way: []string{scene.You}}
		if p, ok := e.Payload.(*trace.Command); ok {
			n.asked.line = p.Line
		}
	}
	if n.asked.take(e, s) {
		n.walk, n.asked = n.asked, nil
	} else if !n.walk.take(e, s) {
		return ""
	}
	return fmt.Sprintf(" (station %d of your command #%s)", len(n.walk.path.Stations()), n.walk.path.Of())
}

// take takes an event in, and reports whether it is a station.
func (t *told) take(e *trace.Event, s *view.State) bool {
	if t == nil || !t.path.Take(e) {
		return false
	}
	if at := motion.PlaceOf(e.Lane, s); at != "" && t.way[len(t.way)-1] != at {
		t.way = append(t.way, at)
	}
	return true
}

// tell is what an event means for the whole.
func (n *narrator) tell(e *trace.Event, s *view.State) []string {
	var all []string
	if member, said := narrate.OfMember(e, s); said != "" && n.said[member] != said {
		n.said[member] = said
		all = append(all, said)
	}
	all = append(all, n.floors.Tell(s)...)
	if t := n.walk; e.Kind == trace.Converged && t != nil && slices.Contains(t.path.Stations(), e.ID) {
		places := make([]string, len(t.way))
		for i, id := range t.way {
			places[i] = placeName(id)
		}
		all = append(all, fmt.Sprintf("the way of your command %q so far, in %s: %s", t.line, words.Dur(e.At-t.begin), strings.Join(places, " -> ")))
	}
	return all
}
