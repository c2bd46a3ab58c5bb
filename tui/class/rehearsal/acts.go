package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/lessons"
)

// The words by which a student knows where they are.
const (
	pollIsOpen  = "the poll is open"
	hasAnswered = "you have answered"
	howSure     = "how sure"
	gateIsOpen  = "your turn: F"
	follows     = "following"
	inQueue     = "your cluster: yours in"
)

// Beat is what stands in the first row in a beat of a lesson; a step counts from 1.
func Beat(step, steps int) string { return fmt.Sprintf("beat %d of %d", step, steps) }

// Follows waits until the student sees a beat of what the teacher shows.
func (s *Student) Follows(ctx context.Context, step, steps int) (time.Time, error) {
	return s.Sees(ctx, Beat(step, steps))
}

// Answer answers the question of the poll that is open, once it is; pick says which of the answers there are, and any number is one.
func (s *Student) Answer(ctx context.Context, q *lessons.Question, pick int) error {
	if _, err := s.Sees(ctx, pollIsOpen); err != nil {
		return err
	}
	keys := answerKeys(q, pick)
	for range 20 {
		if err := s.Type(keys); err != nil {
			return err
		}
		done, err := s.answered(ctx)
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("%s answers with %q, and nothing comes of it; %dx%d shows\n%s", s.Name, keys, s.Width, s.Height, s.Screen())
}

// patience is for how long a student waits for what a key does before they press it again: while the picture moves, keys
// do not answer.
const patience = 500 * time.Millisecond

// answered waits a moment for the answer to be taken, and says how sure the student is where that is asked.
func (s *Student) answered(ctx context.Context) (bool, error) {
	for {
		moment, cancel := context.WithTimeout(ctx, patience)
		_, err := s.Until(moment, "that an answer was taken", func(text string) bool {
			return strings.Contains(text, howSure) || strings.Contains(text, hasAnswered)
		})
		cancel()
		switch text := s.Screen(); {
		case ctx.Err() != nil || errors.Is(err, errEnded):
			return false, err
		case err != nil:
			return false, nil
		case strings.Contains(text, hasAnswered) && !strings.Contains(text, howSure):
			return true, nil
		}
		if err := s.Type("2"); err != nil {
			return false, err
		}
		_, err = s.Until(ctx, "that it was said how sure", func(text string) bool { return !strings.Contains(text, howSure) })
		if err != nil {
			return false, err
		}
	}
}

// answerKeys are those with which a question is answered.
func answerKeys(q *lessons.Question, pick int) string {
	switch q.Form() {
	case lessons.Count:
		return strings.Repeat("\x7f", 9) + fmt.Sprint(pick%9+1) + "\r"
	case lessons.Point:
		return strings.Repeat("\x1b[B", pick%3) + "\r"
	case lessons.Order:
		n := len(q.Cards)
		var keys strings.Builder
		for i := range n {
			fmt.Fprint(&keys, (pick+i)%n+1)
		}
		return keys.String()
	case lessons.Match:
		return strings.Repeat("1", len(q.Items))
	}
	return fmt.Sprint(pick%max(len(q.Choices), 1) + 1)
}

// Alone goes into a cluster of the student's own, once that can be, and gives when it was there.
func (s *Student) Alone(ctx context.Context) (time.Time, error) {
	if err := s.Type("F"); err != nil {
		return time.Time{}, err
	}
	return s.Until(ctx, "a cluster of their own", alone)
}

// alone reports whether a screen is that of a cluster of one's own: it shows the lesson, and neither the class nor the queue.
func alone(text string) bool {
	return hasAll(said(text), []string{"beat"}) && !hasAny(text, gateIsOpen, follows, inQueue, pollIsOpen, hasAnswered)
}

func hasAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// Does runs the commands that a do beat offers, one after another, until all its goals are met.
func (s *Student) Does(ctx context.Context) error {
	met := func(text string) bool { return strings.Contains(text, "● ") && !strings.Contains(text, "○ ") }
	for {
		before := s.Screen()
		if strings.Contains(before, "⏎ run") {
			if err := s.Type("\r"); err != nil {
				return err
			}
		}
		moment, cancel := context.WithTimeout(ctx, patience)
		_, err := s.Until(moment, "that its goals are met", met)
		cancel()
		if err == nil || ctx.Err() != nil || errors.Is(err, errEnded) {
			return err
		}
	}
}

// Back goes back to the class. The key is pressed once: in the class it leaves that.
func (s *Student) Back(ctx context.Context) error {
	if err := s.Type("q"); err != nil {
		return err
	}
	_, err := s.Until(ctx, "the class again", func(text string) bool { return hasAny(text, gateIsOpen, follows) })
	return err
}

// Raise raises the student's hand.
func (s *Student) Raise() error { return s.Type("h") }

// Ask asks a question.
func (s *Student) Ask(ctx context.Context, text string) error {
	if err := s.Type("?"); err != nil {
		return err
	}
	if _, err := s.Sees(ctx, "your question:"); err != nil {
		return err
	}
	if err := s.Type(text + "\r"); err != nil {
		return err
	}
	_, err := s.Sees(ctx, "your question is on the teacher's screen")
	return err
}
