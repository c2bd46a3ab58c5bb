package attach

import (
	"context"
	"time"
)

// resizes calls f now and then until ctx ends: Windows has no signal for a new size.
func resizes(ctx context.Context, f func()) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f()
		case <-ctx.Done():
			return
		}
	}
}
