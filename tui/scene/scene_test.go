package scene_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"kviz/tui/grid"
	"kviz/tui/scene"
	"kviz/tui/theme"
	"kviz/tui/tuitest"
)

func shape(members, nodes, services int) scene.Shape {
	var s scene.Shape
	for i := range members {
		s.Members = append(s.Members, string(rune('a'+i)))
	}
	for i := range nodes {
		s.Nodes = append(s.Nodes, fmt.Sprintf("node-%d", i+1))
	}
	for i := range services {
		s.Services = append(s.Services, fmt.Sprintf("demo/svc-%d", i+1))
	}
	return s
}

// named is a picture in which every place says its name, as the golden files show it.
func named(s *scene.Scene) scene.Picture {
	p := s.Blank()
	for i, at := range s.Places {
		name := []grid.Span{{Text: at.ID, Style: theme.Name}}
		if at.Framed {
			p.Boxes[i].Title = name
		} else if len(at.Names) == 0 && at.ID != scene.Store && at.ID != scene.Nodes {
			p.Boxes[i].Rows = [][]grid.Span{name}
		} else if len(at.Names) > 0 {
			p.Boxes[i].Rows = [][]grid.Span{{{Text: "▅", Style: theme.Good}}}
		}
	}
	for i, e := range s.Edges {
		if e.Class == scene.Selects {
			p.Lines[i].Light = scene.Sound
		}
	}
	return p
}

func drawn(s *scene.Scene, p scene.Picture) *grid.Grid {
	g := grid.New(s.W, s.H)
	var painter scene.Painter
	painter.Paint(g.Area(), s, p)
	return g
}

// Every form, at its smallest size and at the sizes of the usual screens.
func TestForms(t *testing.T) {
	for _, c := range []struct{ w, h, members, nodes int }{
		{118, 31, 3, 3},
		{112, 28, 3, 3},
		{118, 31, 5, 4},
		{118, 31, 4, 1},
		{118, 31, 1, 2},
		{118, 31, 7, 30},
		{118, 31, 3, 1000},
		{198, 51, 3, 5},
		{78, 16, 3, 3},
		{76, 15, 3, 3},
		{78, 16, 5, 2},
		{78, 16, 3, 30},
		{78, 16, 3, 1000},
		{58, 9, 3, 3},
		{54, 9, 3, 3},
		{58, 9, 5, 30},
	} {
		name := fmt.Sprintf("%dx%d-%d-members-%d-nodes", c.w, c.h, c.members, c.nodes)
		t.Run(name, func(t *testing.T) {
			s := scene.Of(shape(c.members, c.nodes, 1), c.w, c.h)
			tuitest.Golden(t, name, tuitest.Planes(drawn(s, named(s))))
		})
	}
}

// Where a lesson shows the picture on a terminal of 80x24, a row is free below the nodes, so that
// a ring around one has all four sides.
func TestARingFitsBelowANode(t *testing.T) {
	s := scene.Of(shape(3, 3, 1), 78, 12)
	for _, p := range s.Places {
		for _, below := range s.Places {
			if strings.HasPrefix(p.ID, "node/") && strings.HasPrefix(below.ID, "svc/") && p.Rect.Y+p.Rect.H >= below.Rect.Y {
				t.Errorf("%s ends in row %d, and %s begins in row %d", p.ID, p.Rect.Y+p.Rect.H-1, below.ID, below.Rect.Y)
			}
		}
	}
}

// States, and things on their way at shares 0, 0.5 and 1.
func TestLights(t *testing.T) {
	for _, share := range []float64{0, 0.5, 1} {
		s := scene.Of(shape(3, 3, 1), 118, 31)
		p := named(s)
		light := func(from, to string, glyph rune, st grid.Style, chip bool) {
			i, back, ok := s.Way(from, to)
			if !ok {
				t.Fatalf("no way from %s to %s", from, to)
			}
			p.Lines[i] = scene.Line{Light: scene.Lit, Role: st, Label: "put", Note: st, Heads: []scene.Head{{Share: share, Back: back, Glyph: glyph, Style: theme.Title, Chip: chip}}}
		}
		light(scene.You, scene.APIServer, '●', theme.Busy, false)
		light(scene.APIServer, "member/a", '●', theme.Busy, false)
		light("member/b", "member/a", '□', theme.Term2, true)
		light(scene.APIServer, "node/node-2", '◆', theme.Added, false)
		p.Boxes[s.Index("member/a")].Standing = scene.Emphasised
		p.Boxes[s.Index("member/c")].Standing = scene.Down
		p.Boxes[s.Index("node/node-3")].Standing = scene.Degraded
		i, _, _ := s.Way("member/a", "member/c")
		p.Lines[i].Cut = true
		tuitest.Golden(t, fmt.Sprintf("lights-%g", share), tuitest.Planes(drawn(s, p)))
	}
}

