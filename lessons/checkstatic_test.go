package lessons_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"kviz/assets"
	"kviz/lessons"
	"kviz/tui/panes"
	"kviz/tui/stage"
)

// A field that there is not is told with its own line, its beat and the nearest name, also of a part of a part.
func TestUnknownFields(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"minutes: 5", "minuts: 5", `lesson.md:8: unknown field "minuts"; did you mean "minutes"?`},
		{"spot: store:commit", "spoot: store:commit", `lesson.md:23: beat "look": stage: unknown field "spoot"; did you mean "spot"?`},
		{"- kviz fault crash member/{leader}", "- {run: true, exti: 1}", `lesson.md:31: beat "crash": offer: unknown field "exti"; did you mean "exit"?`},
		{"hints: [It has a star.]", "hints: [{text: It has a star., wen: 'true'}]", `lesson.md:38: beat "crash": goal: unknown field "wen"; did you mean "when"?`},
		{"let: {leader", "pin: {x: {is: 'true', bye: x}}\nlet: {leader", `lesson.md:21: beat "look": stage: unknown field "bye"; did you mean "by"?`},
		{"let: {leader", "colour: blue\nlet: {leader", `lesson.md:21: beat "look": stage: unknown field "colour"`},
		{"```goal", "```gaol", `lesson.md:34: beat "crash": unknown block "gaol"; did you mean "goal"?`},
	} {
		_, err := lessons.Parse("lesson.md", []byte(beats(c.old, c.new)), panes.Names())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q instead of %q gives %v; want %q", c.new, c.old, err, c.want)
		}
	}
}

// A script is read before anybody runs it, and ends.
func TestScripts(t *testing.T) {
	for _, c := range []struct{ file, script, want string }{
		{"setup.sh", "for i in 1 2 3; do sleep 1; done", ""},
		{"setup.sh", "if true", "L50/setup.sh:1:1: "},
		{"cleanup.sh", "true\nwhile true; do sleep 1; done", "L50/cleanup.sh:2: a loop without a bound"},
		{"words.sh", "waits() {\n until false; do sleep 1; done\n}", "L50/words.sh:2: a loop without a bound"},
		{"accepted/crash.x.sh", "for ((;;)); do sleep 1; done", "L50/accepted/crash.x.sh:1: a loop without a bound"},
		{"near-miss/crash.x.sh", "echo \"", "L50/near-miss/crash.x.sh:1:6: "},
	} {
		_, err := lessons.Load(fstest.MapFS{
			"L50/lesson.md": {Data: []byte(beats("", ""))}, "L50/" + c.file: {Data: []byte(c.script)},
		}, panes.Names())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, %q: %v; want %q", c.file, c.script, err, c.want)
		}
	}
	_, err := lessons.Load(fstest.MapFS{"L50/lesson.md": {Data: []byte(beats("- kviz fault crash member/{leader}", "- 'while true; do kviz fault crash member/{leader}; done'"))}}, panes.Names())
	if err == nil || !strings.Contains(err.Error(), `L50/lesson.md:26: beat "crash": offer:1: a loop without a bound`) {
		t.Errorf("an offer: %v", err)
	}
}

// What no pane shows, and what no pane can point at, is refused before anything runs.
func TestWhatPanesShow(t *testing.T) {
	pictures := stage.Pictures(panes.All)
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"show: store/logs", "show: store/lgos", `lesson.md:13: beat "look": show: the pane store has no view "lgos"; did you mean "logs"?`},
		{"show: store/logs", "show: object/pods/demo/web", `beat "look": spot "store:commit": object is on the stage; want object:NAME`},
		{"show: store/logs", "show: store/{leader}", ""},
		{"show: store/logs", "show: store/keys//registry/pods", ""},
		{"spot: store:commit", "spot: store:comit", `spot "store:comit": the pane store has no "comit" to point at; did you mean "commit"?`},
		{"spot: store:commit", "spot: [store:commit, 'stroe:entry/{leader}/{entry}']", `there is no pane "stroe"; did you mean "store"?`},
		{"spot: store:commit", "spot: store:commit\nhide: ['store:entri/{leader}/{entry}']", `hide "store:entri/{leader}/{entry}": the pane store has no "entri"`},
		{"spot: store:commit", "spot: [store:commit, store:deployment/demo/web]", ""},
	} {
		text := strings.Replace(beats(c.old, c.new), "The mark is the commit index.", "The mark is the commit index, the entry, web, comit.", 1)
		l, err := lessons.Parse("lesson.md", []byte(text), panes.Names())
		if err != nil {
			t.Errorf("%q: %v", c.new, err)
			continue
		}
		err = l.Points(pictures)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q gives %v; want %q", c.new, err, c.want)
		}
	}
}

// kviz' own lessons show and point at what there is.
func TestOwnLessonsPointAtWhatPanesHave(t *testing.T) {
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if err := l.Points(stage.Pictures(panes.All)); err != nil {
			t.Error(err)
		}
	}
}
