package tui

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"kviz/lessons"
	"kviz/tui/tuitest"
)

// formed is a lesson of one step, whose question has one of the other forms:
// cards to put in order, or items to label.
type formed struct {
	form  string
	given []int
}

var (
	formCards  = []string{"the leader tells the followers the new commit index", "the entry is on the leader's disk", "a follower has the entry on its disk too", "the client is told its revision"}
	formRight  = []int{2, 3, 4, 1} // the cards in the right order
	formLabels = []string{"the leader alone", "a majority of the members", "nobody"}
	formItems  = []string{"decides that an entry is committed", "sends heartbeats", "answers a linearizable read without a quorum"}
	formEvents = []string{"212.4", "212.7", "213", "213.2"}
	formLabel  = []int{2, 1, 3} // the right label of each item
)

func (l *formed) List() []lessons.Info {
	return []lessons.Info{{ID: "forms", Title: "One write", Part: "The store", Teaches: "say what happens first", Minutes: 5}}
}

func (l *formed) Start(string) error          { return nil }
func (l *formed) Beats(string) []lessons.Need { return nil }
func (l *formed) Await(string)                {}
func (l *formed) Progress() string            { return "" }

func (l *formed) Do(action string) error {
	if n, ok := strings.CutPrefix(action, "answer "); ok {
		i, err := strconv.Atoi(n)
		if err != nil {
			return err
		}
		l.given = append(l.given, i)
	}
	if action == "undo" && len(l.given) > 0 {
		l.given = l.given[:len(l.given)-1]
	}
	return nil
}

func (l *formed) Look() lessons.Look {
	look := lessons.Look{
		Active: true, Title: "One write", Step: 1, Steps: 1, Kind: "see", Form: l.form, View: []string{"store", "events"},
		Text: "The API server writes a Pod into the store.\n\n**Put what happens into its order.**",
	}
	if l.form == "order" {
		for i, c := range formCards {
			x := lessons.ChoiceLook{Text: c}
			for place, n := range l.given {
				if n == i+1 {
					x.Place, x.Chosen = place+1, true
				}
			}
			look.Choices = append(look.Choices, x)
		}
		if look.Answered = len(l.given) == len(formCards); look.Answered {
			look.Verdict = "Right: that is the order of the events."
			for place, n := range formRight {
				look.Choices[n-1].Right, look.Choices[n-1].Event = l.given[place] == n, formEvents[place]
			}
		}
		return look
	}
	look.Text = "Three things happen in a group of members.\n\n**Who does what?**"
	for _, c := range formLabels {
		look.Choices = append(look.Choices, lessons.ChoiceLook{Text: c})
	}
	look.Answered = len(l.given) == len(formItems)
	for i, text := range formItems {
		x := lessons.ItemLook{Text: text, Next: i == len(l.given)}
		if i < len(l.given) {
			x.Label = formLabels[l.given[i]-1]
		}
		if look.Answered {
			x.Right, x.Event = l.given[i] == formLabel[i], formEvents[i]
		}
		look.Items = append(look.Items, x)
	}
	if look.Answered {
		look.Verdict = "Not all: the second one is the leader's."
	}
	return look
}

// Questions that are answered in parts, half answered, taken back, and answered,
// large on a narrow screen and beside the panes on a wide one.
func TestFormsOfQuestions(t *testing.T) {
	for _, form := range []struct {
		name     string
		part     []string
		rest     []string
		says     string
		verdicts string
	}{
		{"order", []string{"2", "1"}, []string{"3", "4", "1"}, "1 [ ]", "Right: that is the order"},
		{"match", []string{"2", "3"}, []string{"2", "3"}, "▸ decides", "Not all"},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			t.Run(fmt.Sprintf("%s-%dx%d", form.name, size[0], size[1]), func(t *testing.T) {
				l := &formed{form: form.name}
				d := explore(t, size[0], size[1], -1, func(c *Config) { c.Lessons = l; c.Lesson = "forms" })
				press := func(keys []string) {
					for _, k := range keys {
						d.press("alt+" + k)
					}
				}
				d.shows("One write", form.says)
				press(form.part)
				tuitest.Golden(t, fmt.Sprintf("%dx%d-lesson-%s-half", size[0], size[1], form.name), d.planes())
				d.press("alt+backspace")
				if len(l.given) != 1 {
					t.Fatalf("after undo %v is left of the answer", l.given)
				}
				press(form.rest)
				d.shows(form.verdicts)
				tuitest.Golden(t, fmt.Sprintf("%dx%d-lesson-%s", size[0], size[1], form.name), d.planes())
			})
		}
	}
}