func within(a, b grid.Rect) bool {
	return a.X >= b.X && a.Y >= b.Y && a.X+a.W <= b.X+b.W && a.Y+a.H <= b.Y+b.H
}

// Whatever there is and however large the window: places do not overlap and are inside,
// ways cross no place but those that their ends stand in, their cells hang together, and
// each ends beside a border of where it leads.
func TestAnyScene(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	for range 1000 {
		w, h := 54+rnd.Intn(187), 9+rnd.Intn(62)
		nodes := rnd.Intn(8)
		if rnd.Intn(3) == 0 {
			nodes = rnd.Intn(5000)
		}
		sh := shape(rnd.Intn(10), nodes, rnd.Intn(4))
		sh.Servers = []string{"webhook/a", "kms", "oidc", "registry"}[:rnd.Intn(5)]
		sh.Grain = scene.Grain(rnd.Intn(3))
		for i := range rnd.Intn(3) * rnd.Intn(12) {
			sh.Volumes = append(sh.Volumes, fmt.Sprintf("demo/data-%d", i+1))
		}
		s := scene.Of(sh, w, h)
		name := fmt.Sprintf("%dx%d %d members %d nodes %d services", w, h, len(sh.Members), nodes, len(sh.Services))
		if s.Form == scene.None {
			continue
		}
		check(t, fmt.Sprintf("%s %d volumes", name, len(sh.Volumes)), s)
		if t.Failed() {
			return
		}
		if s.Foot.Y+s.Foot.H > h || s.Foot.H < 0 {
			t.Fatalf("%s: the foot is at %v", name, s.Foot)
		}
		for _, n := range sh.Nodes {
			if s.Index("node/"+n) < 0 {
				t.Fatalf("%s: %s stands nowhere", name, n)
			}
		}
	}
}

// The same holds of the members in their ring or rows, and what is said below stands below them.
func TestAnyRing(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	for range 600 {
		w, h := 54+rnd.Intn(187), 9+rnd.Intn(62)
		r := scene.Ring{Foot: 3 + rnd.Intn(14)}
		for i := range 1 + rnd.Intn(9) {
			r.Voters = append(r.Voters, string(rune('a'+i)))
		}
		r.Hub = r.Voters[rnd.Intn(len(r.Voters))]
		if rnd.Intn(3) == 0 {
			r.Learners = []string{"x"}
		}
		s := scene.RingOf(r, w, h)
		name := fmt.Sprintf("%dx%d %d voters, %d learners, foot of %d", w, h, len(r.Voters), len(r.Learners), r.Foot)
		if s.Form == scene.None {
			continue
		}
		if check(t, name, s); t.Failed() {
			return
		}
		for _, v := range r.Voters {
			at, ok := s.At(scene.MemberID(v))
			if !ok || at.Rect.Y+at.Rect.H > s.Foot.Y {
				t.Fatalf("%s: %s stands at %v, there %t, and the words begin at %d", name, v, at.Rect, ok, s.Foot.Y)
			}
		}
		if s.Foot.Y+s.Foot.H > h || s.Foot.H < 3 {
			t.Fatalf("%s: the words are at %v", name, s.Foot)
		}
	}
}

