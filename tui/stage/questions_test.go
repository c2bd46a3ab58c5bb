package stage_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kviz/assets"
	"kviz/lessons"
	"kviz/tui/grid"
	"kviz/tui/panes"
	"kviz/tui/stage"
)

// smallLesson is the lesson that is played here.
func smallLesson(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/lesson.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// asLearner is the progress of somebody whose answers are laid out by a seed.
func asLearner(seed uint64) *lessons.Progress {
	p := lessons.NewProgress(aDay)
	p.Seed = seed
	return p
}

// answers chooses what begins with a text, wherever it stands.
func (p *play) answers(text string) {
	p.t.Helper()
	n := slices.IndexFunc(p.look().Choices, func(c lessons.ChoiceLook) bool { return c.Text == text })
	if n < 0 {
		p.t.Fatalf("%q is not among %v", text, p.look().Choices)
	}
	p.press(strconv.Itoa(n + 1))
}

// goesTo goes on until a beat, doing what is offered and answering nothing.
func (p *play) goesTo(beat string) {
	p.t.Helper()
	for range 20 {
		p.runs()
		if p.look().Beat.ID == beat {
			return
		}
		p.press(" ")
	}
	p.t.Fatalf("it never comes to %s, but to %s", beat, p.look().Beat.ID)
}

// TestAnswersAreTakenAsTheyStand chooses by the key that stands before an answer: learners see them in either
// order, and each is judged by what they chose.
func TestAnswersAreTakenAsTheyStand(t *testing.T) {
	const right, wrong = "It is committed, though one member lacks it", "It waits for the last member"
	first := map[string]bool{}
	for seed := range uint64(6) {
		p := beginOf(t, aWrite("a"), smallLesson(t), asLearner(seed))
		p.goesTo("guess")
		first[p.look().Choices[0].Text] = true
		p.answers(wrong)
		p.press("3")
		p.goesTo("committed")
		told := p.look().Beat.Told
		if told == nil || told.Right || told.Said != wrong {
			t.Fatalf("learner %d chose %q and is judged %+v", seed, wrong, told)
		}
		for _, c := range told.Choices {
			if c.Right != (c.Text == right) || c.Chosen != (c.Text == wrong) {
				t.Errorf("learner %d: %+v", seed, c)
			}
		}
	}
	if len(first) != 2 {
		t.Errorf("all six learners see the same answer first: %v", first)
	}
}

// inOrder is a lesson with a question of order, which its own run answers, and a beat with goals that gives the verdict
// where as says so.
func inOrder(t *testing.T, goals bool) string {
	t.Helper()
	text := smallLesson(t)
	from := strings.Index(text, "### On a second disk")
	to := strings.Index(text, "### Which one?")
	end := strings.Index(text, "### Your turn")
	order := `### In which order? {#order} predict

Somebody writes. The events of your own run decide.

` + "```stage\nlet: {entry: 'store.members[leader].last + 1'}\n```" + `

` + "```question" + `
ask: In which order does it happen to the entry?
reveal: event.kind == "raft.commit" && event.payload.index >= entry
order:
  - text: the leader sends it to the other two members
    why: A follower has only what the leader sends.
    is: event.kind == "raft.send"
  - text: a follower has it on its disk and answers
    why: The leader waits for a majority, and is one of it.
    is: event.kind == "raft.durable" && event.payload.member != leader
    ghost: store:commit
  - text: it is committed, and the writer is answered
    why: Nothing is answered before it is committed.
    is: event.kind == "raft.commit" && event.payload.index >= entry
` + "```\n\n"
	committed := text[strings.Index(text, "### Committed"):to]
	if goals {
		committed = "### Write {#committed} do\n\nWrite, and look.\n\n```offer\n- kubectl get pods\n```\n\n"
		for i, say := range []string{"the write is committed", "no member has crashed", "the writer got its answer"} {
			goal := `edge: event.kind == "raft.commit" && event.payload.index >= entry`
			if i == 1 {
				goal = `never: event.kind == "raft.down"`
			}
			committed += fmt.Sprintf("```goal\nid: g%d\nsay: %s\n%s\nhints: [Wait.]\n```\n\n", i, say, goal)
		}
	}
	return text[:from] + order + committed + text[end:]
}

// TestAnOrderIsJudgedByTheRun puts cards in a wrong order: nothing is said of it before the run has decided; then the
// right order stands there, with the places that were given. How sure one is is asked before.
func TestAnOrderIsJudgedByTheRun(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		w, h := size[0], size[1]
		p := beginOf(t, aWrite("a"), inOrder(t, false), asLearner(3))
		p.goesTo("order")
		p.press("1")
		p.shows("order-1-half", w, h)
		p.press("2")
		p.press("3")
		p.shows("order-2-how-sure", w, h)
		if look := p.look(); !look.Beat.AskSure || look.Verdict != "You will see. Go on." {
			t.Errorf("before the run has decided it says %q; asks how sure: %v", look.Verdict, look.Beat.AskSure)
		}
		p.press("2")
		p.shows("order-3-answered", w, h)
		p.press(" ")
		p.runs()
		p.press(" ")
		if told := p.look().Beat.Told; told == nil || told.Right || len(told.Parts) != 3 || told.Parts[0].Place != 1 || told.Parts[0].Said == 0 {
			t.Errorf("the verdict is %+v", told)
		}
		p.shows("order-4-verdict", w, h)
		p.press("left")
		p.shows("order-5-back", w, h)
	}
}

