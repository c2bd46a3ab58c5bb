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

// Pointing is a question that is answered by pointing at a cell of the picture.
type Pointing struct {
	At  *Text             // the cells that can be pointed at, "store:member/*"
	Why map[string]string // by the cell's name, "member/a"; "_" for any other
	is  *condition        // whether it is the right one, which pointed stands for
}

// pointed is the name of the cell that a learner points at, in the question's expression.
const pointed = "pointed"

// readPoint reads what a question of form point has.
func (q *questionText) readPoint(r reader, out *Question) error {
	if q.Point == "" {
		if q.Is != "" {
			return errors.New("is belongs to a question with point: PANE:NAME")
		}
		return nil
	}
	switch {
	case r.said == nil:
		return errors.New("point: only a lesson in beats has a picture to point at")
	case out.reveal == nil:
		return errors.New("reveal: the moment when the simulation shows which cell it was")
	case q.Is == "":
		return fmt.Errorf("is: whether a cell is the right one, such as %s == \"member/\" + store.leader", pointed)
	}
	p := &Pointing{Why: q.Why}
	names, err := r.naming(pointed)
	if err != nil {
		return err
	}
	if p.At, err = r.cellName(q.Point); err != nil {
		return fmt.Errorf("point: %w", err)
	}
	if p.is, err = r.in(names, q.Is); err != nil {
		return fmt.Errorf("is: %w", err)
	}
	for _, why := range q.Why {
		if err := r.saying(why); err != nil {
			return fmt.Errorf("why: %w", err)
		}
	}
	out.Point = p
	return nil
}

// why is what there is to say of a cell.
func (p *Pointing) why(name string) string {
	if w, ok := p.Why[name]; ok {
		return w
	}
	return p.Why["_"]
}

// PointAt answers a question with one of the cells that can be pointed at; it is not changed any
// more.
func (s *Session) PointAt(step *Step, name string, among []string) error {
	switch {
	case step.Question == nil || step.Question.Form() != Point:
		return errors.New("there is nothing to point at")
	case !slices.Contains(among, name):
		return fmt.Errorf("there is no %s to point at: one of %s", name, strings.Join(among, ", "))
	case s.pointed[step.ID] != "":
		return errors.New("the question is answered already")
	}
	s.pointed[step.ID] = name
	s.pointAmong(step, among)
	return nil
}

// pointAmong notes the cells that there are to point at. Which of them is right may be known by
// then.
func (s *Session) pointAmong(step *Step, among []string) {
	s.among[step.ID] = among
	if v, told := s.told[step.ID]; told {
		st := s.b.Live()
		v.cells = s.cells(step, st, st.Event)
		s.told[step.ID] = v
	}
}

// cells says of each cell that can be pointed at whether it is the right one.
func (s *Session) cells(step *Step, st *view.State, e *trace.Event) map[string]bool {
	right := map[string]bool{}
	names := maps.Clone(s.values)
	for _, name := range s.among[step.ID] {
		names[pointed] = expr.TextValue(name)
		right[name] = s.holdsIn(step.Question.Point.is, st, e, names)
	}
	return right
}

// rightCells are the cells that were right, in order.
func (v verdict) rightCells() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(v.cells)) {
		if v.cells[name] {
			all = append(all, name)
		}
	}
	return all
}

// judgePoint says what pointing was worth; "" while that is not known.
func (s *Session) judgePoint(step *Step) string {
	name := s.pointed[step.ID]
	v, told := s.told[step.ID]
	if name == "" || !told {
		return ""
	}
	why := s.fill(step, step.Question.Point.why(name))
	if v.cells[name] {
		return strings.TrimSpace(fmt.Sprintf("Right (#%s): it was %s. %s", v.at, called(name), why))
	}
	was := "it was none of them"
	if right := v.rightCells(); len(right) > 0 {
		for i := range right {
			right[i] = called(right[i])
		}
		was = "it was " + strings.Join(right, " or ")
	}
	return strings.TrimSpace(fmt.Sprintf("No (#%s). You pointed at %s, %s. %s", v.at, called(name), was, why))
}

// called is a cell's name as it is read: "member a", "pod demo/web-1".
func called(name string) string { return strings.Replace(name, "/", " ", 1) }

// provedPoint holds a question against what happened: one of the cells was right, and not all.
func (s *Session) provedPoint(step *Step) error {
	v, told := s.told[step.ID]
	right := v.rightCells()
	switch among := s.among[step.ID]; {
	case !told:
		return fmt.Errorf("beat %q: the moment that reveals the answer never came", step.ID)
	case len(among) == 0: // it was proven without a screen
		return nil
	case len(right) == 0:
		return fmt.Errorf("beat %q: at #%s none of the cells is right: %s", step.ID, v.at, strings.Join(among, ", "))
	case len(right) == len(among):
		return fmt.Errorf("beat %q: at #%s every cell is right: %s", step.ID, v.at, strings.Join(among, ", "))
	}
	return nil
}
