// Package class is a lesson, or a walk through a run, that many people take together: one of them teaches, the others follow
// on screens of their own, answer polls, and go through a gate into clusters of their own.
//
// A [Room] is who is there and what they have said: a fold of its journal ([Entry]), so that a class whose process ends goes
// on with the same answers. It knows no cluster, no network and no screen. Below it:
//
//	lead    the teacher's run: what everybody looks at (a Scene), and what the teacher does
//	walk    a way through any run by marks, in the place of a lesson
//	door    the terminals that come in, over SSH and over a socket for the teacher's own screens
//	screen  what is drawn: the student who follows, the projector, the teacher's notes and board
//	guest   a look of the teacher's at a student's screen, where the student agrees
//	own     clusters of the students' own, and what one may cost
//
// Kubernetes has nothing like it; the wording of what students see follows the lessons.
//
// Start reading at [Room].
package class

import "sync"

// Bell tells any number of listeners that something has changed. The zero Bell is ready.
type Bell struct {
	mu sync.Mutex
	ch chan struct{}
}

// Next is closed when the bell rings next.
func (b *Bell) Next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

// Ring wakes all who wait.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

// Short is a text of at most so many characters, marked where it was cut.
func Short(text string, most int) string {
	if all := []rune(text); len(all) > most {
		return string(all[:most-1]) + "…"
	}
	return text
}
