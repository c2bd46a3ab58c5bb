// Package clustermap is the pane of the whole cluster. Its first view is the living map
// (picture.go): everything in its place, highlighted by what is going on. The second,
// and what is left where there is no room for a picture, is lists: the store's members
// with their raft roles and the control plane's processes above, below them the nodes
// with their pods as cells, each a letter for the workload and a shape for the phase.
//
// Start reading at [Map.Draw].
package clustermap

import (
	"fmt"
	"sort"
	"strings"

	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/podmark"
	"kviz/tui/scene"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// Map is the pane.
type Map struct {
	pane.List
	namespace string      // "" shows all
	grain     scene.Grain // of the nodes at least
	hush      bool        // routine is hidden

	populations map[*view.History]*population
	scene       *scene.Scene // the last one, and what it was made of
	shape       scene.Shape
	painter     scene.Painter
	lights      []scene.Light // of its lines
	touched     *pane.Subject // the line that was clicked, while the cursor is on it
}

var about = pane.Info{
	Name: "map", Title: "Cluster",
	Kinds: []string{"apiserver", "askers", "controller-manager", "controller-manager", "event", "line", "member", "node", "nodes", "pod", "process", "room", "scheduler", "servers", "store", "svc", "vol", "volumes", "work", "you"},
	Means: "What there is and how it is: the members of the store with their raft roles, the processes of the " +
		"control plane, the nodes, and every pod on its node. What goes from one to another moves along the line " +
		"between them, as an event of the trace; everything has its place and keeps it. A pod's letter names the workload, its shape the " +
		"phase, and a ◇ a node where room is being made for it. The bars are the part of a node's CPU and memory that its pods have requested. Where there is room, " +
		"claims and their volumes, with a line to the node that each is attached to, workloads, Services and the newest Kubernetes Events follow.",
	Legend: podmark.Legend,
}

// New makes the pane.
func New() *Map {
	m := &Map{List: pane.NewList(about)}
	m.Views(
		"map.view", "view",
		pane.View{Name: "picture", Means: "everything in its place, and what moves between", Draw: m.drawPicture},
		pane.View{Name: "lists", Means: "members, processes, nodes, workloads and Services as lists", Draw: m.drawLists},
	)
	m.Key(keymap.Bind(keymap.Open, "open", "Show the object under the cursor.", "enter"), m.open)
	m.Key(keymap.Bind("map.namespace", "namespace", "Show the pods of the next namespace only.", "i"), func(_ pane.Subject, f *pane.Frame) action.Action {
		m.namespace = nextNamespace(f.S, m.namespace)
		return action.Redraw{}
	})
	m.Key(last("map.trail", "follow", "Show the way of the command before on the map; after the oldest none, then the newest.", "x"), func(pane.Subject, *pane.Frame) action.Action {
		return action.Trail{}
	})
	m.Key(last("map.grain", "boxes/cells", "Draw each node as a box, as a tile, or as a cell.", "V"), pane.Then(m.coarser))
	m.Key(last("map.routine", "routine", "Hide or show what never ends: renewals of Leases, heartbeats, writes of Kubernetes Events.", "r"), func(pane.Subject, *pane.Frame) action.Action {
		m.hush = !m.hush
		return action.Hush(m.hush)
	})
	return m
}

// last is a key that stands behind all others in the key line.
func last(name, label, means, key string) keymap.Binding {
	b := keymap.Bind(name, label, means, key)
	b.Last = true
	return b
}

// coarser draws the nodes in the next grain, and after the coarsest in the finest that fits.
func (m *Map) coarser() {
	now := m.grain
	if m.scene != nil {
		now = max(now, m.scene.Grain)
	}
	if m.grain = now + 1; now >= scene.Cells {
		m.grain = scene.Boxes
	}
}

// Note implements [pane.Pane].
func (m *Map) Note(f *pane.Frame) string {
	all := m.population(f)
	note := words.Count(len(all.names), "node") + ", " + words.Count(all.shown(m.namespace), "pod")
	if m.namespace != "" {
		note += " in " + m.namespace
	}
	return note
}

// open goes to the pane that shows a thing from the inside.
func (m *Map) open(on pane.Subject, _ *pane.Frame) action.Action {
	switch {
	case strings.HasPrefix(on.ID, "line/"):
		return openLine(on)
	case strings.HasPrefix(on.ID, "member/"):
		return action.Focus{Pane: "store"}
	case on.ID == scene.Store:
		return action.Focus{Pane: "store"}
	case on.ID == scene.You && !on.Event.IsZero():
		return action.Why{ID: on.Event}
	case on.ID == "process/apiserver":
		return action.Focus{Pane: "api"}
	case on.ID == "process/scheduler":
		return action.Focus{Pane: "scheduler"}
	case on.ID == "process/controller-manager":
		return action.Focus{Pane: "queues"}
	case on.Ref.Kind == "Node":
		return action.Focus{Pane: "node"}
	}
	return on.Open()
}

func nextNamespace(s *view.State, now string) string {
	seen := map[string]bool{}
	s.EachObject("pods", "", func(o *view.Object) bool { seen[o.Namespace()] = true; return true })
	var names []string
	for n := range seen {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		if n > now {
			return n
		}
	}
	return ""
}

// Draw implements [pane.Pane].
func (m *Map) Draw(s *pane.Sheet, f *pane.Frame) { m.View().Draw(s, f) }

// drawLists draws all there is as lists.
func (m *Map) drawLists(s *pane.Sheet, f *pane.Frame) {
	y := drawMembers(s, f, 0)
	y = drawProcesses(s, f, y)
	y = m.drawNodes(s, f, y)
	m.drawRest(s, f, y)
}

// natural sorts node-2 before node-10.
func natural(a, b string) bool {
	pa, na := splitNumber(a)
	pb, nb := splitNumber(b)
	if pa != pb {
		return a < b
	}
	return na < nb
}

func splitNumber(s string) (string, int) {
	i := len(s)
	for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
		i--
	}
	n := 0
	for _, c := range s[i:] {
		n = n*10 + int(c-'0')
	}
	return s[:i], n
}

