package own

import (
	"context"
	"io"
)

// Terminal is a student's terminal in a test.
type Terminal struct {
	Input   func(ctx context.Context) io.ReadCloser
	Out     io.Writer
	Size    [2]int
	Resized chan struct{}
}

// Enter is [Runs.Go] for such a terminal.
func (r *Runs) Enter(ctx context.Context, t *Terminal, name string) error {
	return r.enter(ctx, terminal{
		input: t.Input, out: t.Out, environ: []string{"TERM=xterm-256color"}, size: func() (int, int) { return t.Size[0], t.Size[1] }, resized: t.Resized,
	}, name)
}

// There is how many clusters there are, how many of them wait for whoever comes next, and how many stand for their students.
func (r *Runs) There() (all, ahead, kept int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.there, len(r.ahead), len(r.kept)
}
