package lessons

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kviz/cluster/expr"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// The forms of questions.
const (
	OneOf = "choice" // one of the choices is right
	Order = "order"  // cards are put in order
	Match = "match"  // each item gets one of a few labels
	Count = "number" // a number is typed
	Point = "point"  // a cell of the picture is pointed at
)

// Card is one of several that are put in order.
type Card struct {
	Text string
	Why  string     // what it has to wait for
	is   *condition // the event it stands for, when it happened first; nil where the text alone knows

	Ghosts []*Ghost // where the place stands that it was given
}

// Label is what an item can get.
type Label struct {
	Text string
	is   *condition // whether an item's event is of this label; aboutItem is what the item says
}

// aboutItem is the text of the item, as it is written, in the expressions of labels.
const aboutItem = "item"

// Item is one thing that gets a label.
type Item struct {
	Text    string
	Why     string
	label   int        // the marked one
	written string     // the text as it is written, in whatever language it is shown
	when    *condition // its event; nil where the text alone knows

	Ghosts []*Ghost // where the label stands that it was given
}

// InParts reports whether an answer is given a part at a time.
func (q *Question) InParts() bool { return q.Form() == Order || q.Form() == Match }

// Form is how the question is answered: [OneOf], [Order], [Match], [Count] or [Point].
func (q *Question) Form() string {
	switch {
	case q.Point != nil:
		return Point
	case q.Number != nil:
		return Count
	case len(q.Cards) > 0:
		return Order
	case len(q.Items) > 0:
		return Match
	}
	return OneOf
}

// unproven reports whether nothing that happens in a run says which answer is right.
func (q *Question) unproven() bool {
	return q.reveal == nil &&
		!slices.ContainsFunc(q.Cards, func(c *Card) bool { return c.is != nil }) &&
		!slices.ContainsFunc(q.Items, func(m *Item) bool { return m.when != nil })
}

// parts is how many answers the question wants, and among how many.
func (q *Question) parts() (want, among int) {
	switch q.Form() {
	case Order:
		return len(q.Cards), len(q.Cards)
	case Match:
		return len(q.Items), len(q.Labels)
	}
	return 1, len(q.Choices)
}

// cardText, labelText and itemText are parts of a question as they are written.
type cardText struct {
	Text  string  `json:"text"`
	Why   string  `json:"why"`
	Is    string  `json:"is"`
	Ghost several `json:"ghost"`
}

type labelText struct {
	Text string `json:"text"`
	Is   string `json:"is"`
}

type itemText struct {
	Text  string `json:"text"`
	Label string `json:"label"`
	Why   string `json:"why"`
	When  string `json:"when"`

	Ghost several `json:"ghost"`
}

// readParts reads the parts of a question that is no choice.
func (q *questionText) readParts(r reader, out *Question) error {
	var err error
	for _, c := range q.Order {
		card := &Card{Text: c.Text, Why: c.Why}
		if card.is, err = r.condition(c.Is); err != nil {
			return fmt.Errorf("card %q: %w", c.Text, err)
		}
		if card.Ghosts, err = r.ghostsAt(c.Ghost, card.is != nil); err != nil {
			return fmt.Errorf("card %q: ghost: %w", c.Text, err)
		}
		out.Cards = append(out.Cards, card)
	}
	names, err := r.naming(aboutItem)
	if err != nil {
		return err
	}
	for _, l := range q.Labels {
		label := &Label{Text: l.Text}
		if label.is, err = r.in(names, l.Is); err != nil {
			return fmt.Errorf("label %q: %w", l.Text, err)
		}
		out.Labels = append(out.Labels, label)
	}
	for _, m := range q.Match {
		item := &Item{Text: m.Text, Why: m.Why, written: m.Text}
		if item.when, err = r.condition(m.When); err != nil {
			return fmt.Errorf("item %q: %w", m.Text, err)
		}
		if item.Ghosts, err = r.ghostsAt(m.Ghost, item.when != nil); err != nil {
			return fmt.Errorf("item %q: ghost: %w", m.Text, err)
		}
		if item.label = slices.IndexFunc(out.Labels, func(l *Label) bool { return l.Text == m.Label }); item.label < 0 {
			return fmt.Errorf("item %q: there is no label %q", m.Text, m.Label)
		}
		out.Items = append(out.Items, item)
	}
	return out.checkParts()
}