func drawMembers(s *pane.Sheet, f *pane.Frame, y int) int {
	members := f.S.Store.Members()
	a := s.Row(y)
	x := a.Text(0, 0, "store   ", theme.Muted)
	if len(members) == 0 {
		a.Text(x, 0, fmt.Sprintf("one process, revision %d", f.S.Store.Revision), theme.Text)
		return y + 1
	}
	for _, m := range members {
		text, st := memberLook(m, s.W() < 60)
		if x+grid.Width(text)+2 > s.W() {
			y++
			a = s.Row(y)
			x = 8
		}
		if f.Fresh(m.Event) {
			st |= grid.Fresh
		}
		end := a.Text(x, 0, text, st)
		s.Hot(x, y, end-x, pane.Subject{
			ID: "member/" + m.Name, Target: "member/" + m.Name, Event: m.Event,
			Words: memberWords(m), Copy: m.Name,
		})
		x = end + 2
	}
	q := pane.Known(f.S)
	meter := pane.Quorum(q)
	if x+grid.Width(meter) > s.W() {
		y++
		a = s.Row(y)
		x = 8
	}
	st := theme.Good
	if !q.OK() {
		st = theme.Bad
	}
	a.Text(x, 0, meter, st)
	y++
	if !q.OK() {
		y = s.Say(y, fmt.Sprintf("No write can succeed until %d of %d members are up. Running pods and written rules go on.", q.Need, q.Total), theme.Warn)
	}
	return y
}

func memberLook(m *view.Member, narrow bool) (string, grid.Style) {
	glyph, st := pane.Member(m)
	look := string(glyph) + " " + m.Name
	switch {
	case narrow && m.Up && (m.Role == "leader" || m.Role == "candidate"):
		return fmt.Sprintf("%s t%d", look, m.Term), st
	case narrow:
		return look, st
	case !m.Up:
		return look + " down", st
	case m.Role == "leader", m.Role == "candidate":
		return fmt.Sprintf("%s %s t%d", look, m.Role, m.Term), st
	}
	return fmt.Sprintf("%s follower t%d", look, m.Term), st
}

func memberWords(m *view.Member) string {
	if !m.Up {
		why := m.Reason
		if why != "" {
			why = ": " + why
		}
		return "Store member " + m.Name + " is down" + why + "."
	}
	role := m.Role
	if role == "" {
		role = "starting"
	}
	w := fmt.Sprintf("Store member %s is %s in term %d, log up to %d, committed %d, applied %d.", m.Name, role, m.Term, m.Last, m.Commit, m.Applied)
	if m.Role == "follower" && m.Leader != "" {
		w += " It follows " + m.Leader + "."
	}
	return w
}

func drawProcesses(s *pane.Sheet, f *pane.Frame, y int) int {
	a := s.Row(y)
	x := a.Text(0, 0, "control ", theme.Muted)
	any := false
	for _, p := range f.S.Processes() {
		if strings.HasPrefix(p.Name, "kubelet/") || strings.HasPrefix(p.Name, "proxy/") || strings.HasPrefix(p.Name, "runtime/") ||
			strings.HasPrefix(p.Name, "member/") {
			continue
		}
		target := p.Name
		if strings.HasSuffix(p.Name, "-controller") { // a part of the controller manager: only while it is down
			if target = "controller/" + p.Name; len(f.S.FaultsOn(target)) == 0 || p.Up {
				continue
			}
		}
		any = true
		glyph, st := "● ", theme.Good
		words := p.Name + " is running"
		if !p.Up {
			glyph, st = "✗ ", theme.Bad
			words = p.Name + " is down"
			if p.Reason != "" {
				words += ": " + p.Reason
			}
		} else if p.Starts > 1 {
			words += fmt.Sprintf(", started %d times", p.Starts)
		}
		text, busy := glyph+processName(p.Name, s.W()), ""
		if s.W() >= 100 && p.Up {
			busy = atWork(f.S, p.Name)
		}
		if x+grid.Width(text)+grid.Width(busy) > s.W() {
			y++
			a = s.Row(y)
			x = 8
		}
		if f.Fresh(p.Event) {
			st |= grid.Fresh
		}
		end := a.Spans(x, 0, grid.Span{Text: text, Style: st}, grid.Span{Text: busy, Style: theme.Muted})
		s.Hot(x, y, end-x, pane.Subject{ID: "process/" + p.Name, Target: target, Event: p.Event, Words: words + ".", Copy: p.Name})
		x = end + 2
	}
	if !any {
		a.Text(x, 0, "not started yet", theme.Muted)
	}
	return y + 1
}

func processName(name string, w int) string {
	if w >= 100 {
		return name
	}
	return pane.Abbreviate(name)
}

// atWork says in a few words what a process of the control plane has before it.
func atWork(s *view.State, process string) string {
	switch process {
	case "apiserver":
		return fmt.Sprintf(" %s inside", words.Count(len(s.ActiveRequests()), "request"))
	case "controller-manager":
		n := 0
		for _, q := range s.Queues() {
			n += q.Ready + q.Processing
		}
		return fmt.Sprintf(" %s to do", words.Count(n, "key"))
	case "scheduler":
		return fmt.Sprintf(" %s to place", words.Count(len(s.Scheduler.PodsIn("active")), "pod"))
	}
	return ""
}
