package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"

	"kviz/tui/safe"
)

// Class is where a class is found.
type Class struct {
	Address string // of the door
	Code    string
	Socket  string // of the teacher's screens
}

// Join comes in as a student.
func (c Class) Join(ctx context.Context, as As) (*Student, error) {
	as.Code = c.Code
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", c.Address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", as.Name, err)
	}
	return Join(ctx, conn, as)
}

// Students has many come in at the same moment, in the sizes that terminals have, and gives them in their order.
func (c Class) Students(ctx context.Context, names ...string) ([]*Student, error) {
	all := make([]*Student, len(names))
	err := Each(names, func(i int, name string) (err error) {
		size := Sizes[i%len(Sizes)]
		all[i], err = c.Join(ctx, As{Name: name, Width: size[0], Height: size[1]})
		return err
	})
	return all, err
}

// Each does something for all of some, each beside the others, and gives all errors.
func Each[T any](all []T, do func(i int, one T) error) error {
	errs := make([]error, len(all))
	group := safe.NewGroup(nil)
	for i, one := range all {
		group.Go(func() { errs[i] = do(i, one) })
	}
	group.Wait()
	if crash := group.Crash(); crash != nil {
		errs = append(errs, crash)
	}
	return errors.Join(errs...)
}

// Teacher is the teacher at the projector's screen.
type Teacher struct{ *Student }

// Teacher comes in by the socket.
func (c Class) Teacher(ctx context.Context) (*Teacher, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", c.Socket)
	if err != nil {
		return nil, fmt.Errorf("the teacher: %w", err)
	}
	s, err := Join(ctx, conn, As{Name: "present", Width: 120, Height: 40})
	if err != nil {
		return nil, err
	}
	return &Teacher{s}, nil
}

var atBeat = regexp.MustCompile(`beat (\d+) of (\d+)`)

// At is the beat on the screen, from 1, of how many; 0 where there is none.
func (t *Teacher) At() (step, steps int) { return beatOn(t.Screen()) }

func beatOn(text string) (step, steps int) {
	m := atBeat.FindStringSubmatch(text)
	if m == nil {
		return 0, 0
	}
	step, _ = strconv.Atoi(m[1])
	steps, _ = strconv.Atoi(m[2])
	return step, steps
}

// Begins waits for the first beat.
func (t *Teacher) Begins(ctx context.Context) error {
	_, err := t.Until(ctx, "a beat", func(text string) bool { step, _ := beatOn(text); return step > 0 })
	return err
}

// GoesOn goes on to the next beat, by the keys that the screen offers: what is to be done is done on the teacher's cluster. After
// the last beat, the end of the lesson is the next.
func (t *Teacher) GoesOn(ctx context.Context) error {
	from, steps := t.At()
	if from == 0 {
		return fmt.Errorf("the teacher stands at no beat; the screen shows\n%s", t.Screen())
	}
	for {
		if err := t.Type(t.next()); err != nil {
			return err
		}
		moment, cancel := context.WithTimeout(ctx, teachersPatience)
		_, err := t.Until(moment, Beat(from+1, steps), func(text string) bool { step, _ := beatOn(text); return step != from })
		cancel()
		if err == nil || ctx.Err() != nil || errors.Is(err, errEnded) {
			return err
		}
	}
}

// teachersPatience is for how long the teacher waits for the next beat before the key is pressed again: the first may have ended a
// motion. A key too many closes a poll that nobody has seen.
const teachersPatience = 3 * patience

// next is the key that goes on now; none while a command runs from which something is expected.
func (t *Teacher) next() string {
	switch text := t.Screen(); {
	case !strings.Contains(text, "○ "):
		return " "
	case strings.Contains(text, "runs …"):
		return ""
	case strings.Contains(text, " ⏎"):
		return "\r"
	}
	return " "
}

// ClosesPoll closes the poll and shows what the class said.
func (t *Teacher) ClosesPoll() error { return t.Type("VV") }

// OpensGate opens the beat for clusters of the students' own, or closes it.
func (t *Teacher) OpensGate() error { return t.Type("G") }

// Ends ends the class for everybody.
func (t *Teacher) Ends(ctx context.Context) error {
	if err := t.Type("q"); err != nil {
		return err
	}
	if _, err := t.Sees(ctx, "end the class for everybody"); err != nil {
		return err
	}
	if err := t.Type("E"); err != nil {
		return err
	}
	_, err := t.Ended(ctx)
	return err
}
