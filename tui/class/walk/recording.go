package walk

import (
	"context"
	"fmt"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/lessons"
)

// Recording is a recording in the place of a cluster: it has a trace, and refuses all else.
type Recording struct{ stream *trace.Stream }

// NewRecording makes one of the events of a recording.
func NewRecording(s *trace.Stream) *Recording { return &Recording{s} }

var _ lessons.Cluster = (*Recording)(nil)

// Trace implements [lessons.Cluster].
func (r *Recording) Trace() *trace.Stream { return r.stream }

// Clock implements [lessons.Cluster]: it stands at the end.
func (r *Recording) Clock() control.Clock {
	c := control.Clock{Paused: true, Speed: 1}
	if e := r.stream.Last(); e != nil {
		c.Elapsed, c.Last = e.At, e.ID
	}
	return c
}

// Pause, Resume and Speed implement [lessons.Cluster].
func (r *Recording) Pause() error        { return control.ErrRecording }
func (r *Recording) Resume() error       { return control.ErrRecording }
func (r *Recording) Speed(float64) error { return control.ErrRecording }

// Exec implements [lessons.Cluster].
func (r *Recording) Exec(_ context.Context, _ string, io control.Streams) int {
	if io.Err != nil {
		fmt.Fprintln(io.Err, control.ErrRecording)
	}
	return 1
}

// Stand implements [lessons.Cluster].
func (r *Recording) Stand(string) string { return "" }
