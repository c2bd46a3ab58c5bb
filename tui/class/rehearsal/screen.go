package rehearsal

import (
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/vt"
)

// screen is a terminal's: what came over the line, as a person reads it.
type screen struct {
	line *Line

	mu       sync.Mutex
	emulator *vt.Emulator
	bytes    int64
	arrived  time.Time // when the newest of them did
	waits    []*wait
	over     bool
}

// wait is for something to stand on the screen.
type wait struct {
	holds func(text string) bool
	done  chan time.Time // gets when the bytes arrived that made it so; closed without where the screen ended
}

func newScreen(line *Line, width, height int) *screen {
	return &screen{line: line, emulator: vt.NewEmulator(width, height)}
}

// Write shows what came.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return len(p), nil
	}
	s.bytes += int64(len(p))
	s.arrived = s.line.Arrived()
	n, err := s.emulator.Write(p)
	s.look()
	return n, err
}

// look gives those who wait for what stands there now what they wait for. The lock is held.
func (s *screen) look() {
	if len(s.waits) == 0 {
		return
	}
	text := s.emulator.String()
	var left []*wait
	for _, w := range s.waits {
		if w.holds(text) {
			w.done <- s.arrived
			continue
		}
		left = append(left, w)
	}
	s.waits = left
}

// until registers somebody who waits; one who gives up need not say so.
func (s *screen) until(holds func(text string) bool) *wait {
	w := &wait{holds: holds, done: make(chan time.Time, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case holds(s.emulator.String()):
		w.done <- s.arrived
	case s.over:
		close(w.done)
	default:
		s.waits = append(s.waits, w)
	}
	return w
}

// forget drops somebody who has given up.
func (s *screen) forget(w *wait) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, other := range s.waits {
		if other == w {
			s.waits = append(s.waits[:i], s.waits[i+1:]...)
			return
		}
	}
}

// end is that nothing more will come.
func (s *screen) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, w := range s.waits {
		close(w.done)
	}
	s.waits = nil
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.emulator.String()
}

func (s *screen) received() (bytes int64, newest time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes, s.arrived
}

// said is a screen's text in one line, so that a sentence is found wherever its lines are broken.
func said(text string) string { return strings.Join(strings.Fields(text), " ") }
