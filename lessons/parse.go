package lessons

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// format is the version of the lesson format that is played.
const format = 2

// errFormat is said of a lesson in another one, and of one that names none.
var errFormat = fmt.Errorf("kviz plays lessons of format %d alone: chapters (##) of beats (###), each with one or two short paragraphs "+
	"and its blocks, the commands that it offers among them; see kviz help lessons", format)

// front is the YAML before the beats.
type front struct {
	Format  int      `json:"format"`
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Part    string   `json:"part"`
	Teaches []string `json:"teaches"`
	Needs   []string `json:"needs"`
	Minutes int      `json:"minutes"`

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

// head reads what stands before the beats.
func (p *parser) head() (*Lesson, error) {
	var f front
	head, err := p.block("---", "---")
	if err != nil {
		return nil, err
	}
	switch m := formatForm.FindStringSubmatch(head); { // another one may have other fields
	case m == nil:
		return nil, fmt.Errorf("the lesson does not say which format it has (format: %d); %w", format, errFormat)
	case m[1] != strconv.Itoa(format):
		return nil, fmt.Errorf("the lesson has format %s; %w", m[1], errFormat)
	}
	if err := strict(head, &f); err != nil {
		if unknown := (*unknownField)(nil); errors.As(err, &unknown) {
			p.at = 1 + unknown.line
		}
		return nil, err
	}
	if f.Version < 1 {
		return nil, errors.New("version: want a whole number from 1, raised as the beats change")
	}
	return &Lesson{
		ID: f.ID, Title: f.Title, Part: f.Part, Teaches: f.Teaches, Needs: f.Needs, Minutes: f.Minutes,
		file: p.name, Version: f.Version, Scene: f.Scene, Explain: f.Words, Facts: f.Facts,
	}, nil
}

// formatForm is where the front matter says which format the lesson has.
var formatForm = regexp.MustCompile(`(?m)^format: *(\d+)\b`)

func (p *parser) lesson() (*Lesson, error) {
	l, err := p.head()
	if err != nil {
		return nil, err
	}
	return l, p.beats(l)
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

func strict(text string, into any) error {
	return naming(yaml.UnmarshalStrict([]byte(text), into), text, into)
}

// check finds what is wrong with a lesson as a whole.
func (p *parser) check(l *Lesson) error {
	var wrong []error
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(p.name+": "+format, args...)) }
	if l.ID == "" || l.Title == "" || l.Part == "" || len(l.Teaches) == 0 || l.Minutes <= 0 {
		bad("id, title, part, teaches and minutes must be given")
	}
	if len(l.Steps) == 0 || len(l.Goals()) == 0 {
		bad("a lesson has at least one beat and one goal")
	}
	wrong = append(wrong, p.checkBeats(l)...)
	seen := map[string]bool{}
	beats := map[string]bool{}
	for _, s := range l.Steps {
		if beats[s.ID] {
			bad("two beats are called %q", s.ID)
		}
		beats[s.ID] = true
		if s.Text == "" && s.Question == nil {
			bad("beat %q has no text", s.ID)
		}
		for _, g := range s.Goals {
			if g.ID == "" || g.Say == "" || seen[g.ID] {
				bad("goal %q of beat %q needs an id of its own and a line to say", g.ID, s.ID)
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
					bad("beat %q: every choice has a text and says why", s.ID)
				}
			}
			if q.Ask == "" || q.Form() == OneOf && (right != 1 || len(q.Choices) < 2) {
				bad("beat %q: a question asks something and has two or more choices, one of them right", s.ID)
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
