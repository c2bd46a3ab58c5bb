package lessons

import (
	"context"
	"os"

	"kviz/cluster/control"
)

// confined is a cluster whose console keeps what is run there to one folder: the scripts of a lesson out of
// a bundle were written by somebody whom the learner need not know.
type confined struct {
	Cluster
	dir string
}

// Exec implements [Cluster].
func (c confined) Exec(ctx context.Context, line string, io control.Streams) int {
	io.Within = c.dir
	return c.Cluster.Exec(ctx, line, io)
}

// on is a cluster as the lesson's scripts may use it, which stand in a folder.
func (l *Lesson) on(c Cluster, dir string) Cluster {
	if l.Bundled {
		return confined{c, dir}
	}
	return c
}

// cleansUp runs what puts a cluster back after the lesson, whose folder has gone.
func (l *Lesson) cleansUp(ctx context.Context, c Cluster) {
	if !l.Bundled {
		perform(ctx, c, l.script(l.Cleanup), "cleanup.sh")
		return
	}
	dir, err := os.MkdirTemp("", "kviz-lesson-")
	if err != nil {
		return // without a folder it reaches nothing
	}
	defer os.RemoveAll(dir)
	perform(ctx, l.on(c, dir), l.script(l.Cleanup), "cleanup.sh")
}
