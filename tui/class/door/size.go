package door

import "sync"

// size is a terminal's, as it changes.
type size struct {
	mu            sync.Mutex
	width, height int
	changed       chan struct{} // holds something after a change
}

func newSize(columns, rows uint32) *size {
	s := &size{changed: make(chan struct{}, 1)}
	s.width, s.height = clamp(columns, rows)
	return s
}

func (s *size) set(columns, rows uint32) {
	w, h := clamp(columns, rows)
	s.mu.Lock()
	same := w == s.width && h == s.height
	s.width, s.height = w, h
	s.mu.Unlock()
	if same {
		return
	}
	select {
	case s.changed <- struct{}{}:
	default: // the next look sees this change too
	}
}

func (s *size) get() (width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.width, s.height
}

// clamp is a size that can be drawn for. A client that does not know its own says 0, and gets the usual one.
func clamp(columns, rows uint32) (width, height int) {
	if columns == 0 || rows == 0 {
		return 80, 24
	}
	return int(min(columns, maxWidth)), int(min(rows, maxHeight))
}
