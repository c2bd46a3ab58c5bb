// Package belief sets what the API says about a node or a pod, which is what is stored, beside
// how its own processes actually are. Where the two differ, a pane draws one below the other.
//
// Start reading at [Sides].
package belief

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/podmark"
	"kviz/tui/scene"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// Sides are what is said of a thing and what it is.
type Sides struct {
	Said, Is         scene.Claim
	SaidWord, IsWord string
	Since            time.Duration // it is off, or its kubelet down
	Cut              bool          // its node's network is: it is well, and nobody hears of it
}

// Differ reports whether both sides are to be drawn.
func (s Sides) Differ() bool { return scene.Differs(s.Said, s.Is) }

// OfNode looks at both sides of a node.
func OfNode(s *view.State, name string) Sides {
	var b Sides
	switch n := s.Node(name); {
	case n == nil || n.Ready == "":
	case n.Ready == "True":
		b.Said, b.SaidWord = scene.Works, "Ready, reported "+words.Dur((s.At-n.ReportedAt).Truncate(time.Second))+" ago"
	case n.Ready == "False":
		b.Said, b.SaidWord = scene.Ails, "NotReady"
	default:
		b.Said, b.SaidWord = scene.Unheard, "Unknown: it does not report"
	}
	for _, f := range slices.Concat(s.FaultsOn("node/"+name), s.FaultsOn("instance/"+name)) {
		switch f.Fault.Fault {
		case "stop", "crash", "shut-down", "delete":
			b.Is, b.Since, b.IsWord = scene.Off, f.Since, "off since "+clock(f.Since)
		case "cut":
			b.Cut = true
		}
	}
	kubelet := s.Process("kubelet/" + name)
	if kubelet == nil || b.Is != scene.Unsaid {
		return b
	}
	switch {
	case kubelet.Up && b.Said == scene.Ails: // it says so itself
		b.Is = scene.Ails
	case kubelet.Up && b.Cut:
		b.Is, b.IsWord = scene.Works, "its kubelet and its pods run, cut off"
	case kubelet.Up:
		b.Is, b.IsWord = scene.Works, "its kubelet runs"
	default:
		b.Is, b.Since, b.IsWord = scene.Ails, kubelet.Since, "its kubelet is down since "+clock(kubelet.Since)
	}
	return b
}

// OfPod looks at both sides of a pod that has a node.
func OfPod(s *view.State, pod *corev1.Pod) Sides {
	var b Sides
	if pod.Spec.NodeName == "" {
		return b
	}
	switch m := podmark.Of(pod); m.Glyph {
	case '●':
		b.Said, b.SaidWord = scene.Works, m.Word
	case '✗', '◑':
		b.Said, b.SaidWord = scene.Ails, m.Word
	default: // on its way to be one or the other
		return b
	}
	node := OfNode(s, pod.Spec.NodeName)
	if node.Said == scene.Unheard {
		b.Said, b.SaidWord = scene.Unheard, b.SaidWord+", as far as anybody knows"
	}
	if node.Is == scene.Off {
		b.Is, b.IsWord = scene.Off, pod.Spec.NodeName+" is "+node.IsWord
		return b
	}
	n := s.Node(pod.Spec.NodeName)
	if n == nil {
		return b
	}
	np := n.Pod(pod.Namespace + "/" + pod.Name)
	if np == nil || len(np.Containers()) == 0 {
		return b
	}
	b.Is, b.IsWord = scene.Works, "its containers run"
	for _, want := range pod.Spec.Containers { // those that are to run on, not those that come before them
		if c := np.Container(want.Name); c != nil && c.State != "running" {
			b.Is, b.IsWord = scene.Ails, "container "+want.Name+" is "+c.State
			break
		}
	}
	if b.Is == scene.Works && b.Said == scene.Ails && podmark.Of(pod).Glyph == '◑' {
		b.Is = scene.Ails // it runs, and its probe says that it is not ready
	}
	return b
}

// clock is a moment without the parts of its second.
func clock(at time.Duration) string {
	text, _, _ := strings.Cut(words.Clock(at), ".")
	return text
}

// Draw draws both sides where they differ, and gives the row below.
func (s Sides) Draw(to *pane.Sheet, y int) int {
	if !s.Differ() {
		return y
	}
	for _, side := range []struct {
		name, word string
		claim      scene.Claim
	}{{"said ", s.SaidWord, s.Said}, {"is   ", s.IsWord, s.Is}} {
		mark, st := look(side.claim)
		to.Row(y).Spans(0, 0, grid.Span{Text: side.name, Style: theme.Muted}, grid.Span{Text: mark + " " + side.word, Style: st | grid.Bold})
		y++
	}
	return y
}

// look is the mark of a claim, as the map has it.
func look(c scene.Claim) (string, grid.Style) {
	switch c {
	case scene.Works:
		return "●", theme.Good
	case scene.Unheard:
		return "?", theme.Warn
	case scene.Ails, scene.Off:
		return "✗", theme.Bad
	}
	return "?", theme.Muted
}
