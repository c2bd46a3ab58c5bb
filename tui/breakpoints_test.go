package tui

import (
	"strings"
	"testing"
)

func TestBreakpointsAreSetListedAndRemoved(t *testing.T) {
	d := explore(t, 120, 40, -1).press("8", "down", "down", "down", "b")
	d.shows("Breakpoints", "at every proxy.rule: ", "where an expression holds")
	d.press("enter")
	d.asked(`break event.kind == "proxy.rule"`)
	d.shows(`breakpoint 1: event.kind == "proxy.rule"`)
	d.press("b", "end", "enter")
	d.shows("Stop where")
	d.typed("bad").press("enter")
	d.shows("Stop where", `there is no "bad"`, "   bad ", "   ^ ") // the mark below the place, and the prompt still open
	for range "bad" {
		d.press("backspace")
	}
	d.typed(`store.leader == "b"`).press("enter")
	d.asked(`break store.leader == "b"`)
	d.press("b")
	d.shows(`● 1  event.kind == "proxy.rule"`, `● 2  store.leader == "b"`, "hit 0 times")
	d.press("enter")
	d.asked("unbreak 1")
	d.shows("breakpoint 1 is removed")
	d.press("b")
	d.hides("● 1 ")
}

func TestBreakpointsOfAnObjectAndAComponent(t *testing.T) {
	d := explore(t, 120, 40, -1)
	for i := 0; i < 30 && d.m.frame.Focused().Under().Pod == ""; i++ {
		d.press("down")
	}
	pod := d.m.frame.Focused().Under().Ref
	d.press("b")
	d.shows("at everything about " + pod.String())
	for _, s := range d.m.breakable() {
		if s.Says == "at everything about "+pod.String() {
			want := `event.object.kind == "Pod" && event.object.name == "` + pod.Name + `" && event.object.namespace == "` + pod.Namespace + `"`
			if s.Expr != want {
				t.Fatalf("%s is the expression %s, want %s", s.Says, s.Expr, want)
			}
		}
	}
	d.shows(" does")
}

func TestBreakpointsAtTheStagesOfARequest(t *testing.T) {
	d := explore(t, 120, 40, -1).press("3", "down", "b")
	d.shows("after the stage validating-admission of a request for a ", "after the stage storage")
	d.press("esc")
	var want string
	for _, s := range d.m.breakable() {
		if strings.HasPrefix(s.Says, "after the stage mutating-admission") {
			want = s.Expr
		}
	}
	if !strings.HasPrefix(want, `event.kind == "api.stage" && event.payload.stage == "mutating-admission" && event.object.kind == "`) {
		t.Fatalf("behind mutating admission is the expression %s", want)
	}
}

func TestARecordingHasNoBreakpoints(t *testing.T) {
	d := explore(t, 120, 40, -1, func(c *Config) { c.Cluster, c.Recording = nil, "story.kvrun" }).press("b")
	d.shows("this is a recording")
}
