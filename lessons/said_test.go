package lessons_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kviz/assets"
	"kviz/cluster"
	"kviz/lessons"
	"kviz/raftstore/steady"
	"kviz/tui/panes"
)

// twoGuesses is a lesson whose first guess is answered by the second thing that is done.
const twoGuesses = `---
format: 2
version: 1
id: L50
title: Two objects
part: Tests
teaches: [nothing]
minutes: 1
---

### Guess {#guess} predict

Well?

` + "```stage\nshow: map/picture\nstill: true\n```" + `

` + "```question" + `
ask: What is made?
reveal: event.kind == "store.commit" && event.object.kind == "ConfigMap" && event.object.name == "two"
choices:
- {text: one, why: No, is: 'event.object.name == "one"'}
- {text: two, right: true, why: Yes, is: 'event.object.name == "two"'}
` + "```" + `

### One {#one} do

Make one.

` + "```offer\n- kubectl create configmap one\n```" + `

` + "```goal\nid: one\nsay: one is there\nedge: event.kind == \"store.commit\" && event.object.kind == \"ConfigMap\" && event.object.name == \"one\"\nhints: [Make it.]\n```" + `

### Two {#two} do

Make two.

` + "```offer\n- kubectl create configmap two\n```" + `

` + "```goal\nid: two\nsay: two is there\nedge: event.kind == \"store.commit\" && event.object.kind == \"ConfigMap\" && event.object.name == \"two\"\nhints: [Make it.]\n```" + `

### Your turn {#free} free

Try.

` + "```goal\nid: any\nsay: anything\noptional: true\nedge: event.kind == \"fault.inject\"\nhints: [Anything.]\n```"

