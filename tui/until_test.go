package tui

import (
	"strings"
	"testing"

	"kviz/cluster/expr"
	"kviz/tui/menu"
)

// u offers sentences before anybody has to know the expression language.
func TestRunUntilOffersSentences(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		d := explore(t, size[0], size[1], -1).press("u")
		d.shows("Run until", "Deployment demo/web is rolled out", "a write is refused")
		d.typed("election").press("enter")
		d.asked(`until event.kind == "raft.role" && event.payload.role == "leader"`)
		d.shows("runs until")
	}
}

// What a sentence means is an expression that can be evaluated; what holds already is not offered.
func TestEverySentenceIsAnExpression(t *testing.T) {
	d := explore(t, 120, 40, -1)
	s := d.m.travel.State()
	seen := map[string]bool{}
	for _, resource := range []string{"deployments", "pods", "nodes", "services", "replicasets"} {
		for _, o := range s.Objects(resource, "") {
			for _, offer := range menu.Sentences(s, o.Ref) {
				p, err := expr.Compile(offer.Expr)
				if err != nil {
					t.Errorf("%s: %v", offer.Says, err)
					continue
				}
				seen[offer.Says] = true
				if holds, err := p.Eval(s, nil); err != nil || holds {
					t.Errorf("%s: it holds already (%v), or cannot be evaluated: %v", offer.Says, holds, err)
				}
			}
		}
	}
	for _, want := range []string{"Pod demo/web-7f9c-x9b2c is ready", "Pod demo/web-7f9c-m4q7z is gone", "Service demo/web is written", "Node node-1 is not ready", "the store has no quorum"} {
		if !seen[want] {
			t.Errorf("nobody offers %q", want)
		}
	}
	for _, not := range []string{"Pod demo/web-7f9c-m4q7z is ready", "the store has a quorum again"} {
		if seen[not] {
			t.Errorf("%q is offered though it is so", not)
		}
	}
}

// Names are completed while an expression is typed, and a misspelt one is refused with the
// nearest.
func TestExpressionsAreCompleted(t *testing.T) {
	d := explore(t, 120, 40, -1).press("u", "end", "enter")
	d.shows("Run until", "tab complete", "objects(")
	d.typed("sto").press("tab").typed(".lead")
	d.shows("› store.lead", "leader")
	d.press("tab").typed(` == "`)
	d.shows(`a" b" c"`)
	d.typed("b").press("tab", "enter")
	d.asked(`until store.leader == "b"`)

	d.press("b", "end", "enter").typed(`event.kind == "sched.dec`).press("tab")
	d.shows(`› event.kind == "sched.decision"`)
	d.typed(` && event.payload.nod`).press("tab").typed(` == "node-`)
	d.shows("node-1")
	if strings.Contains(d.screen(), "no payload has") {
		t.Error("what is right is refused")
	}
}
