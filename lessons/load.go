package lessons

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/yaml"
)

// Format is the version of the lesson format that this package reads.
const Format = 1

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
}

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

// Load reads every lesson under fsys and proves what can be proven without a cluster: its
// expressions compile, and it shows no panes but those that the explorer has. A mistake
// is reported with its place; the other lessons are still returned.
func Load(fsys fs.FS, panes []string) ([]*Lesson, error) {
	return readAll(fsys, reader{prove: true, panes: panes})
}

// Read is Load for somebody who first wants a list: of each lesson it reads what stands
// before its steps. [Lesson.Whole] reads the rest, once the lesson is begun; nothing is
// proven, and an expression is compiled when it is first asked for.
func Read(fsys fs.FS) ([]*Lesson, error) { return readAll(fsys, reader{}) }

// readAll reads the lessons: one folder each, with lesson.md,
// setup.sh, solution.sh and, if there are any, cleanup.sh, accepted/*.sh and
// near-miss/*.sh. Lessons come in the order of their folders' names.
//
// What scripts have in common stands once: words.sh beside the folders holds
// functions for all of them, words.sh in a folder those of its lesson.
func readAll(fsys fs.FS, r reader) ([]*Lesson, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("lessons: %w", err)
	}
	words, err := ifThere(fsys, wordsFile)
	if err != nil {
		return nil, fmt.Errorf("lessons: %w", err)
	}
	var all []*Lesson
	var wrong []error
	ids := map[string]string{}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		l, err := r.read(fsys, e.Name(), words)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		if other, twice := ids[l.ID]; twice {
			wrong = append(wrong, fmt.Errorf("lessons %s and %s have the same id %q", other, l.dir, l.ID))
			continue
		}
		ids[l.ID] = l.dir
		all = append(all, l)
	}
	return all, errors.Join(wrong...)
}

// wordsFile holds the functions that scripts share.
const wordsFile = "words.sh"

// ifThere reads a file that need not be there.
func ifThere(fsys fs.FS, name string) (string, error) {
	b, err := fs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(b), err
}

// read reads a lesson, or the head of one that nothing is to be proven of.
func (r reader) read(fsys fs.FS, dir, words string) (*Lesson, error) {
	if r.prove {
		return r.lesson(fsys, dir, words)
	}
	name := path.Join(dir, "lesson.md")
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("lesson %s: %w", dir, err)
	}
	l, err := r.parser(name, text).head()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l.dir = dir
	l.rest = sync.OnceValues(func() (*Lesson, error) { return r.lesson(fsys, dir, words) })
	return l, nil
}

func (r reader) lesson(fsys fs.FS, dir, words string) (*Lesson, error) {
	text, err := fs.ReadFile(fsys, path.Join(dir, "lesson.md"))
	if err != nil {
		return nil, fmt.Errorf("lesson %s: %w", dir, err)
	}
	l, err := r.parse(path.Join(dir, "lesson.md"), text)
	if err != nil {
		return nil, err
	}
	l.dir = dir
	own, err := ifThere(fsys, path.Join(dir, wordsFile))
	if err != nil {
		return nil, fmt.Errorf("lesson %s: %w", dir, err)
	}
	l.Words = words + own
	for name, into := range map[string]*string{"setup.sh": &l.Setup, "solution.sh": &l.Solution, "cleanup.sh": &l.Cleanup} {
		if *into, err = ifThere(fsys, path.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("lesson %s: %w", dir, err)
		}
	}
	if l.Solution == "" {
		return nil, fmt.Errorf("lesson %s has no solution.sh", dir)
	}
	if l.Accepted, err = scripts(fsys, path.Join(dir, "accepted")); err != nil {
		return nil, err
	}
	l.Near, err = scripts(fsys, path.Join(dir, "near-miss"))
	return l, err
}

func scripts(fsys fs.FS, dir string) (map[string]string, error) {
	names, err := fs.Glob(fsys, path.Join(dir, "*.sh"))
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, n := range names {
		b, err := fs.ReadFile(fsys, n)
		if err != nil {
			return nil, err
		}
		all[path.Base(n)] = string(b)
	}
	return all, nil
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
	if f.Format != Format {
		return nil, fmt.Errorf("the lesson has format %d; this kviz reads format %d", f.Format, Format)
	}
	return &Lesson{ID: f.ID, Title: f.Title, Part: f.Part, Teaches: f.Teaches, Needs: f.Needs, Minutes: f.Minutes, View: f.View}, nil
}

func (p *parser) lesson() (*Lesson, error) {
	l, err := p.head()
	if err != nil {
		return nil, err
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

var headingForm = regexp.MustCompile(`^## (.+?) \{#([a-z0-9-]+)(?: view=([a-z,]+))?\} (see|predict|do|break|free)$`)

func heading(line string) (*Step, error) {
	m := headingForm.FindStringSubmatch(strings.TrimRight(line, " "))
	if m == nil {
		return nil, fmt.Errorf("%q is no step: want ## Title {#id} see|predict|do|break|free, or {#id view=pane,pane}", line)
	}
	step := &Step{Title: m[1], ID: m[2], Kind: m[4]}
	if m[3] != "" {
		step.View = strings.Split(m[3], ",")
	}
	return step, nil
}

var noteForm = regexp.MustCompile(`(?s)<!-- note: (.*?) -->`)

// prose joins the lines of a paragraph, and takes the speaker notes out.
func prose(lines []string) (text, notes string) {
	all := strings.Join(lines, "\n")
	var said []string
	for _, m := range noteForm.FindAllStringSubmatch(all, -1) {
		said = append(said, strings.Join(strings.Fields(m[1]), " "))
	}
	all = noteForm.ReplaceAllString(all, "")
	var paragraphs []string
	for _, par := range strings.Split(all, "\n\n") {
		if par = flow(par); par != "" {
			paragraphs = append(paragraphs, par)
		}
	}
	return strings.Join(paragraphs, "\n\n"), strings.Join(said, "\n")
}

// flow puts a paragraph on one line, but keeps list items and code on theirs.
func flow(par string) string {
	var out []string
	code := false
	for _, line := range strings.Split(strings.Trim(par, "\n"), "\n") {
		fence := strings.HasPrefix(line, "```")
		trimmed := strings.TrimSpace(line)
		switch {
		case fence:
			code = !code
		case trimmed == "":
		case code || strings.HasPrefix(line, "    "):
			out = append(out, "    "+trimmed)
		case len(out) == 0 || strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(out[len(out)-1], "    "):
			out = append(out, trimmed)
		default:
			out[len(out)-1] += " " + trimmed
		}
	}
	return strings.Join(out, "\n")
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
		if (s.Kind == Predict) != (s.Question != nil && !s.Question.Quiz()) && s.Kind != See {
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
			if g.never == nil && len(g.Hints) == 0 {
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
