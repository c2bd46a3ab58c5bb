package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const (
	// between is the least time between two changes that a page hears of: more would be sent than is seen.
	between = 120 * time.Millisecond
	// breath is how often a page hears something at least, so that a connection that has gone is noticed.
	breath = 15 * time.Second
)

// follow sends a page what has changed since it was sent last, as long as it listens.
func (p *Page) follow(w http.ResponseWriter, r *http.Request) {
	if !p.admitted(r) {
		refuse(w, http.StatusForbidden, "The class asks for its code, at /.")
		return
	}
	if p.streams.Add(1) > int64(p.cfg.Limits.Viewers) {
		p.streams.Add(-1)
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("%d look on already. The page can be loaded again to see what is new.", p.cfg.Limits.Viewers))
		return
	}
	defer p.streams.Add(-1)
	if g, ok := r.Context().Value(guestKey{}).(*guest); ok {
		g.seated.Store(true)
		defer g.seated.Store(false)
	}
	s := &stream{w: w, to: http.NewResponseController(w), stalled: p.cfg.Limits.Stalled}
	_ = s.to.SetReadDeadline(time.Time{}) // nothing more is read
	w.Header().Set("Content-Type", "text/event-stream")
	b := p.boards[sized(r)]
	has := r.Header.Get("Last-Event-ID")
	if has == "" {
		has = r.URL.Query().Get("has")
	}
	var last *sheet
	if now := b.look(); now.id == has {
		last = now
	}
	if !s.send(": kviz\n\n") {
		return
	}
	for {
		scene, room := p.cfg.Changes()
		if now := b.look(); now != last {
			if !s.send(now.event(last)) {
				return
			}
			last = now
			if !p.rests(r) {
				s.send(overEvent)
				return
			}
			continue
		}
		quiet := time.NewTimer(breath)
		select {
		case <-scene:
		case <-room:
		case <-quiet.C:
			if !s.send(": \n\n") {
				quiet.Stop()
				return
			}
		case <-p.over:
			s.send(overEvent)
			quiet.Stop()
			return
		case <-r.Context().Done():
			quiet.Stop()
			return
		}
		quiet.Stop()
	}
}

// rests waits for a moment; false if the class is over.
func (p *Page) rests(r *http.Request) bool {
	t := time.NewTimer(between)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Context().Done(): // the next write fails
	case <-p.over:
		return false
	}
	return true
}

// overEvent has a page say that the class is over, and listen no more.
const overEvent = "event: over\ndata: {}\n\n"

// stream is what goes to one page.
type stream struct {
	w       http.ResponseWriter
	to      *http.ResponseController
	stalled time.Duration
}

// send sends a piece, and reports whether the browser has taken it in time.
func (s *stream) send(text string) bool {
	_ = s.to.SetWriteDeadline(time.Now().Add(s.stalled))
	if _, err := s.w.Write([]byte(text)); err != nil {
		return false
	}
	return s.to.Flush() == nil
}

// event is what a page hears that shows another sheet, or none that is known.
func (s *sheet) event(before *sheet) string {
	parts := map[string]string{}
	if before == nil || len(before.rows) != len(s.rows) {
		parts["picture"] = s.picture
	} else {
		for y, row := range s.rows {
			if row != before.rows[y] {
				parts["y"+strconv.Itoa(y)] = row
			}
		}
	}
	for id, text := range s.words {
		if before == nil || before.words[id] != text {
			parts[id] = text
		}
	}
	data, err := json.Marshal(parts)
	if err != nil { // of a map of strings
		return ""
	}
	return fmt.Sprintf("id: %s\ndata: %s\n\n", s.id, data)
}
