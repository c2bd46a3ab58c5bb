// Package guest lets the teacher of a class look at a student's screen, and type on their keys, where the student agrees: each
// time, and for this one screen.
//
// A program on a student's terminal has a [Host], which asks, shows who looks, and ends it; the teacher has a [Look]. Both meet
// in values behind one lock, so a slow terminal keeps nobody: what the student sees is put there as a frame that never changes
// again, and only while somebody looks; what the teacher types is put into a short queue.
//
// The keys of a guest are messages to the student's program, as its own keys are, so they may cost what the student's may. They
// answer no question of the host's, and what ends the program is not done where a guest's key asked for it.
//
// Start reading at [Host.Wrap], then [Look].
package guest

import (
	"context"
	"fmt"
	"sync"

	"kviz/tui/class"
	"kviz/tui/grid"
)

// Screens are the students' screens of a class. All methods may be called from any goroutine and return at once.
type Screens struct {
	teacher string

	mu sync.Mutex
	by map[string]*Host // by the student's name
}

// New makes the screens of a class in which there are no students yet; teacher is what students call who looks.
func New(teacher string) *Screens {
	return &Screens{teacher: grid.Clean(teacher), by: map[string]*Host{}}
}

// Begin is a program that begins on a student's terminal; the student ends it with [Host.End]. Of no screens (nil) it is a host
// whom nobody can ask.
func (s *Screens) Begin(name string) *Host {
	if s == nil {
		return nil
	}
	h := &Host{of: s, name: name, ended: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by[name] = h
	return h
}

// Look asks a student whether the teacher may look at their screen. The look ends with ctx.
func (s *Screens) Look(ctx context.Context, name string) (*Look, error) {
	s.mu.Lock()
	h := s.by[name]
	s.mu.Unlock()
	if h == nil {
		return nil, fmt.Errorf("%s has no screen here now", name)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.look != nil {
		return nil, fmt.Errorf("another of your screens looks at %s's already", name)
	}
	l := &Look{host: h, now: Moment{State: Asked}}
	l.stop = context.AfterFunc(ctx, l.End)
	h.look = l
	h.changed.Ring()
	return l, nil
}

// Host is a program on a student's terminal.
type Host struct {
	of      *Screens
	name    string
	changed class.Bell    // rings when the guest has done something
	ended   chan struct{} // closed when the program has ended

	mu   sync.Mutex // of look and all that is in it
	look *Look      // nil while nobody looks, or asks
}

// End is that the program has ended: the student goes to another screen, or leaves. Nobody looks at that one unless they are
// asked there.
func (h *Host) End() {
	if h == nil {
		return
	}
	h.of.mu.Lock()
	if h.of.by[h.name] == h {
		delete(h.of.by, h.name)
	}
	h.of.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.ended)
	h.over(h.name + " has left this screen: look in again, and they are asked on the next one")
}

// over ends the look, if there is one; why is a sentence for the teacher. The lock is held.
func (h *Host) over(why string) {
	l := h.look
	if l == nil {
		return
	}
	l.stop()
	l.now = Moment{State: Over, Says: why}
	l.typed = nil
	h.look = nil
	l.Changed.Ring()
}
