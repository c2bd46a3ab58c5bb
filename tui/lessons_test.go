package tui

import (
	"fmt"
	"strings"
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
	return []lessons.Info{{
		ID: "healing", Title: "Who brings the pod back?", Part: "Controllers", Teaches: "level-triggered reconciling",
		Can: []string{"level-triggered reconciling"}, Minutes: 12,
	}}
}

func (l *oneLesson) Beats(string) []lessons.Need { return nil }
func (l *oneLesson) Progress() string            { return "0 of 1 lessons are done" }

func (l *oneLesson) Start(id string) error {
	if id != "healing" {
		return fmt.Errorf("there is no lesson %q", id)
	}
	l.on, l.step = true, 1
	return nil
}

func (l *oneLesson) Await(string) {}

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
	d.shows("Who brings the pod back?", "12 min", "- level-triggered reconciling")
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

// manyLessons are some that are done, begun, due and new.
type manyLessons struct {
	oneLesson
	began string
}

func (l *manyLessons) List() []lessons.Info {
	return []lessons.Info{
		{ID: "L02", Title: "From apply to running, one trace", Part: "Orientation", Minutes: 15, Steps: 21, Done: true, Due: 1, Can: []string{"name who does each step"}},
		{ID: "L08", Title: "The keyspace", Part: "The store", Minutes: 25, Steps: 18, Done: true, Needs: []lessons.Need{{ID: "L02", Done: true}}},
		{
			ID: "L09", Title: "Kill the leader", Part: "The store", Minutes: 25, Steps: 24, Step: 7, Chosen: true,
			Can:   []string{"explain term, vote and commit by what you see", "say what a cluster can do without a leader and without a quorum"},
			Needs: []lessons.Need{{ID: "L02", Done: true}, {ID: "L08", Done: true}},
			Opens: []lessons.Need{{ID: "L09b"}, {ID: "L10"}, {ID: "L10b"}, {ID: "L11"}, {ID: "L11b"}, {ID: "L12"}},
		},
		{ID: "L10", Title: "One, three, four, five members", Part: "The store", Minutes: 30, Steps: 20, Needs: []lessons.Need{{ID: "L09"}}, From: "mine"},
	}
}

func (l *manyLessons) Beats(string) []lessons.Need {
	return []lessons.Need{{ID: "one", Title: "Three members", Done: true}, {ID: "two", Title: "Crash the leader"}}
}

func (l *manyLessons) Start(id string) error { l.began = id; return nil }

// The way through the lessons, and what the chosen one is about: keys go on, begin anew or at a
// beat, ask what is due, and find.
func TestTheWayThrough(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		l := &manyLessons{}
		open := func() *driver { return explore(t, size[0], size[1], -1, func(c *Config) { c.Lessons = l }).press("L") }
		d := open()
		tuitest.Golden(t, fmt.Sprintf("%dx%d-lessons", size[0], size[1]), d.planes())
		for keys, want := range map[string]string{
			"enter": "L09", "r": "L09#", "g down enter": "L09#two", "down enter": "L10", "up up r": "L02#", "R": lessons.Recalling, "/ k e y s enter enter": "L08",
		} {
			open().press(strings.Fields(keys)...)
			if l.began != want {
				t.Errorf("%s begins %q, want %q", keys, l.began, want)
			}
		}
		open().press("p").shows("Your progress", "0 of 1 lessons are done")
		open().press("/", "x", "x").shows("nothing matches")
	}
}
