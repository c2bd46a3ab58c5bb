package lessons

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// goalText is a goal as it is written.
type goalText struct {
	ID    string `json:"id"`
	Say   string `json:"say"`
	Edge  string `json:"edge"`
	Level string `json:"level"`
	Never string `json:"never"`
	After string `json:"after"`
	Hold  string `json:"hold"`
	Hints []struct {
		When string `json:"when"`
		Text string `json:"text"`
	} `json:"hints"`
}

// questionText is a question as it is written.
type questionText struct {
	Ask     string `json:"ask"`
	Reveal  string `json:"reveal"`
	Choices []struct {
		Text  string `json:"text"`
		Right bool   `json:"right"`
		Why   string `json:"why"`
		Is    string `json:"is"`
	} `json:"choices"`
	Order  []cardText  `json:"order"`
	Labels []labelText `json:"labels"`
	Match  []itemText  `json:"match"`
}

func (g *goalText) read(r reader) (*Goal, error) {
	goal := &Goal{ID: g.ID, Say: g.Say, After: g.After}
	given := 0
	for _, one := range []struct {
		src  string
		into **condition
	}{{g.Edge, &goal.edge}, {g.Level, &goal.level}, {g.Never, &goal.never}} {
		c, err := r.condition(one.src)
		if err != nil {
			return nil, err
		}
		if c != nil {
			given++
			*one.into = c
		}
	}
	if given != 1 {
		return nil, errors.New("want exactly one of edge, level and never")
	}
	if g.Hold != "" {
		d, err := time.ParseDuration(g.Hold)
		if err != nil || d <= 0 || goal.level == nil {
			return nil, fmt.Errorf("hold %q: want a duration, for a level", g.Hold)
		}
		goal.Hold = d
	}
	for _, h := range g.Hints {
		hint := &Hint{Text: strings.TrimSpace(h.Text)}
		var err error
		if hint.when, err = r.condition(h.When); err != nil {
			return nil, fmt.Errorf("hint %q: %w", hint.Text, err)
		}
		goal.Hints = append(goal.Hints, hint)
	}
	return goal, nil
}

func (q *questionText) read(r reader) (*Question, error) {
	out := &Question{Ask: strings.TrimSpace(q.Ask)}
	var err error
	if out.reveal, err = r.condition(q.Reveal); err != nil {
		return nil, fmt.Errorf("reveal: %w", err)
	}
	for _, c := range q.Choices {
		choice := &Choice{Text: c.Text, Right: c.Right, Why: c.Why}
		if choice.is, err = r.condition(c.Is); err != nil {
			return nil, fmt.Errorf("choice %q: %w", c.Text, err)
		}
		if (choice.is != nil) != (out.reveal != nil) {
			return nil, fmt.Errorf("choice %q: a prediction has reveal, and is for every choice; a quiz has neither", c.Text)
		}
		out.Choices = append(out.Choices, choice)
	}
	return out, q.readParts(r, out)
}