// TestGoalsAndAVerdictFit has a verdict fall in a beat with three goals: all three are on the screen.
func TestGoalsAndAVerdictFit(t *testing.T) {
	p := beginOf(t, aWrite("a"), inOrder(t, true), asLearner(3))
	p.goesTo("order")
	for _, key := range []string{"1", "2", "3", "3", " "} {
		p.press(key)
	}
	p.runs()
	p.shows("order-goals", 80, 24)
	g := grid.New(80, 24)
	p.stage.Draw(g, stage.Around{})
	for _, want := range []string{"the write is committed", "no member has crashed", "the writer got its answer", "your prediction: "} {
		if !strings.Contains(g.Plane(), want) {
			t.Errorf("%q is not on the screen:\n%s", want, g.Plane())
		}
	}
}

// TestAnswersOfAllLessonsAreWhole draws every question as twenty learners see it at 80x24: no answer is cut, also while
// they say how sure they are.
func TestAnswersOfAllLessonsAreWhole(t *testing.T) {
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	p := begin(t, aWrite("a"))
	for _, l := range all {
		for _, step := range l.Steps {
			q := step.Question
			if q == nil || q.Form() != lessons.OneOf && q.Form() != lessons.Order {
				continue
			}
			var texts []string
			for _, c := range q.Choices {
				texts = append(texts, c.Text)
			}
			for _, c := range q.Cards {
				texts = append(texts, c.Text)
			}
			for seed := range uint64(20) {
				look := p.look()
				look.Kind, look.Ask, look.Form, look.Answered, look.Beat.AskSure = lessons.Predict, q.Ask, q.Form(), true, true
				for i, n := range rand.New(rand.NewPCG(seed, 1)).Perm(len(texts)) {
					look.Choices = append(look.Choices, lessons.ChoiceLook{Text: texts[n], Chosen: i == 0})
				}
				p.stage.Update(look, p.history)
				g := grid.New(80, 24)
				p.stage.Draw(g, stage.Around{})
				for _, text := range append(texts, "How sure are you?") {
					if !strings.Contains(g.Plane(), text) && !strings.Contains(text, "{") {
						t.Fatalf("%s, %s: %q is not on the screen:\n%s", l.ID, step.ID, text, g.Plane())
					}
				}
			}
		}
	}
}