func check(t *testing.T, name string, s *scene.Scene) {
	owner := make([]int, s.W*s.H) // the innermost place of each cell, counted from 1
	for i, p := range s.Places {
		r := p.Rect
		if !within(r, grid.Rect{W: s.W, H: s.H}) || r.W <= 0 || r.H <= 0 {
			t.Errorf("%s: %s at %v is outside", name, p.ID, r)
			return
		}
		if up, ok := s.At(p.In); ok && !within(r, up.Inside()) {
			t.Errorf("%s: %s at %v is not inside %s at %v", name, p.ID, r, up.ID, up.Inside())
		}
		for y := r.Y; y < r.Y+r.H; y++ {
			for x := r.X; x < r.X+r.W; x++ {
				was := owner[y*s.W+x]
				if was > 0 && s.Places[was-1].ID != p.In {
					t.Errorf("%s: %s at %v lies over %s at %v", name, p.ID, r, s.Places[was-1].ID, s.Places[was-1].Rect)
					return
				}
				owner[y*s.W+x] = i + 1
			}
		}
	}
	for _, e := range s.Edges {
		if len(e.Cells) == 0 {
			if e.Class != scene.Raft {
				t.Errorf("%s: the way from %s to %s has no cell", name, e.From, e.To)
			}
			continue
		}
		around := []string{e.From, e.To}
		for _, id := range around[:2] {
			if p, ok := s.At(id); ok {
				around = append(around, p.In)
			}
		}
		for i, c := range e.Cells {
			if c.X < 0 || c.Y < 0 || c.X >= s.W || c.Y >= s.H {
				t.Errorf("%s: the way from %s to %s leaves the window", name, e.From, e.To)
				return
			}
			if in := owner[c.Y*s.W+c.X]; in > 0 && !slices.Contains(around[2:], s.Places[in-1].ID) && s.Places[in-1].ID != scene.Store {
				t.Errorf("%s: the way from %s to %s crosses %s", name, e.From, e.To, s.Places[in-1].ID)
				return
			}
			if i > 0 && e.Class != scene.Raft && max(c.X-e.Cells[i-1].X, e.Cells[i-1].X-c.X)+max(c.Y-e.Cells[i-1].Y, e.Cells[i-1].Y-c.Y) != 1 {
				t.Errorf("%s: the way from %s to %s has a gap", name, e.From, e.To)
			}
		}
		for _, j := range e.Joints {
			near := false
			for _, c := range []scene.Cell{e.Cells[0], e.Cells[len(e.Cells)-1]} {
				near = near || max(c.X-j.X, j.X-c.X)+max(c.Y-j.Y, j.Y-c.Y) == 1
			}
			if !near {
				t.Errorf("%s: the way from %s to %s ends beside no border: %v", name, e.From, e.To, j)
			}
		}
	}
}

// What stands above the nodes stays where it is while nodes come and go in the same form,
// and the same shape has the same places.
func TestAPlaceNeverMoves(t *testing.T) {
	for _, size := range [][2]int{{118, 31}, {78, 16}, {58, 9}, {198, 51}} {
		var above []scene.Place
		var grain scene.Grain
		for n := range 60 {
			s := scene.Of(shape(3, n, 1), size[0], size[1])
			if again := scene.Of(shape(3, n, 1), size[0], size[1]); fmt.Sprint(again.Places, again.Edges) != fmt.Sprint(s.Places, s.Edges) {
				t.Fatalf("%v, %d nodes: laid out twice, twice otherwise", size, n)
			}
			var now []scene.Place
			for _, p := range s.Places {
				if len(p.ID) < 5 || p.ID[:4] != "node" && p.ID[:4] != "svc/" {
					now = append(now, p)
				}
			}
			if n > 0 && s.Grain == grain && fmt.Sprint(now) != fmt.Sprint(above) {
				t.Fatalf("%v: the %dth node moves what stands above", size, n)
			}
			above, grain = now, s.Grain
		}
	}
}

func TestFormOf(t *testing.T) {
	for _, c := range []struct {
		w, h int
		want scene.Form
	}{{112, 28, scene.Full}, {111, 28, scene.Small}, {112, 27, scene.Small}, {76, 15, scene.Small}, {75, 15, scene.Strip}, {54, 9, scene.Strip}, {53, 9, scene.None}, {54, 8, scene.None}} {
		if got := scene.FormOf(c.w, c.h); got != c.want {
			t.Errorf("%dx%d is form %d, want %d", c.w, c.h, got, c.want)
		}
	}
}

func BenchmarkPaint(b *testing.B) {
	for _, size := range [][2]int{{118, 31}, {198, 51}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			sh := shape(3, 3, 2)
			g := grid.New(size[0], size[1])
			var painter scene.Painter
			for b.Loop() {
				s := scene.Of(sh, size[0], size[1])
				painter.Paint(g.Area(), s, named(s))
			}
		})
	}
}
