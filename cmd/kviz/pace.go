package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"kviz/cluster/trace"
)

// behindFor is how long virtual time falls behind before it is reported
// where there is no screen.
const behindFor = 10 * time.Second

// tellPace says it, once, when virtual time falls behind its speed for long, and when
// it keeps up again, until ctx ends.
func tellPace(ctx context.Context, w io.Writer, s *trace.Stream) {
	news := make(chan trace.Pace, 1) // the newest
	stop := s.Tee(func(e *trace.Event) {
		if p, ok := e.Payload.(*trace.Pace); ok {
			select {
			case <-news: // nobody has heard of it yet, and it is not so any more
			default:
			}
			news <- *p
		}
	})
	defer stop()
	var now trace.Pace
	said := false
	long := time.NewTimer(behindFor)
	long.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-news:
			switch {
			case p.Why == "":
				long.Stop()
				if said {
					fmt.Fprintf(w, "virtual time keeps up with its speed again, %gx\n", p.Speed)
				}
				said = false
			case now.Why == "":
				long.Reset(behindFor)
			}
			now = p
		case <-long.C:
			said = true
			fmt.Fprintf(w, "virtual time runs at %.2fx instead of %gx: %s\n", now.Actual, now.Speed, now.Why)
		}
	}
}
