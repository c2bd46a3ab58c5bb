// Package result is the outcome of a class, as it is written to a file at its end: the questions, and how many
// students gave which answer. It has no names of students.
//
// The file is JSON. A file may come from a stranger: [Read] takes no more than a class can have, and its result
// has no character that a terminal would obey or that turns text round.
package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"kviz/tui/grid"
)

// Class is what a class came to.
type Class struct {
	Lesson   string `json:"lesson"`   // with its version: "L09@3"
	Students int    `json:"students"` // who were there
	Polls    []Poll `json:"polls"`
}

// Poll is a question of a beat, and what the class said.
type Poll struct {
	Beat     string   `json:"beat"` // its id
	Question string   `json:"question"`
	Answers  []Answer `json:"answers"`
}

// Answer is one answer, and how many gave it.
type Answer struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
	Right bool   `json:"right,omitempty"`
}

// What a class has at most.
const (
	mostBytes    = 1 << 20
	mostPolls    = 200
	mostAnswers  = 40
	mostStudents = 10_000
	mostColumns  = 400 // of a text
)

// Read reads what a class has written.
func Read(r io.Reader) (*Class, error) {
	text, err := io.ReadAll(io.LimitReader(r, mostBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostBytes {
		return nil, fmt.Errorf("it has more than %d bytes", mostBytes)
	}
	var c Class
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("it is not what a class writes: %w", err)
	}
	return &c, c.take()
}

// take makes texts safe, and refuses numbers that no class has.
func (c *Class) take() error {
	if c.Lesson == "" {
		return errors.New("lesson: it is missing; want an id, such as L09@3")
	}
	if c.Students < 0 || c.Students > mostStudents {
		return fmt.Errorf("students: %d; want 0 to %d", c.Students, mostStudents)
	}
	if len(c.Polls) > mostPolls {
		return fmt.Errorf("polls: %d; at most %d", len(c.Polls), mostPolls)
	}
	c.Lesson = safe(c.Lesson)
	for i := range c.Polls {
		p := &c.Polls[i]
		p.Beat, p.Question = safe(p.Beat), safe(p.Question)
		if len(p.Answers) > mostAnswers {
			return fmt.Errorf("polls: %q has %d answers; at most %d", p.Beat, len(p.Answers), mostAnswers)
		}
		for n := range p.Answers {
			a := &p.Answers[n]
			if a.Count < 0 || a.Count > mostStudents {
				return fmt.Errorf("polls: %q: count: %d; want 0 to %d", p.Beat, a.Count, mostStudents)
			}
			a.Text = safe(a.Text)
		}
	}
	return nil
}

func safe(text string) string { return grid.Cut(grid.Clean(text), mostColumns) }

// Add adds an answer, the most frequent first. Beyond as many as a file has, the rest are counted together.
func (p *Poll) Add(a Answer) {
	if len(p.Answers) < mostAnswers {
		a.Text = safe(a.Text)
		p.Answers = append(p.Answers, a)
		return
	}
	last := &p.Answers[mostAnswers-1]
	last.Text, last.Right = "something else", false
	last.Count += a.Count
}

// Of are the polls of a beat.
func (c *Class) Of(beat string) (all []Poll) {
	if c == nil {
		return nil
	}
	for _, p := range c.Polls {
		if p.Beat == beat {
			all = append(all, p)
		}
	}
	return all
}

// Voted is how many answered.
func (p Poll) Voted() (n int) {
	for _, a := range p.Answers {
		n += a.Count
	}
	return n
}

// Share is the part of those who answered that gave an answer, in percent.
func (p Poll) Share(a Answer) int {
	all := p.Voted()
	if all == 0 {
		return 0
	}
	return (100*a.Count + all/2) / all
}
