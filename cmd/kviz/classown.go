package main

import (
	"context"
	"time"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/lessons"
	"kviz/tui/class/own"
)

// classForks run the teacher's run again, for the students' own clusters.
type classForks struct{}

// Outlook implements [own.Forker].
func (classForks) Outlook(past []*trace.Event, at trace.ID) (control.ForkOutlook, error) {
	return cluster.Foresee(past, at)
}

// Fork implements [own.Forker].
func (classForks) Fork(ctx context.Context, f own.Fork) (own.Cluster, error) {
	c, err := cluster.Fork(ctx, f.Past, cluster.ForkConfig{
		Parent: "the class", At: f.At, Speed: 1, Version: version(), Progress: f.Progress, Limit: roomFor(f.Past), Quota: f.Quota,
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// alone are the students' own clusters of a class.
func (r *classroom) alone() *own.Runs {
	cfg := own.Config{
		Forker: classForks{}, Lead: r.lead, Room: r.room, Teacher: r.teacher, Screens: r.screens,
		Changes: func() (scene, room <-chan struct{}) { return r.lead.Changed.Next(), r.room.Changed.Next() },
		Limits:  own.Limits{Private: r.private},
	}
	if r.player != nil {
		cfg.Branch = func(c lessons.Cluster) (own.Player, error) {
			p, err := r.player.Branch(c, lessons.NewProgress(time.Now))
			if err != nil {
				return nil, err
			}
			return p, nil
		}
	}
	return own.New(cfg)
}
