package lessons

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"kviz/cluster/expr"
	"kviz/cluster/nearest"
)

// beats reads chapters (##) of beats (###), each with one or two
// paragraphs and its blocks.
func (p *parser) beats(l *Lesson) error {
	p.reader.names = &expr.Scope{}
	chapter := ""
	var beat *draft
	end := func() error {
		if beat == nil {
			return nil
		}
		at := p.at
		p.at = beat.line
		err := p.beat(l, beat)
		if err == nil {
			p.at = at
		}
		beat = nil
		return err
	}
	for ; p.at < len(p.lines); p.at++ {
		line := p.lines[p.at]
		switch {
		case strings.HasPrefix(line, "## "):
			if err := end(); err != nil {
				return err
			}
			chapter = strings.TrimSpace(line[3:])
		case strings.HasPrefix(line, "### "):
			if err := end(); err != nil {
				return err
			}
			m := beatForm.FindStringSubmatch(strings.TrimRight(line, " "))
			if m == nil {
				return fmt.Errorf("%q is no beat: want ### Title {#id} see|predict|do|break|free", line)
			}
			beat = &draft{line: p.at, step: &Step{Title: m[1], ID: m[2], Kind: m[3], Chapter: chapter, line: p.at + 1}}
		case strings.HasPrefix(line, "```recall") && beat != nil || strings.HasPrefix(line, "```") && beat != nil && blockKnown(line):
			what, at := strings.TrimSpace(line[3:]), p.at
			text, err := p.block(line, "```")
			if err != nil {
				return err
			}
			p.at--
			beat.blocks = append(beat.blocks, block{what, text, at})
		case beat == nil && strings.TrimSpace(line) != "":
			return errors.New("text before the first beat (### Title {#id} kind)")
		case beat != nil && strings.HasPrefix(line, "```") && nearest.To(strings.TrimSpace(line[3:]), blocks) != "":
			what := strings.TrimSpace(line[3:])
			return fmt.Errorf("beat %q: unknown block %q; did you mean %q?", beat.step.ID, what, nearest.To(what, blocks))
		case beat != nil:
			beat.body = append(beat.body, line)
		}
	}
	return end()
}

var beatForm = regexp.MustCompile(`^### (.+?) \{#([a-z0-9-]+)\} (see|predict|do|break|free)$`)

// blocks are what a beat may have, in the order in which they are read: names first.
var blocks = []string{"stage", "offer", "goal", "question", "recall"}

func blockKnown(line string) bool { return slices.Contains(blocks, strings.TrimSpace(line[3:])) }

// draft is a beat whose parts have not been read yet.
type draft struct {
	step   *Step
	line   int
	body   []string
	blocks []block
}

type block struct {
	what, text string
	line       int
}

// beat reads the parts of one beat; p.at is left where a mistake is.
func (p *parser) beat(l *Lesson, d *draft) (err error) {
	step := d.step
	step.Text, step.Notes = prose(d.body)
	if step.Time, err = planned(d.body); err != nil {
		return fmt.Errorf("beat %q: %w", step.ID, err)
	}
	p.reader.names = p.reader.names.Clone()
	step.names = p.reader.names
	step.said = map[string]*Text{}
	p.reader.said = step.said
	slices.SortStableFunc(d.blocks, func(a, b block) int { return slices.Index(blocks, a.what) - slices.Index(blocks, b.what) })
	for _, b := range d.blocks {
		p.at = b.line
		if err := p.part(l, step, b); err != nil {
			if unknown := (*unknownField)(nil); errors.As(err, &unknown) {
				p.at += 1 + unknown.line
			}
			return fmt.Errorf("beat %q: %s: %w", step.ID, b.what, err)
		}
	}
	p.at = d.line
	if step.Stage == nil {
		step.Stage, _, _ = (&stageText{}).read(p.reader, step.names) // as nothing is said, nothing can be wrong
	}
	for _, par := range strings.Split(step.Text, "\n\n") {
		t, err := p.reader.text(par, step.names)
		if err != nil {
			return err
		}
		step.Caption = append(step.Caption, t)
	}
	l.Steps = append(l.Steps, step)
	return nil
}

// part reads one block of a beat.
func (p *parser) part(l *Lesson, step *Step, b block) error {
	switch b.what {
	case "stage":
		var t stageText
		if err := strict(b.text, &t); err != nil {
			return err
		}
		if step.Stage != nil {
			return errors.New("a beat has one stage")
		}
		stage, pins, err := t.read(p.reader, step.names)
		if err != nil {
			return err
		}
		if len(pins) > 0 && len(l.Steps) > 0 {
			return errors.New("pin: what is so when the scene is set stands in the first beat")
		}
		step.Stage, l.Pins = stage, append(l.Pins, pins...)
	case "offer":
		var all []offerText
		if err := strict(b.text, &all); err != nil {
			return err
		}
		for _, o := range all {
			run, err := p.reader.text(strings.TrimSpace(o.Run), step.names)
			if err != nil {
				return err
			}
			step.Offers = append(step.Offers, Offer{run, o.Exit})
		}
	case "goal":
		var g goalText
		if err := strict(b.text, &g); err != nil {
			return err
		}
		goal, err := g.read(p.reader)
		if err != nil {
			return fmt.Errorf("%q: %w", g.ID, err)
		}
		step.Goals = append(step.Goals, goal)
	case "question":
		var q questionText
		if err := strict(b.text, &q); err != nil {
			return err
		}
		if step.Question != nil {
			return errors.New("a beat has at most one question")
		}
		var err error
		if step.Question, err = q.read(p.reader); err != nil {
			return fmt.Errorf("%q: %w", q.Ask, err)
		}
		step.Question.fixed = step.Question.layout(0, l.ID, step.ID)
	case "recall":
		var all []Recall
		if err := strict(b.text, &all); err != nil {
			return err
		}
		for _, r := range all {
			for _, after := range r.After {
				if _, err := days(after); err != nil {
					return err
				}
			}
		}
		l.Recalls = append(l.Recalls, all...)
	}
	return nil
}

// Recall is a question of the lesson that comes back some days after it.
type Recall struct {
	Beat  string   `json:"beat"`
	With  *Scene   `json:"with"`
	After []string `json:"after"` // "1d", "7d"
}

var timeForm = regexp.MustCompile(`<!-- *time: *(.*?) *-->`)

// planned is how long a beat is planned to take in class, 0 where that is not said.
func planned(body []string) (time.Duration, error) {
	all := timeForm.FindAllStringSubmatch(strings.Join(body, "\n"), -1)
	switch len(all) {
	case 0:
		return 0, nil
	case 1:
		if d, err := time.ParseDuration(all[0][1]); err == nil && d > 0 && d <= time.Hour {
			return d, nil
		}
		return 0, fmt.Errorf("time %q: want a duration of at most an hour, such as 90s", all[0][1])
	}
	return 0, fmt.Errorf("a beat has one time, not %d", len(all))
}
