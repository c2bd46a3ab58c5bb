package lessons

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"kviz/cluster/expr"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Number is a question that is answered with a number, which the simulation computes.
type Number struct {
	Unit string            // "ms", "disks"
	Why  map[string]string // by answer; "_" for any other

	Ghosts []*Ghost // where the number that was said stands in the picture
	near   string   // "2x", "10%"; "" is exactly
	src    string   // the expression that is the answer
	is     *expr.Program
}

// readNumber reads what a question of form number has.
func (q *questionText) readNumber(r reader, out *Question) error {
	if q.Answer == "" {
		if q.Near != "" || len(q.Ghost) > 0 || len(q.Why) > 0 && out.Point == nil {
			return errors.New("near, why and ghost belong to a question with answer: EXPRESSION")
		}
		return nil
	}
	if out.reveal == nil {
		return errors.New("reveal: the moment when its answer is computed ('true' is at once)")
	}
	n := &Number{Unit: q.Unit, Why: q.Why, near: q.Near, src: q.Answer}
	var err error
	if n.is, err = r.names.CompileAny(q.Answer); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	if _, err := n.takes(1, 1); err != nil {
		return err
	}
	for _, why := range q.Why {
		if err := r.saying(why); err != nil {
			return fmt.Errorf("why: %w", err)
		}
	}
	if n.Ghosts, err = r.ghostsAt(q.Ghost, true); err != nil {
		return fmt.Errorf("ghost: %w", err)
	}
	out.Number = n
	return nil
}

// takes reports whether an answer is near enough to what is right.
func (n *Number) takes(answer, right float64) (bool, error) {
	switch {
	case n.near == "":
		return answer == right, nil
	case strings.HasSuffix(n.near, "x"):
		f, err := strconv.ParseFloat(strings.TrimSuffix(n.near, "x"), 64)
		if err != nil || f <= 1 {
			break
		}
		return answer*f >= right && answer <= right*f, nil
	case strings.HasSuffix(n.near, "%"):
		f, err := strconv.ParseFloat(strings.TrimSuffix(n.near, "%"), 64)
		if err != nil || f <= 0 {
			break
		}
		return math.Abs(answer-right) <= math.Abs(right)*f/100, nil
	}
	return false, fmt.Errorf("near %q: want a factor such as 2x, or a share such as 10%%", n.near)
}

// why is what there is to say to an answer.
func (n *Number) why(answer float64) string {
	if w, ok := n.Why[number(answer)]; ok {
		return w
	}
	return n.Why["_"]
}

// number is a number as it is written.
func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// unit is a number with its unit.
func (n *Number) unit(x float64) string {
	if n.Unit == "" {
		return number(math.Round(x*100) / 100)
	}
	return number(math.Round(x*100)/100) + " " + n.Unit
}

// number computes the answer.
func (s *Session) number(n *Number, st *view.State, e *trace.Event) float64 {
	text, err := n.is.TextIn(st, e, s.values)
	var x float64
	if err == nil {
		x, err = strconv.ParseFloat(text, 64)
	}
	if err != nil && s.failed == nil {
		s.failed = fmt.Errorf("answer: want a number: %w", err)
	}
	return x
}

// AnswerNumber answers a question that asks for a number; it is not changed any more.
func (s *Session) AnswerNumber(step *Step, x float64) bool {
	if step.Question == nil || step.Question.Form() != Count {
		return false
	}
	if _, ok := s.numbers[step.ID]; ok {
		return false
	}
	s.numbers[step.ID] = x
	return true
}

// judgeNumber says what a number was worth; "" while that is not known.
func (s *Session) judgeNumber(step *Step) string {
	n := step.Question.Number
	mine, given := s.numbers[step.ID]
	v, told := s.told[step.ID]
	if !given || !told {
		return ""
	}
	ok, _ := n.takes(mine, v.right)
	why := s.fill(step, n.why(mine))
	switch {
	case ok && mine == v.right:
		why = s.fill(step, n.why(v.right))
		return strings.TrimSpace(fmt.Sprintf("Right (#%s): %s. %s", v.at, n.unit(v.right), why))
	case ok:
		return strings.TrimSpace(fmt.Sprintf("Near enough (#%s): you %s, it was %s. %s", v.at, n.unit(mine), n.unit(v.right), why))
	}
	off := ""
	if mine > 0 && v.right > 0 && n.near != "" {
		off = fmt.Sprintf(": %.1f times", max(mine/v.right, v.right/mine))
	}
	return strings.TrimSpace(fmt.Sprintf("No (#%s). You %s, it was %s%s. %s", v.at, n.unit(mine), n.unit(v.right), off, why))
}