func (q *Question) checkParts() error {
	forms := 0
	for _, n := range []int{len(q.Choices), len(q.Cards), len(q.Items)} {
		if n > 0 {
			forms++
		}
	}
	if q.Number != nil {
		forms++
	}
	if q.Point != nil {
		forms++
	}
	if forms > 1 || len(q.Items) == 0 && len(q.Labels) > 0 {
		return errors.New("want one of choices, order, match with labels, answer and point")
	}
	if !q.InParts() {
		return nil
	}
	if q.reveal != nil && q.Form() != Order {
		return errors.New("a question of order or match has no reveal: its cards and items say their events")
	}
	want, among := q.parts()
	if want < 2 || among < 2 || among > 9 {
		return errors.New("want two or more to answer, and from two to nine answers: there is a key for each")
	}
	told := 0
	for _, c := range q.Cards {
		if c.Text == "" || c.Why == "" && q.reveal == nil {
			return errors.New("every card has a text and says why it stands there")
		}
		if c.is != nil {
			told++
		}
	}
	for _, m := range q.Items {
		if m.Text == "" || m.Why == "" {
			return errors.New("every item has a text and says why")
		}
		if m.when != nil {
			told++
		}
	}
	if told != 0 && told != want {
		return errors.New("the simulation answers for every card (is) or item (when), or for none")
	}
	for _, l := range q.Labels {
		if l.Text == "" || (l.is != nil) != (told > 0) {
			return errors.New("every label has a text and, where items have when, is")
		}
	}
	return nil
}

// fact is what the simulation did about a card or an item.
type fact struct {
	at     trace.ID
	labels []bool // of an item: which labels its event has
}

// watch notes when what a step's cards or items stand for happens first.
func (s *Session) watch(step *Step, st *view.State, e *trace.Event) {
	q := step.Question
	if q == nil || !q.InParts() {
		return
	}
	facts := s.facts[step.ID]
	if facts == nil {
		want, _ := q.parts()
		facts = make([]fact, want)
		s.facts[step.ID] = facts
	}
	for i := range facts {
		if !facts[i].at.IsZero() {
			continue
		}
		if q.Form() == Order {
			if is := q.Cards[i].is; is != nil && s.holds(is, st, e) {
				facts[i].at = e.ID
			}
			continue
		}
		if when := q.Items[i].when; when != nil && s.holds(when, st, e) {
			facts[i].at = e.ID
			names := maps.Clone(s.values)
			names[aboutItem] = expr.TextValue(q.Items[i].written)
			for _, l := range q.Labels {
				facts[i].labels = append(facts[i].labels, s.holdsIn(l.is, st, e, names))
			}
		}
	}
}

// truth is the right answer, by part: the order in which the simulation did
// things where it did all of them, else the marked one; an item's label as its
// event had it, else the marked one.
func (s *Session) truth(step *Step) []int {
	q, facts := step.Question, s.facts[step.ID]
	want, _ := q.parts()
	right := make([]int, want)
	for i := range right {
		right[i] = i
		if q.Form() == Match {
			right[i] = q.Items[i].label
			if facts != nil && !facts[i].at.IsZero() {
				if l := slices.Index(facts[i].labels, true); l >= 0 {
					right[i] = l
				}
			}
		}
	}
	if q.Form() == Order && !slices.ContainsFunc(facts, func(f fact) bool { return f.at.IsZero() }) && len(facts) > 0 {
		slices.SortStableFunc(right, func(a, b int) int { return facts[a].at.Compare(facts[b].at) })
	}
	return right
}

