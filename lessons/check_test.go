package lessons_test

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"kviz/assets"
	"kviz/cluster"
	"kviz/lessons"
	"kviz/tui/panes"
	"kviz/tui/stage"
)

func TestLessonsHold(t *testing.T) {
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	trials := lessons.NewTrials(4)
	for _, l := range all {
		if only := os.Getenv("LESSON"); only != "" && l.ID != only {
			continue
		}
		t.Run(l.ID, func(t *testing.T) {
			t.Parallel()                                                             // members wait in real time; Check bounds how many trials run at once
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute) // of them all: they wait for one another
			defer cancel()
			err := trials.Check(ctx, l, func() (lessons.Cluster, io.Closer, error) {
				c, err := cluster.Boot(ctx, cluster.Config{Seed: 1, NoSync: true, Members: l.Scene.Members, Nodes: l.Scene.Nodes})
				if err != nil {
					return nil, nil, err
				}
				if err := c.WaitReady(ctx); err != nil {
					c.Close()
					return nil, nil, err
				}
				return c, c, nil
			}, stage.NewProof(panes.All))
			if err != nil {
				t.Error(err)
			}
		})
	}
}
