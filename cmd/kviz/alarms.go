package main

import (
	"fmt"
	"io"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// alarms prints what somebody who has no screen wants to know: full disks and the store's
// alarms, of which something must be done, and what members recovered from a data
// directory. The function it returns ends that.
func alarms(stream *trace.Stream, w io.Writer) (stop func()) {
	changed, quiet := stream.Notify()
	ending, ended := make(chan struct{}), make(chan struct{})
	var at uint64
	raised := map[trace.Alarm]bool{} // the store raises an alarm at each write that has no room
	tell := func() {
		for {
			events, next, _ := stream.Read(at, 4096)
			if at = next; len(events) == 0 {
				return
			}
			for _, e := range events {
				switch e.Kind {
				case trace.MemberUp:
					if up, ok := e.Payload.(*trace.MemberState); !ok || up.Recovered == "" {
						continue
					}
				case trace.AlarmRaised:
					a, ok := e.Payload.(*trace.Alarm)
					if !ok || raised[*a] {
						continue
					}
					raised[*a] = true
				case trace.AlarmCleared:
					if a, ok := e.Payload.(*trace.Alarm); ok {
						delete(raised, *a)
					}
				case trace.MemberRoom:
				default:
					continue
				}
				fmt.Fprintf(w, "kviz: %s\n", view.Explain(e))
			}
		}
	}
	go func() {
		defer close(ended)
		for {
			tell()
			select {
			case <-changed:
			case <-ending:
				tell()
				return
			}
		}
	}()
	return func() {
		close(ending)
		<-ended
		quiet()
	}
}
