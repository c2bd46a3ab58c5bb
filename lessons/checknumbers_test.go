package lessons_test

import (
	"strings"
	"testing"

	"kviz/lessons"
	"kviz/tui/panes"
)

// What nothing proves is not said as a number.
func TestNumbersThatNothingProves(t *testing.T) {
	const question = "Look at it.\n\n```question\nask: How many?\nreveal: 'true'\nchoices:\n- {text: 3 of them, is: store.quorum.need == 2, right: true, why: It holds.}\n- {text: No, is: 'false', why: No.}\n```\n\n### Crash it {#crash} do\n\nCrash the leader."
	asks := func(old, new string) string {
		return "### Ask {#ask} predict\n\n" + strings.Replace(question, old, new, 1)
	}
	const crash = "### Crash it {#crash} do\n\nCrash the leader."
	for _, c := range []struct{ old, new, want string }{
		{crash, asks("", ""), ""},
		{crash, asks("How many?", "Are there 3?"), `lesson.md:26: beat "ask": "3" stands in its question`},
		{crash, asks("It holds.", "There are 3."), `lesson.md:26: beat "ask": "3" stands in the why of an answer`},
		{crash, asks("It holds.", "'There are {store.quorum.total}.'"), ""},
		{crash, asks("It holds.", "There are five members."), `the why of an answer says "five members", and the scene has 3`},
		{crash, asks("It holds.", "There are three members."), ""},
		{"say: the leader, {leader}, has crashed", "say: 1 member has crashed", `beat "crash": "1" stands in a goal`},
		{"It has a star.", "Wait for 5 s.", `beat "crash": "5" stands in a hint`},
		{"It has a star.", "Wait for `5 s`, at node-1.", ""},
		{"minutes: 5", "minutes: 5\nfacts: [{say: 410 Gone, source: HTTP}]", ""},
		{"Each member keeps its own log.", "Four members each have a log.", `lesson.md:13: beat "look": its text says "Four members", and the scene has 3`},
		{"Each member keeps its own log.", "Two nodes have no log.", `its text says "Two nodes", and the scene has 3`},
	} {
		_, err := lessons.Parse("lesson.md", []byte(beats(c.old, c.new)), panes.Names())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q gives %v; want %q", c.new, err, c.want)
		}
	}
	for _, c := range []struct{ old, new string }{
		{"minutes: 5", "minutes: 5\nscene: {members: 4}"},
		{"minutes: 5", "minutes: 5\nfacts: [{say: Four members, source: a decision}]"},
		{"show: store/logs", "show: store/logs\nclaim: store.members.size() == 4"},
	} {
		text := strings.Replace(beats("Each member keeps its own log.", "Four members each have a log."), c.old, c.new, 1)
		if _, err := lessons.Parse("lesson.md", []byte(text), panes.Names()); err != nil {
			t.Errorf("four members with %q: %v", c.new, err)
		}
	}
}

// A question of fact has an answer that a run proves, or says where it stands.
func TestAnswersHaveASource(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"", `beat "ask": no run proves the answer to its question`},
		{"source: etcd.io/docs\n", ""},
	} {
		question := "Look at it.\n\n```question\nask: How many?\n" + c.source +
			"choices:\n- {text: Some, right: true, why: It holds.}\n- {text: No, why: No.}\n```\n\n### Crash it {#crash} do\n\nCrash the leader."
		text := beats("### Crash it {#crash} do\n\nCrash the leader.", "### Ask {#ask} predict\n\n"+question)
		_, err := lessons.Parse("lesson.md", []byte(text), panes.Names())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q gives %v; want %q", c.source, err, c.want)
		}
	}
}
