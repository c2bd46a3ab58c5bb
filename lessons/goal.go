package lessons

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// goalText is a goal as it is written.
type goalText struct {
	ID    string     `json:"id"`
	Say   string     `json:"say"`
	Edge  string     `json:"edge"`
	Level string     `json:"level"`
	Never string     `json:"never"`
	After string     `json:"after"`
	Hold  string     `json:"hold"`
	Hints []hintText `json:"hints"`

	Miss     []missText `json:"miss"`
	Optional bool       `json:"optional"`
}

// hintText is a hint, or one with when it fits.
type hintText struct {
	When string `json:"when"`
	Text string `json:"text"`
}

// UnmarshalJSON reads either.
func (h *hintText) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &h.Text) == nil {
		return nil
	}
	type plain hintText
	return fields(b, (*plain)(h))
}

// missText is what comes near to a goal, with what is then said.
type missText struct {
	When  string `json:"when"`
	Say   string `json:"say"`
	Fatal bool   `json:"fatal"`
}

// fields reads an object that has no other fields than into.
func fields(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// questionText is a question as it is written.
type questionText struct {
	Ask     string `json:"ask"`
	FormAs  string `json:"form"`
	Reveal  string `json:"reveal"`
	Choices []struct {
		Text  string `json:"text"`
		Right bool   `json:"right"`
		Why   string `json:"why"`
		Is    string `json:"is"`

		Ghost map[string]string `json:"ghost"`
	} `json:"choices"`
	Order  []cardText  `json:"order"`
	Labels []labelText `json:"labels"`
	Match  []itemText  `json:"match"`

	Answer string            `json:"answer"` // of form number
	Near   string            `json:"near"`
	Unit   string            `json:"unit"`
	Ghost  several           `json:"ghost"`
	Point  string            `json:"point"` // of form point
	Is     string            `json:"is"`
	Why    map[string]string `json:"why"`
	Varies bool              `json:"varies"`
	Source string            `json:"source"`
}

func (g *goalText) read(r reader) (*Goal, error) {
	goal := &Goal{ID: g.ID, Say: g.Say, After: g.After, Optional: g.Optional}
	if err := r.saying(g.Say); err != nil {
		return nil, fmt.Errorf("say: %w", err)
	}
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
		if err := r.saying(hint.Text); err != nil {
			return nil, fmt.Errorf("hint: %w", err)
		}
		var err error
		if hint.when, err = r.condition(h.When); err != nil {
			return nil, fmt.Errorf("hint %q: %w", hint.Text, err)
		}
		goal.Hints = append(goal.Hints, hint)
	}
	for _, m := range g.Miss {
		miss := &Miss{Fatal: m.Fatal}
		var err error
		if miss.Say, err = r.text(m.Say, r.names); err != nil {
			return nil, fmt.Errorf("miss: %w", err)
		}
		if miss.when, err = r.condition(m.When); err != nil || miss.when == nil {
			return nil, errors.Join(fmt.Errorf("miss %q: it says when", m.Say), err)
		}
		goal.Misses = append(goal.Misses, miss)
	}
	return goal, nil
}

func (q *questionText) read(r reader) (*Question, error) {
	out := &Question{Ask: strings.TrimSpace(q.Ask)}
	var err error
	if out.reveal, err = r.condition(q.Reveal); err != nil {
		return nil, fmt.Errorf("reveal: %w", err)
	}
	if err := r.saying(out.Ask); err != nil {
		return nil, err
	}
	for _, c := range q.Choices {
		for _, text := range []string{c.Text, c.Why} {
			if err := r.saying(text); err != nil {
				return nil, err
			}
		}
		choice := &Choice{Text: c.Text, Right: c.Right, Why: c.Why}
		if choice.is, err = r.condition(c.Is); err != nil {
			return nil, fmt.Errorf("choice %q: %w", c.Text, err)
		}
		if (choice.is != nil) != (out.reveal != nil) {
			return nil, fmt.Errorf("choice %q: a prediction has reveal, and is for every choice; a quiz has neither", c.Text)
		}
		if choice.Ghosts, err = r.ghosts(c.Ghost); err != nil {
			return nil, fmt.Errorf("choice %q: ghost: %w", c.Text, err)
		}
		if len(choice.Ghosts) > 0 && out.reveal == nil {
			return nil, fmt.Errorf("choice %q: %w", c.Text, errNoGhost)
		}
		out.Choices = append(out.Choices, choice)
	}
	out.Varies, out.Source = q.Varies, q.Source
	if err := q.readPoint(r, out); err != nil {
		return nil, err
	}
	if err := q.readNumber(r, out); err != nil {
		return nil, err
	}
	if err := q.readParts(r, out); err != nil {
		return nil, err
	}
	if q.FormAs != "" && q.FormAs != out.Form() {
		return nil, fmt.Errorf("form %q: what it has makes it a question of form %q", q.FormAs, out.Form())
	}
	out.written = out.digest()
	return out, nil
}
