package lessons_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/lessons"
)

// again runs a run again, as the explorer does to undo something.
func again(ctx context.Context) lessons.Again {
	return func(past []*trace.Event, at trace.ID) (lessons.Cluster, io.Closer, error) {
		c, err := cluster.Fork(ctx, past, cluster.ForkConfig{Parent: "the test", At: at})
		return c, c, err
	}
}

// A mistake in a beat is undone, and the lesson comes to its end from there; where it does not,
// the beat, what was broken and the command that shows it are told.
func TestAMistakeIsUndoneAndTheLessonGoesOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, old, new string
		again          func(context.Context) lessons.Again
		want           []string
	}{
		{name: "it goes on", again: again},
		{name: "the run cannot be run again", again: func(context.Context) lessons.Again {
			return func([]*trace.Event, trace.ID) (lessons.Cluster, io.Closer, error) {
				return nil, nil, errors.New("the run went on differently")
			}
		}},
		{"it does not", "kubectl create namespace there", "kubectl create namespace There", again, []string{
			`L50/lesson.md:44: beat "do": after "kviz fault `, `" and undo: at beat "do": "kubectl create namespace There" ended with exit status 1`, "to see it: kviz lesson start L50#do",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			err := lessons.NewTrials(1).Undo(ctx, counted(t, c.old, c.new), bare(ctx, 3), c.again(ctx), 1)
			if len(c.want) == 0 && err != nil {
				t.Error(err)
			}
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("it says %v; want %q", err, want)
				}
			}
		})
	}
}