// put adds one part to an answer: the card that comes next, or the label of the
// next item. After a wrong answer it begins a new one.
func (s *Session) put(step *Step, n int) bool {
	q, given := step.Question, s.given[step.ID]
	want, _ := q.parts()
	if len(given) == want {
		return false
	}
	if q.Form() == Order && slices.Contains(given, n) {
		return false
	}
	s.given[step.ID] = append(slices.Clip(given), n)
	return true
}

// Undo takes back the last part of an answer in parts, as long as it is not
// right as a whole.
func (s *Session) Undo(step *Step) bool {
	given := s.given[step.ID]
	want, _ := step.Question.parts()
	if len(given) == 0 || len(given) == want {
		return false
	}
	s.given[step.ID] = given[:len(given)-1]
	return true
}

// Settled reports whether a question of order or match has been answered right,
// in this sitting or in one before.
func (s *Session) Settled(step *Step) bool {
	return slices.Equal(s.parts(step), s.truth(step))
}

// parts is an answer to a question of order or match in the order in which its parts are written; nil while it is
// not whole.
func (s *Session) parts(step *Step) []int {
	q, given := step.Question, s.given[step.ID]
	if want, _ := q.parts(); len(given) < want {
		return nil
	}
	if q.Form() == Order {
		return given
	}
	labels := make([]int, len(given))
	for i, item := range s.layout(step).items {
		labels[item] = given[i]
	}
	return labels
}

// happens reports whether the simulation answers a question of order or match, not the text.
func (q *Question) happens() bool {
	return q.reveal != nil || len(q.Cards) > 0 && q.Cards[0].is != nil || len(q.Items) > 0 && q.Items[0].when != nil
}

// decided reports whether it is known what is right of a question of order or match: where the simulation answers,
// once it has.
func (s *Session) decided(step *Step) bool {
	switch q := step.Question; {
	case !q.happens():
		return true
	case q.reveal != nil:
		return s.answered(step)
	}
	facts := s.facts[step.ID]
	return len(facts) > 0 && !slices.ContainsFunc(facts, func(f fact) bool { return f.at.IsZero() })
}

// judgeParts says what an answer in parts is worth; "" while it is not complete.
func (s *Session) judgeParts(step *Step) string {
	q, given, right := step.Question, s.parts(step), s.truth(step)
	if given == nil || !s.decided(step) {
		return ""
	}
	good, first := 0, -1
	for i := range right {
		if given[i] == right[i] {
			good++
		} else if first < 0 {
			first = i
		}
	}
	switch {
	case first < 0 && q.Form() == Order:
		return "Right: that is the order in which it happened."
	case first < 0:
		return "Right, every one of them."
	case q.Form() == Order:
		c := q.Cards[right[first]]
		no := fmt.Sprintf("No: %d of %d stand where they belong. Place %d is “%s”", good, len(right), first+1, c.Text)
		if c.Why != "" {
			no += ": " + strings.TrimSuffix(c.Why, ".")
		}
		var order []string
		for i, n := range right {
			order = append(order, fmt.Sprintf("%d %s", i+1, q.Cards[n].Text))
		}
		return no + ". The right order: " + strings.Join(order, "; ") + "."
	}
	m := q.Items[first]
	return fmt.Sprintf("No: %d of %d are right. “%s” is not of “%s”: %s", good, len(right), m.Text, q.Labels[given[first]].Text, m.Why)
}

// Unsettled lists the beats whose questions of order or match wait for a right
// answer.
func (s *Session) Unsettled() []*Step {
	var open []*Step
	for _, step := range s.Lesson.Steps {
		if q := step.Question; q != nil && q.InParts() && !s.Settled(step) {
			open = append(open, step)
		}
	}
	return open
}

