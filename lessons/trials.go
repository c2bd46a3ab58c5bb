package lessons

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// Trial is one proof of a lesson, on a cluster of its own.
type Trial struct {
	Name  string // of the script that it tries: "accepted/BEAT.name.sh"; "offers" for what the beats offer
	Tools bool   // it runs etcdctl or etcdutl, which are processes of their own
	Try   func(ctx context.Context, boot Boot, screen Screen) error
}

// Trials are the proofs of a lesson, the first of them of its own way: what it offers solves it,
// beat by beat, every stop comes, every value in a text is known and every claim holds there,
// and every prediction comes out as marked. An accepted script does for the offers of its beat,
// and a near-miss does not.
func (l *Lesson) Trials() []Trial {
	all := []Trial{{
		Name: "offers", Tools: l.runsTools(l.way(len(l.Steps))),
		Try: func(ctx context.Context, boot Boot, screen Screen) error {
			_, err := l.prove(ctx, boot, screen, 0)
			return err
		},
	}}
	for _, kind := range []struct {
		folder  string
		scripts map[string]string
		passes  bool
	}{{"accepted", l.Accepted, true}, {"near-miss", l.Near, false}} {
		for _, name := range sorted(kind.scripts) {
			script := kind.scripts[name]
			all = append(all, Trial{
				Name: kind.folder + "/" + name, Tools: l.runsTools(append(l.way(l.beatOf(name)), script)),
				Try: func(ctx context.Context, boot Boot, _ Screen) error {
					if err := l.instead(ctx, boot, name, script, kind.passes); err != nil {
						return fmt.Errorf("%s/%s: %w", kind.folder, name, err)
					}
					return nil
				},
			})
		}
	}
	return all
}

// Unhurried is the proof that the lesson is true for a learner as well, who takes [typing] of the cluster's time to type
// each further command of a beat. Its commands run without a pause in the other trials.
func (l *Lesson) Unhurried() Trial {
	return Trial{
		Name: "unhurried", Tools: l.runsTools(l.way(len(l.Steps))),
		Try: func(ctx context.Context, boot Boot, screen Screen) error {
			if _, err := l.prove(ctx, boot, screen, typing); err != nil {
				return fmt.Errorf("with %s between two commands: %w", typing, err)
			}
			return nil
		},
	}
}

// typing is how long a learner takes for a command.
const typing = 10 * time.Second

// beatOf is the number of the beat that a script's name begins with, -1 if there is none.
func (l *Lesson) beatOf(name string) int {
	id, _, _ := strings.Cut(name, ".")
	return slices.IndexFunc(l.Steps, func(s *Step) bool { return s.ID == id })
}

// way are the scripts that lead to a beat.
func (l *Lesson) way(beat int) (all []string) {
	all = append(all, l.Setup)
	for _, p := range l.Pins {
		all = append(all, p.By)
	}
	for _, s := range l.Steps[:max(beat, 0)] {
		for _, o := range s.Offers {
			all = append(all, o.Run.bare())
		}
	}
	return all
}

// runsTools reports whether scripts run etcdctl or etcdutl.
func (l *Lesson) runsTools(scripts []string) bool {
	return l.speakOf(scripts, map[string]bool{"etcdctl": true, "etcdutl": true})
}

// speakOf reports whether one of some words stands in scripts, or in a function of the lesson's that they call.
func (l *Lesson) speakOf(scripts []string, words map[string]bool) bool {
	tools := maps.Clone(words)
	functions, err := readScript(wordsFile, l.Words)
	if err != nil {
		return false // which checkScripts says
	}
	for grown := true; grown; {
		grown = false
		for _, statement := range functions.Stmts {
			if f, ok := statement.Cmd.(*syntax.FuncDecl); ok && !tools[f.Name.Value] && speaksOf(f.Body, tools) {
				tools[f.Name.Value], grown = true, true
			}
		}
	}
	return slices.ContainsFunc(scripts, func(script string) bool {
		file, err := readScript("", script)
		return err == nil && speaksOf(file, tools)
	})
}

// speaksOf reports whether one of some words stands in a part of a script.
func speaksOf(part syntax.Node, words map[string]bool) (found bool) {
	syntax.Walk(part, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok && words[w.Lit()] {
			found = true
		}
		return !found
	})
	return found
}
