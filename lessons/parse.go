package lessons

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"
)

// Format is the newest version of the lesson format; those before it are read too.
const Format = 2

// front is the YAML before the steps.
type front struct {
	Format  int      `json:"format"`
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Part    string   `json:"part"`
	Teaches []string `json:"teaches"`
	Needs   []string `json:"needs"`
	Minutes int      `json:"minutes"`
	View    []string `json:"view"`

	Version int      `json:"version"`
	Scene   Scene    `json:"scene"`
	Words   []string `json:"words"`
	Facts   []Fact   `json:"facts"`
}

// Parse reads the text of a lesson and proves it as [Load] does. name is for errors, which
// say the line.
func Parse(name string, text []byte, panes []string) (*Lesson, error) {
	return reader{prove: true, panes: panes}.parse(name, text)
}

func (r reader) parse(name string, text []byte) (*Lesson, error) {
	p := r.parser(name, text)
	l, err := p.lesson()
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, p.at+1, err)
	}
	return l, p.check(l)
}

type parser struct {
	reader reader
	name   string
	lines  []string
	at     int // index of the line being read
}

func (r reader) parser(name string, text []byte) *parser {
	return &parser{reader: r, name: name, lines: strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")}
}

// head reads what stands before the steps.
func (p *parser) head() (*Lesson, error) {
	var f front
	head, err := p.block("---", "---")
	if err != nil {
		return nil, err
	}
	if err := strict(head, &f); err != nil {
		return nil, err
	}
	if f.Format < 1 || f.Format > Format {
		return nil, fmt.Errorf("the lesson has format %d; this kviz reads formats 1 to %d", f.Format, Format)
	}
	if f.Format > 1 && f.Version < 1 {
		return nil, errors.New("version: want a whole number from 1, raised as the beats change")
	}
	return &Lesson{
		ID: f.ID, Title: f.Title, Part: f.Part, Teaches: f.Teaches, Needs: f.Needs, Minutes: f.Minutes, View: f.View,
		Format: f.Format, Version: f.Version, Scene: f.Scene, Explain: f.Words, Facts: f.Facts,
	}, nil
}

func (p *parser) lesson() (*Lesson, error) {
	l, err := p.head()
	if err != nil {
		return nil, err
	}
	if l.Format > 1 {
		return l, p.beats(l)
	}
	var step *Step
	var body []string
	end := func() {
		if step != nil {
			step.Text, step.Notes = prose(body)
			body = nil
		}
	}
	for ; p.at < len(p.lines); p.at++ {
		line := p.lines[p.at]
		switch {
		case strings.HasPrefix(line, "## "):
			end()
			if step, err = heading(line); err != nil {
				return nil, err
			}
			l.Steps = append(l.Steps, step)
		case strings.HasPrefix(line, "```goal") || strings.HasPrefix(line, "```question"):
			if step == nil {
				return nil, errors.New("it stands before the first step (## Title {#id} kind)")
			}
			if err := p.fence(step, strings.TrimPrefix(line, "```")); err != nil {
				return nil, err
			}
		case step == nil && strings.TrimSpace(line) != "":
			return nil, errors.New("text before the first step (## Title {#id} kind)")
		default:
			body = append(body, line)
		}
	}
	end()
	return l, nil
}

// block reads from a line that opens to one that closes.
func (p *parser) block(open, close string) (string, error) {
	if p.at >= len(p.lines) || p.lines[p.at] != open {
		return "", fmt.Errorf("want a line %q", open)
	}
	start := p.at + 1
	for i := start; i < len(p.lines); i++ {
		if p.lines[i] == close {
			p.at = i + 1
			return strings.Join(p.lines[start:i], "\n"), nil
		}
	}
	return "", fmt.Errorf("no closing line %q", close)
}

func (p *parser) fence(step *Step, what string) error {
	text, err := p.block(p.lines[p.at], "```")
	if err != nil {
		return err
	}
	p.at-- // the loop goes on after the closing line
	switch strings.TrimSpace(what) {
	case "goal":
		var g goalText
		if err := strict(text, &g); err != nil {
			return err
		}
		goal, err := g.read(p.reader)
		if err != nil {
			return fmt.Errorf("goal %q: %w", g.ID, err)
		}
		step.Goals = append(step.Goals, goal)
	case "question":
		var q questionText
		if err := strict(text, &q); err != nil {
			return err
		}
		if step.Question != nil {
			return errors.New("a step has at most one question")
		}
		if step.Question, err = q.read(p.reader); err != nil {
			return fmt.Errorf("question %q: %w", q.Ask, err)
		}
		step.Question.lay(step.ID)
	default:
		return fmt.Errorf("unknown block %q: want goal or question", what)
	}
	return nil
}

func strict(text string, into any) error {
	return yaml.UnmarshalStrict([]byte(text), into)
}

// check finds what is wrong with a lesson as a whole.
func (p *parser) check(l *Lesson) error {
	var wrong []error
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(p.name+": "+format, args...)) }
	if l.ID == "" || l.Title == "" || l.Part == "" || len(l.Teaches) == 0 || l.Minutes <= 0 {
		bad("id, title, part, teaches and minutes must be given")
	}
	if len(l.Steps) == 0 || len(l.Goals()) == 0 {
		bad("a lesson has at least one step and one goal")
	}
	views := slices.Clone(l.View)
	for _, s := range l.Steps {
		views = append(views, s.View...)
	}
	for _, name := range views {
		if p.reader.prove && !slices.Contains(p.reader.panes, name) {
			bad("view: there is no pane %q: one of %s", name, strings.Join(p.reader.panes, ", "))
		}
	}
	wrong = append(wrong, p.checkBeats(l)...)
	seen := map[string]bool{}
	steps := map[string]bool{}
	for _, s := range l.Steps {
		if steps[s.ID] {
			bad("two steps are called %q", s.ID)
		}
		steps[s.ID] = true
		if s.Text == "" && s.Question == nil {
			bad("step %q has no text", s.ID)
		}
		if l.Format == 1 && (s.Kind == Predict) != (s.Question != nil && !s.Question.Quiz()) && s.Kind != See {
			bad("step %q: a predict step has a question with reveal, and no other kind has", s.ID)
		}
		for _, g := range s.Goals {
			if g.ID == "" || g.Say == "" || seen[g.ID] {
				bad("goal %q of step %q needs an id of its own and a line to say", g.ID, s.ID)
			}
			if g.After != "" && !seen[g.After] {
				bad("goal %q comes after %q, which is no goal before it", g.ID, g.After)
			}
			seen[g.ID] = true
			if g.never == nil && len(g.Hints) == 0 && !g.Optional {
				bad("goal %q has no hint", g.ID)
			}
			if len(g.Hints) > 3 {
				bad("goal %q has %d hints; at most three", g.ID, len(g.Hints))
			}
			for _, h := range g.Hints {
				if h.Text == "" {
					bad("goal %q has an empty hint", g.ID)
				}
			}
		}
		if q := s.Question; q != nil {
			right := 0
			for _, c := range q.Choices {
				if c.Right {
					right++
				}
				if c.Text == "" || c.Why == "" {
					bad("step %q: every choice has a text and says why", s.ID)
				}
			}
			if q.Ask == "" || q.Form() == OneOf && (right != 1 || len(q.Choices) < 2) {
				bad("step %q: a question asks something and has two or more choices, one of them right", s.ID)
			}
		}
	}
	if text := bytes.ToLower([]byte(strings.Join(p.lines, "\n"))); bytes.Contains(text, []byte("todo")) {
		bad("it is not finished: it says TODO")
	}
	return errors.Join(wrong...)
}

// sorted lists the names of scripts.
func sorted(m map[string]string) []string {
	var names []string
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