// lookParts shows a question of order or match as far as it is answered; once it is known what is right, cards
// stand in their order, with the events that they were.
func (s *Session) lookParts(look *Look, step *Step, known bool) {
	q, given := step.Question, s.given[step.ID]
	laid := s.layout(step)
	if known {
		told := s.toldParts(step)
		for _, part := range told.Parts {
			if q.Form() == Order {
				look.Choices = append(look.Choices, ChoiceLook{Text: part.Text, Chosen: true, Place: part.Said, Right: part.Right, Event: part.Event})
			} else {
				look.Items = append(look.Items, ItemLook{Text: part.Text, Label: part.SaidLabel, Right: part.Right, Event: part.Event})
			}
		}
	}
	if q.Form() == Match {
		for _, n := range laid.answers {
			look.Choices = append(look.Choices, ChoiceLook{Text: q.Labels[n].Text})
		}
	}
	if known {
		return
	}
	for i, n := range laid.items {
		item := ItemLook{Text: q.Items[n].Text, Next: i == len(given)}
		if i < len(given) {
			item.Label = q.Labels[given[i]].Text
		}
		look.Items = append(look.Items, item)
	}
	if q.Form() == Order {
		for _, n := range laid.answers {
			place := slices.Index(given, n) + 1
			look.Choices = append(look.Choices, ChoiceLook{Text: q.Cards[n].Text, Chosen: place > 0, Place: place})
		}
	}
}

// PartLook is one card or item of a verdict, with what is right of it and what was said.
type PartLook struct {
	Text             string
	Place, Said      int    // of a card
	Label, SaidLabel string // of an item
	Right            bool
	Event            string // "" where the text knows
}

// toldParts takes a verdict on an answer in parts apart; nil while there is none.
func (s *Session) toldParts(step *Step) *Told {
	q, given, right, facts := step.Question, s.parts(step), s.truth(step), s.facts[step.ID]
	if given == nil || !s.decided(step) {
		return nil
	}
	t, good := &Told{By: s.told[step.ID].at}, 0
	for i := range right {
		n, part := i, PartLook{}
		if q.Form() == Order {
			n = right[i]
			part = PartLook{Text: q.Cards[n].Text, Place: i + 1, Said: slices.Index(given, n) + 1}
			part.Right = part.Said == part.Place
		} else {
			part = PartLook{Text: q.Items[i].Text, Label: q.Labels[right[i]].Text, SaidLabel: q.Labels[given[i]].Text, Right: right[i] == given[i]}
		}
		if len(facts) > 0 && !facts[n].at.IsZero() {
			part.Event = "#" + facts[n].at.String()
			if facts[n].at.Compare(t.By) > 0 {
				t.By = facts[n].at
			}
		}
		if part.Right {
			good++
		} else if t.Why == "" && q.Form() == Order {
			t.Why = q.Cards[n].Why
		} else if t.Why == "" {
			t.Why = q.Items[i].Why
		}
		t.Parts = append(t.Parts, part)
	}
	t.Right = good == len(right)
	t.Said = fmt.Sprintf("%d of %d right", good, len(right))
	if q.Form() == Order {
		t.Said = fmt.Sprintf("%d of %d in their place", good, len(right))
	}
	return t
}

// Lines are the question's answers as text, one a line: as they are shown to a
// learner, or with what is right.
func (q *Question) Lines(answers bool) []string {
	var lines []string
	for _, n := range q.fixed.answers {
		line := ""
		switch q.Form() {
		case OneOf:
			c := q.Choices[n]
			if line = c.Text; answers && c.Right {
				line += " (right: " + c.Why + ")"
			}
		case Order:
			if line = q.Cards[n].Text; answers {
				line += fmt.Sprintf(" (place %d: %s)", n+1, q.Cards[n].Why)
			}
		default:
			continue
		}
		lines = append(lines, line)
	}
	var labels []string
	for _, n := range q.fixed.answers {
		if q.Form() == Match {
			labels = append(labels, q.Labels[n].Text)
		}
	}
	for _, n := range q.fixed.items {
		m := q.Items[n]
		line := m.Text + ": " + strings.Join(labels, ", or ")
		if answers {
			line = m.Text + ": " + labels[m.label] + " (" + m.Why + ")"
		}
		lines = append(lines, line)
	}
	return lines
}
