package lessons_test

import (
	"strings"
	"testing"

	"kviz/lessons"
	"kviz/tui/panes"
)

// beats is a small lesson in beats, in which a part is replaced.
func beats(old, new string) string {
	return strings.Replace(`---
format: 2
version: 1
id: L50
title: A lesson
part: Tests
teaches: [what a beat may have]
minutes: 5
---

## A chapter

### Look {#look} see

Each member keeps its own log.

{leader} leads term {store.term}. The mark is the commit index.

`+"```stage"+`
show: store/logs
let: {leader: store.leader, entry: 'store.members[leader].last + 1'}
stop: event.kind == "raft.commit" && event.payload.index >= entry
spot: store:commit
`+"```"+`

### Crash it {#crash} do

Crash the leader.

`+"```offer"+`
- kviz fault crash member/{leader}
`+"```"+`

`+"```goal"+`
id: crashed
say: the leader, {leader}, has crashed
edge: event.kind == "fault.inject" && event.payload.target == "member/" + leader
hints: [It has a star.]
`+"```"+`

### Your turn {#free} free

Break what you like.

`+"```goal"+`
id: any
say: something was broken
optional: true
edge: event.kind == "fault.inject"
hints: [Anything.]
`+"```"+`
`, old, new, 1)
}

// TestBeatsAsWritten reads a lesson in beats, and refuses what is wrong with one, with the line
// and the nearest name where there is one.
func TestBeatsAsWritten(t *testing.T) {
	l, err := lessons.Parse("lesson.md", []byte(beats("", "")), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	look := l.Steps[0]
	if len(l.Steps) != 3 || look.Chapter != "A chapter" || len(look.Caption) != 2 || look.Stage.Show.Source() != "store/logs" || len(look.Stage.Let) != 2 {
		t.Errorf("it reads %d beats, the first %+v", len(l.Steps), look)
	}
	if crash := l.Steps[1]; len(crash.Offers) != 1 || crash.Offers[0].Run.Source() != "kviz fault crash member/{leader}" {
		t.Errorf("it offers %+v", crash.Offers)
	}
	for _, wrong := range []struct{ old, new, says string }{
		{"version: 1\n", "", "version: want a whole number"},
		{"show: store/logs", "show: stroe/logs", `show: there is no pane "stroe"`},
		{"show: store/logs\n", "", "the first beat says what stands on the stage"},
		{"spot: store:commit\n", "", "a see beat says where to look (spot)"},
		{"spot: store:commit", "spot: [store:a, store:b, store:c]", "spot: at most two"},
		{"spot: store:commit", "spoot: store:commit", `unknown field "spoot"`},
		{"stop: event.kind == \"raft.commit\" && event.payload.index >= entry\n", "", "has a stop, at which its change has come, or still: true"},
		{"event.payload.index", "event.payload.indx", `did you mean "index"`},
		{"leader: store.leader", "leader: store.leadr", `did you mean "leader"`},
		{"leader: store.leader", "time: store.leader", `"time" means something in every expression already`},
		{"{leader} leads", "{leadr} leads", `unknown name "leadr"; did you mean "leader"`},
		{"{leader} leads", "{leader leads", "a { has no }"},
		{"leads term {store.term}.", "leads term 2.", `lesson.md:13: beat "look": "2" stands in its text`},
		{"Each member keeps its own log.", "Each member simply keeps its own log.", `it says "simply"`},
		{"Each member keeps its own log.", "Whoever leads has a log.", `it says "Whoever" in "Whoever leads has a log."; write "anyone who"`},
		{"say: something was broken", "say: the leader was told", `lesson.md:41: beat "free": it says "was told"`},
		{"hints: [Anything.]", "hints: [A fault of which nobody hears.]", `it says "of which"`},
		{"{#crash} do", "anew {#crash} do", `it says "anew" in "Crash it anew"`},
		{"## A chapter", "## A wish", `lesson.md:13: beat "look": it says "wish" in "A wish"`},
		{"teaches: [what a beat may have]", "teaches: [whom a leader hears]", `lesson.md:13: beat "look": it says "hears"`},
		{"Each member keeps its own log.", strings.Repeat("A member has a log. ", 12), "it says 70 words; at most 45"},
		{"Each member keeps its own log.", strings.Repeat("very ", 21) + "long.", "a sentence of its text has 22 words"},
		{"Each member keeps its own log.", "Is it " + strings.Repeat("very ", 19) + "long? Yes.", "a sentence of its text has 22 words"},
		{"hints: [It has a star.]", "hints: [" + strings.Repeat("very ", 20) + "far.]", "a sentence of its question, goals and hints has 21 words"},
		{"Each member keeps its own log.", "Implementations accommodate unpredictable interruptions.", "the grade of its text is "},
		{"The mark is the commit index.", "", `its text does not name what is in the ring "store:commit"`},
		{"spot: store:commit", "spot: [store:commit, 'store:msg/{event.payload.index}']", `its text does not name what is in the ring "store:msg/`},
		{"```offer\n- kviz fault crash member/{leader}\n```\n", "", "has goals, and offers the commands"},
		{"hints: [It has a star.]", `hints: ["Type kviz fault crash member/{leader}"]`, `a hint of "crashed" gives the command away`},
		{"optional: true\n", "", "a free beat has at least one optional goal"},
		{"{#look} see", "{#look} sea", "is no beat: want ### Title"},
	} {
		_, err := lessons.Parse("lesson.md", []byte(beats(wrong.old, wrong.new)), panes.Names())
		if err == nil || !strings.Contains(err.Error(), wrong.says) {
			t.Errorf("%q instead of %q gives %v; want %q", wrong.new, wrong.old, err, wrong.says)
		}
	}
}
