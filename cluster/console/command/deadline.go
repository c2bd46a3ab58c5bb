package command

import (
	"context"
	"time"
)

// deadlineKey holds the virtual time since the epoch at which a timeout command
// ends what it runs. It is no context deadline: the end must come at an exact
// point of the trace, not some real time later.
type deadlineKey struct{}

// WithDeadline is ctx for what ends at a virtual time since the epoch.
func WithDeadline(ctx context.Context, end time.Duration) context.Context {
	return context.WithValue(ctx, deadlineKey{}, end)
}

// Deadline is when a timeout command ends what runs, and whether one does.
func Deadline(ctx context.Context) (time.Duration, bool) {
	d, ok := ctx.Value(deadlineKey{}).(time.Duration)
	return d, ok
}

// Ends reports whether a timeout command will end what runs.
func Ends(ctx context.Context) bool {
	_, ok := Deadline(ctx)
	return ok
}
