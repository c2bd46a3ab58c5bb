package tui

import (
	"fmt"
	"testing"

	"kviz/lessons"
	"kviz/tui/tuitest"
)

// oneLesson is a lesson of two steps.
type oneLesson struct {
	on       bool
	step     int
	answered int
	hints    int
	gone     bool // the pod object
	did      []string
}

func (l *oneLesson) List() []lessons.Info {
	return []lessons.Info{{ID: "healing", Title: "Who brings the pod back?", Part: "Controllers", Teaches: "level-triggered reconciling", Minutes: 12}}
}

func (l *oneLesson) Start(id string) error {
	if id != "healing" {
		return fmt.Errorf("there is no lesson %q", id)
	}
	l.on, l.step = true, 1
	return nil
}

func (l *oneLesson) Do(action string) error {
	l.did = append(l.did, action)
	switch action {
	case "next":
		l.step++
	case "leave":
		l.on = false
	case "hint":
		l.hints++
	case "answer 2":
		l.answered = 2
	}
	return nil
}

func (l *oneLesson) Look() lessons.Look {
	look := lessons.Look{
		Active: l.on, Title: "Who brings the pod back?", Step: l.step, Steps: 2, Kind: "predict", CanNext: true, HintsOf: 3, HintNo: l.hints,
		Text: "Three `web` pods run. We delete one. What happens **first**?", Answered: l.answered > 0,
	}
	for i, c := range []string{"the scheduler picks a node", "the ReplicaSet controller's queue gets one key", "the kubelet restarts it"} {
		look.Choices = append(look.Choices, lessons.ChoiceLook{Text: c, Chosen: l.answered == i+1, Right: i == 1})
	}
	if look.Answered {
		look.Verdict = "It did: the key was added at #88."
	}
	look.Goals = []lessons.GoalLook{{Say: "the pod object is gone", Met: l.gone}, {Say: "three ready pods again"}}
	if l.hints > 0 {
		look.Hint = "Select a W cell in the map."
	}
	return look
}

func TestLessonBesideThePanes(t *testing.T) {
	l := &oneLesson{}
	d := explore(t, 120, 40, -1, func(c *Config) { c.Lessons = l })
	d.press("L")
	d.shows("Who brings the pod back?", "12 min", "Teaches: level-triggered reconciling")
	d.press("down", "enter")
	d.shows("1/2 predict", "the kubelet restarts it")
	d.press("alt+2", "ctrl+t")
	d.shows("It did: the key was added at #88.", "Hint 1 of 3", "□  the pod object is gone")
	tuitest.Golden(t, "120x40-lesson", d.planes())
	d.press("ctrl+n", "ctrl+x")
	d.hides("Who brings the pod back?")
	if got := fmt.Sprint(l.did); got != "[answer 2 hint next leave]" {
		t.Fatal(got)
	}
	small := explore(t, 80, 24, -1, func(c *Config) { c.Lessons = &oneLesson{}; c.Lesson = "healing" })
	small.shows("Who brings the pod back?", "1…3 answer", "the kubelet restarts it") // large, to be read
	tuitest.Golden(t, "80x24-lesson-large", small.planes())
	small.press("2").shows("It did: the key was added at #88.")
	small.press("L").shows("1map")
	tuitest.Golden(t, "80x24-lesson", small.planes())
	small.press("L").hides("Who brings the pod back?")
	small.press("L", "5").shows("5 Work queues", "1map") // a pane asked for has its place again
}
