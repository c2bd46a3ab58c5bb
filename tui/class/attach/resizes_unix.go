//go:build unix

package attach

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// resizes calls f whenever the terminal's size has changed, until ctx ends.
func resizes(ctx context.Context, f func()) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	defer signal.Stop(changed)
	f() // it may have changed before this
	for {
		select {
		case <-changed:
			f()
		case <-ctx.Done():
			return
		}
	}
}
