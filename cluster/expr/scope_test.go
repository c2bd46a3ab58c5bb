package expr_test

import (
	"strings"
	"testing"

	"kviz/cluster/expr"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// bind reads expressions in order, each of which may use the names before it, and gives
// what they are in the small state.
func bind(t *testing.T, lets ...string) (*expr.Scope, expr.Values) {
	t.Helper()
	s, e := small()
	scope, values := &expr.Scope{}, expr.Values{}
	for _, let := range lets {
		name, src, _ := strings.Cut(let, ": ")
		p, err := scope.CompileAny(src)
		if err != nil {
			t.Fatal(err)
		}
		if values[name], err = p.Value(s, e, values); err != nil {
			t.Fatal(err)
		}
		if err := scope.Bind(name, p); err != nil {
			t.Fatal(err)
		}
	}
	return scope, values
}

// The names of a beat of the lesson about the leader: who led, with which entry, and when.
func TestBoundNames(t *testing.T) {
	s, e := small()
	scope, values := bind(t, "old: store.leader", "entry: store.members[old].last + 1", "at: time", "member: store.members[old]",
		`web: object("deployments", "demo", "web")`, `pods: objects("pods", "demo")`)
	for src, want := range map[string]string{
		"old":                      "b",
		"entry":                    "10",
		`"member/" + old`:          "member/b",
		"time - at":                "0s",
		"member.last == entry - 1": "true",
		"web.spec.replicas":        "2",
		"pods.size()":              "2",
		"pods.all(p, p.metadata.name.startsWith('web-'))": "true",
	} {
		p, err := scope.CompileAny(src)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := p.TextIn(s, e, values); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", src, got, err, want)
		}
	}
	if got := values["entry"].Text(); got != "10" {
		t.Errorf("the value reads %q", got)
	}
}

// A name's fields are checked as those of what it stands for.
func TestBoundNamesAreChecked(t *testing.T) {
	scope, _ := bind(t, "member: store.members[\"b\"]", "web: object(\"deployments\", \"demo\", \"web\")", "old: store.leader")
	for src, want := range map[string]string{
		"member.lst == 3":       `member has no "lst"; did you mean "last"?`,
		"web.spec.replica == 3": `web.spec has no "replica"; did you mean "replicas"?`,
		"olt == \"a\"":          `unknown name "olt"; did you mean "old"?`,
		"old.term == 3":         `old is a plain value; it has no "term"`,
		"event.payload.membr == old && event.kind == \"raft.role\"": `raft.role has no "membr"; did you mean "member"?`,
	} {
		_, err := scope.Compile(src)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
	if _, err := expr.Compile("old == \"a\""); err == nil {
		t.Error("a name is known outside its scope")
	}
}

// A value is what it was when its name was bound.
func TestBoundNamesKeepTheirMoment(t *testing.T) {
	s, e := small()
	scope, values := bind(t, "term: store.term")
	p, err := scope.Compile("store.term == term")
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := p.EvalIn(s, e, values); err != nil || !ok {
		t.Errorf("before the election: %v, %v", ok, err)
	}
	if ok, err := p.EvalIn(elected(s, 5), e, values); err != nil || ok {
		t.Errorf("after the election: %v, %v", ok, err)
	}
	// A name that has no value yet, such as one that is bound at a later stop, is missing.
	if ok, err := p.EvalIn(s, e, nil); err != nil || ok {
		t.Errorf("before it is bound: %v, %v", ok, err)
	}
}

// elected is the state after a member became the leader of another term.
func elected(s *view.State, term uint64) *view.State {
	b := view.From(s)
	b.Apply(&trace.Event{
		ID: trace.ID{Seq: 90, Sub: 1}, At: s.At, Lane: trace.Lane{Component: "member", Instance: "a"}, Kind: trace.MemberRole,
		Payload: &trace.MemberState{Member: "a", Role: "leader", Term: term, Leader: "a", Last: 9},
	})
	return b.Mark()
}

func TestNamesThatAreTaken(t *testing.T) {
	p, err := expr.CompileAny("store.term")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"store", "objects", "in", "size", "__state", "a-b", ""} {
		if err := new(expr.Scope).Bind(name, p); err == nil {
			t.Errorf("%q was bound", name)
		}
	}
}

// Texts say durations, and how long nothing was committed.
func TestTimesInTexts(t *testing.T) {
	for src, want := range map[string]string{
		`ms(duration("271ms"))`:  "271 ms",
		`ms(duration("12.34s"))`: "12.3 s",
		`gap(time)`:              "0",
	} {
		p, err := expr.CompileAny(src)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Text(view.NewBuilder().Mark(), nil); err != nil || got != want {
			t.Errorf("%s is %q (%v), want %q", src, got, err, want)
		}
	}
	var sc *expr.Scope
	clone := sc.Clone()
	p := expr.MustCompile("store.term == 1")
	if err := clone.Bind("x", p); err != nil || clone.Clone().Bind("ms", p) == nil {
		t.Errorf("a clone binds x (%v), and not ms", err)
	}
}
