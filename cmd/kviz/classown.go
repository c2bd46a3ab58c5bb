package main

import (
	"context"
	"errors"
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
		cfg.Fresh, cfg.Begin = r.fresh, r.setScene
	}
	return own.New(cfg)
}

// fresh makes a cluster as the lesson asks for it, with nothing in it.
func (r *classroom) fresh(ctx context.Context, quota int64) (own.Cluster, error) {
	cfg := r.scene
	cfg.DataDir, cfg.Remote, cfg.NoSync, cfg.Speed = "", nil, true, 1
	if cfg.Quota == 0 || cfg.Quota > quota {
		cfg.Quota = quota
	}
	c, err := cluster.Boot(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := c.WaitReady(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// setScene has the lesson's recipe set the scene of a beat in such a cluster, and waits until it stands.
func (r *classroom) setScene(ctx context.Context, c lessons.Cluster, beat string) (own.Player, error) {
	progress := lessons.NewProgress(time.Now)
	progress.Seed = r.seed                                   // what is asked stands in the class's order
	progress.Lessons[r.lesson.ID] = lessons.Mark{Step: beat} // the student has come so far
	p := lessons.NewPlayer(c, r.all, progress)
	if err := p.Start(r.lesson.ID + "#" + beat); err != nil {
		p.Close()
		return nil, err
	}
	if err := stands(ctx, p); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// stands waits until the scene of a lesson is set.
func stands(ctx context.Context, p *lessons.Player) error {
	every := time.NewTicker(time.Second / 20)
	defer every.Stop()
	for {
		switch look := p.Look(); {
		case look.Setting:
		case look.Beat == nil:
			return errors.New(look.Text)
		default:
			return nil
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
