package raftstore

import (
	"fmt"
	"runtime/debug"
	"time"

	"kviz/raftstore/member"
)

// spawn starts every goroutine of the store but raft's own. Close waits for
// them. A panic ends the store's requests with an error and shows as an event,
// unless Config.Go takes care of panics.
func (s *Replicated) spawn(name string, fn func()) {
	s.goroutines.Add(1)
	if s.cfg.Go != nil {
		s.cfg.Go(name, func() {
			defer s.goroutines.Done()
			fn()
		})
		return
	}
	go func() {
		defer s.goroutines.Done()
		defer s.contain(name)
		fn()
	}()
}

func (s *Replicated) contain(name string) {
	p := recover()
	if p == nil {
		return
	}
	err := fmt.Errorf("raftstore: goroutine %q panicked: %v", name, p)
	if s.cfg.Events != nil {
		s.cfg.Events(Event{Kind: member.KindDown, Wall: time.Now(), State: &member.State{
			Role: "stopped", Reason: fmt.Sprintf("%v\n%s", err, debug.Stack()),
		}})
	}
	s.order.broke(err)
	s.order.abort(err)
}
