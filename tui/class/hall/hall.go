// Package hall receives the terminals of a class and shows each the screen that is its own: a student follows, or is in a
// cluster of their own; the teacher's terminals are the projector and the notes.
//
// Start reading at [Hall.Receive].
package hall

import (
	"context"
	"fmt"
	"strings"

	"kviz/tui/class"
	"kviz/tui/class/door"
	"kviz/tui/class/guest"
	"kviz/tui/class/lead"
	"kviz/tui/class/student"
	"kviz/tui/pane"
)

// Config is a class as its terminals see it.
type Config struct {
	Lead    *lead.Lead
	Room    *class.Room
	Panes   []pane.Maker
	Teacher string // what students read: "ada"

	// Owner are the screens of the teacher, by role: "present", "notes".
	Owner map[string]func(ctx context.Context, v *door.Visit) error
	// Alone runs a cluster of a student's own on their terminal, until they come back; nil: there is none.
	Alone func(ctx context.Context, v *door.Visit) error
	// Screens are where the teacher may look in; nil: nowhere.
	Screens *guest.Screens
	// Why says why a student can have no cluster of their own now; "" if they can.
	Why func(name string) string
}

// Hall is a [door.Host].
type Hall struct{ cfg Config }

// New makes a hall.
func New(cfg Config) *Hall { return &Hall{cfg} }

// Receive implements [door.Host].
func (h *Hall) Receive(ctx context.Context, v *door.Visit) error {
	if v.Role != "" {
		show := h.cfg.Owner[v.Role]
		if show == nil {
			return fmt.Errorf("there is no screen %q in this class", v.Role)
		}
		return show(ctx, v)
	}
	h.cfg.Room.Come(v.Name)
	defer h.cfg.Room.Leave(v.Name)
	says := ""
	for {
		follows := h.student(ctx, v, says)
		if err := h.show(ctx, v, follows); err != nil || ctx.Err() != nil {
			return err
		}
		if follows.Outcome != student.Alone {
			return nil
		}
		says = ""
		if err := h.cfg.Alone(ctx, v); err != nil { // there is none from here, say: they follow
			says, _, _ = strings.Cut(err.Error(), "\n")
		}
		h.cfg.Room.Back(v.Name)
	}
}

// show runs a program on a student's terminal, into which the teacher may be let.
func (h *Hall) show(ctx context.Context, v *door.Visit, p guest.Program) error {
	host := h.cfg.Screens.Begin(v.Name)
	defer host.End()
	_, err := door.Show(ctx, v, host.Wrap(p))
	return err
}

// student is the screen of a student who follows, and what is said there first.
func (h *Hall) student(ctx context.Context, v *door.Visit, says string) *student.Model {
	return student.New(student.Config{
		Says: says, Name: v.Name, Teacher: h.cfg.Teacher, Word: v.Word, Lead: h.cfg.Lead, Room: h.cfg.Room, Panes: h.cfg.Panes,
		Changes: func() (scene, room <-chan struct{}) { return h.cfg.Lead.Changed.Next(), h.cfg.Room.Changed.Next() },
		Alone: func() string {
			switch {
			case h.cfg.Alone == nil:
				return "there are no clusters of one's own in this class"
			case h.cfg.Why != nil:
				return h.cfg.Why(v.Name)
			}
			return ""
		},
	}, ctx.Done())
}