// TestAWrongGuessStaysWrong guesses wrong, and then does what makes a lesson begin once more, has kviz do what is to
// be done, or comes back the next day: the guess cannot be made again, is judged in the run and the beat that answer
// it, and counts in the end.
func TestAWrongGuessStaysWrong(t *testing.T) {
	all, err := lessons.Load(fstest.MapFS{
		"L50/lesson.md": {Data: []byte(twoGuesses)}, "L50/cleanup.sh": {Data: []byte("kubectl delete configmap one two --ignore-not-found")},
	}, panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	for name, way := range map[string]func(p *player, begin func() *player) *player{
		"nothing":                         func(p *player, _ func() *player) *player { p.does("next"); return p },
		"again":                           func(p *player, _ func() *player) *player { p.does("next"); p.does("again"); return p },
		"again where it was made":         func(p *player, _ func() *player) *player { p.does("again"); p.does("next"); return p },
		"skip":                            func(p *player, _ func() *player) *player { p.does("next"); p.does("skip"); return p },
		"the next day":                    func(p *player, begin func() *player) *player { p.does("next"); p.Close(); return begin() },
		"the next day, where it was made": func(p *player, begin func() *player) *player { p.Close(); p = begin(); p.does("next"); return p },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steady.Bubble(t, func(t *testing.T) {
				c, err := cluster.Boot(t.Context(), cluster.Config{Seed: 1, NoSync: true, Bare: true})
				if err == nil {
					err = c.WaitReady(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				progress := lessons.NewProgress(time.Now)
				begin := func() *player {
					p := &player{t, lessons.NewPlayer(inBubble{c}, all, progress), c}
					if err := p.Start("L50"); err != nil {
						t.Fatal(err)
					}
					p.stands("")
					return p
				}
				p := begin()
				defer func() { p.Close() }()
				look := p.stands("guess")
				p.does(fmt.Sprintf("answer %d", 1+slices.IndexFunc(look.Choices, func(c lessons.ChoiceLook) bool { return c.Text == "one" })))
				p.does("sure 3")
				p = way(p, begin)
				if p.Look().Beat.ID == "one" {
					p.run("kubectl create configmap one")
					p.until("one is done", func(l lessons.Look) bool { return l.CanNext })
					p.does("next")
				}
				if told := p.stands("two").Beat.Told; told != nil {
					t.Errorf("it is judged before it is answered: %+v", told)
				}
				p.run("kubectl create configmap two")
				look = p.until("two is done", func(l lessons.Look) bool { return l.CanNext && !l.Beat.Behind })
				if told := look.Beat.Told; told == nil || told.Right || told.Said != "one" {
					t.Errorf("the verdict is %+v", told)
				}
				p.does("next")
				p.does("again")
				if told := p.stands("free").Beat.Told; told != nil {
					t.Errorf("it is judged once more: %+v", told)
				}
				p.does("next")
				if card := p.Look().Card; card == nil || card.Predictions != 1 || card.Right != 0 || len(card.SureWrong) != 1 {
					t.Errorf("the card says %+v", card)
				}
			})
		})
	}
}

// inBubble is a cluster that never goes as fast as it can: in a bubble no time would pass for the members.
type inBubble struct{ *cluster.Cluster }

func (c inBubble) Speed(x float64) error {
	if x == 0 {
		x = 40
	}
	return c.Cluster.Speed(x)
}

// does has the learner do something, and waits until the scene is set that it may want.
func (p *player) does(action string) {
	p.t.Helper()
	p.until("it is known what happened", func(l lessons.Look) bool { return l.Beat != nil && !l.Beat.Behind })
	if err := p.Do(action); err != nil {
		p.t.Fatalf("%s: %v", action, err)
	}
	p.stands("")
}

// stands waits until the scene is set, and holds that it is that of a beat.
func (p *player) stands(beat string) lessons.Look {
	p.t.Helper()
	look := p.until("the scene is set", func(l lessons.Look) bool { return l.Beat != nil || l.Trouble != "" })
	if look.Beat == nil || beat != "" && look.Beat.ID != beat {
		p.t.Fatalf("want beat %s, got %+v %s", beat, look.Beat, look.Trouble)
	}
	return look
}

// TestTheWishIsGone deletes the Deployment where a pod of it is to be deleted: nothing brings the pod back, so that is a
// mistake, which an undo takes back.
func TestTheWishIsGone(t *testing.T) {
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	steady.Bubble(t, func(t *testing.T) {
		c, err := cluster.Boot(t.Context(), cluster.Config{Seed: 1, NoSync: true})
		if err == nil {
			err = c.WaitReady(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		p := &player{t, lessons.NewPlayer(inBubble{c}, all, nil), c}
		defer p.Close()
		if err := p.Start("L01#apply"); err != nil {
			t.Fatal(err)
		}
		p.stands("apply")
		p.run("kubectl apply -f manifests/deployment.yaml")
		look := p.until("two pods are Ready", func(l lessons.Look) bool { return l.CanNext })
		for _, g := range look.Goals { // the map halts at the request
			if !g.Met || !g.Ahead {
				t.Errorf("%q is met: %v, and the stage does not show it yet: %v", g.Say, g.Met, g.Ahead)
			}
		}
		if err := p.Start("L01#delete"); err != nil {
			t.Fatal(err)
		}
		p.stands("delete")
		p.run("kubectl delete deployment hello-deploy -n demo")
		look = p.until("it is noticed", func(l lessons.Look) bool { return l.Beat.Mistake != "" })
		if look.Beat.Undo.IsZero() || !strings.Contains(look.Beat.Mistake, "Deployment") {
			t.Errorf("it says %q, and undoes back to #%s", look.Beat.Mistake, look.Beat.Undo)
		}
	})
}

// TestAQuestionComesBackInAnotherShape is asked about one of the answers, by each of some seeds; who says what is so is
// right.
func TestAQuestionComesBackInAnotherShape(t *testing.T) {
	all, err := lessons.Load(fstest.MapFS{"L50/lesson.md": {Data: []byte(twoGuesses)}}, panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]bool{}
	for seed := range uint64(5) {
		steady.Bubble(t, func(t *testing.T) {
			c, err := cluster.Boot(t.Context(), cluster.Config{Seed: 1, NoSync: true})
			if err == nil {
				err = c.WaitReady(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			progress := lessons.NewProgress(time.Now)
			progress.Seed = seed
			progress.Recall = []lessons.Due{{Lesson: "L50", Beat: "guess", On: "1999-01-01"}}
			p := &player{t, lessons.NewPlayer(inBubble{c}, all, progress), c}
			defer p.Close()
			if err := p.Start(lessons.Recalling); err != nil {
				t.Fatal(err)
			}
			look := p.stands("guess")
			claim, isSo := look.Ask, strings.Contains(look.Ask, "“two”")
			claims[claim] = true
			if !strings.HasPrefix(claim, "What is made? “") || !strings.HasSuffix(claim, "”: is that so?") || len(look.Choices) != 2 {
				t.Fatalf("it asks %q, %+v", claim, look.Choices)
			}
			right := map[bool]string{true: "Yes", false: "No"}[isSo]
			p.does(fmt.Sprintf("answer %d", 1+slices.IndexFunc(look.Choices, func(c lessons.ChoiceLook) bool { return c.Text == right })))
			p.does("next")
			p.run("kubectl create configmap one")
			p.until("one is done", func(l lessons.Look) bool { return l.CanNext })
			p.does("next")
			p.run("kubectl create configmap two")
			look = p.until("it is judged", func(l lessons.Look) bool { return l.Recall.Told })
			if look.Recall.Right != 1 {
				t.Errorf("%q: %s is judged %q", claim, right, look.Verdict)
			}
		})
	}
	if len(claims) != 2 {
		t.Errorf("all learners are asked %v", claims)
	}
}

// TestARecallOfTheSameWordsIsRefused refuses a question for a number that can come back only as it was asked.
func TestARecallOfTheSameWordsIsRefused(t *testing.T) {
	number := "ask: How many?\nreveal: 'true'\nanswer: nodes.size()\n"
	for _, c := range []struct {
		name, why, with, want string
	}{
		{"no other shape", "", "", "it would ask the same words about the same scene"},
		{"a number that is easily said", "why: {2: One is missing.}\n", "", ""},
		{"another scene", "", ", with: {members: 5}", ""},
	} {
		from, to := strings.Index(twoGuesses, "ask: What"), strings.Index(twoGuesses, "```\n\n### One")
		text := twoGuesses[:from] + number + c.why + twoGuesses[to:] + "\n\n```recall\n- {beat: guess, after: [1d]" + c.with + "}\n```\n"
		_, err := lessons.Load(fstest.MapFS{"L50/lesson.md": {Data: []byte(text)}}, panes.Names())
		if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
}
