package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"kviz/assets"
	"kviz/cluster/bench"
	"kviz/lessons"
	"kviz/tui/class/rehearsal"
)

// benchClass is the measurement "class".
type benchClass struct {
	followers, private int
	watch              time.Duration
}

func (b *benchClass) flags(f *pflag.FlagSet) {
	f.IntVar(&b.followers, "followers", 100, "class: students who follow")
	f.IntVar(&b.private, "private", 30, "class: those of them who have a cluster of their own")
	f.DurationVar(&b.watch, "watch", 10*time.Second, "class: how long to look at the processor at rest, and while the teacher goes on")
}

// run rehearses a class of L09 in a process of its own.
func (b *benchClass) run(ctx context.Context, errs io.Writer) (results []bench.Result, err error) {
	found, err := rehearse(ctx, "L09", rehearsal.Plan{
		Followers: b.followers, Private: b.private, Watch: b.watch, Say: func(what string) { fmt.Fprintf(errs, "%s …\n", what) },
	})
	if err != nil {
		return nil, err
	}
	return classResults(found, b.followers, b.private), nil
}

// rehearse rehearses a lesson's class in a process and a folder of its own, of which nothing is left.
func rehearse(ctx context.Context, lesson string, plan rehearsal.Plan) (found *rehearsal.Found, err error) {
	all, broken := lessons.Read(assets.Lessons())
	l, err := oneLesson(all, []string{lesson})
	if err != nil {
		return nil, errors.Join(err, broken)
	}
	if plan.Lesson, err = l.Whole(); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "kviz-class-") // for its owner alone
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	server, err := startClass(ctx, self, folder, rehearsed(l.ID, plan.Private, plan.Followers+1)...)
	if err != nil {
		return nil, err
	}
	defer server.kill()
	plan.Spent = server.Spent
	return rehearsal.Measure(ctx, server.Class, plan)
}

// The goals of a class on two processors.
const (
	stepGoal, readyGoal      = 300 * time.Millisecond, time.Minute
	keyGoal, latestKeyGoal   = 100 * time.Millisecond, 300 * time.Millisecond
	followerGoal, privateMiB = 1.2, 35
)

// classResults are what was found, beside what it should be.
func classResults(f *rehearsal.Found, followers, private int) []bench.Result {
	rows := []bench.Result{
		row(fmt.Sprintf("%d students come in at the same moment: the last one follows", followers), f.Joined, 20*time.Second),
		row("a step of the teacher, on every screen: median", rehearsal.Share(0.5, f.Steps), 0),
		row("a step of the teacher, on every screen: 95 of 100", rehearsal.Share(0.95, f.Steps), stepGoal),
		row("a follower looks around, key to frame: median", rehearsal.Share(0.5, f.Looks), keyGoal),
		row("a follower looks around, key to frame: 99 of 100", rehearsal.Share(0.99, f.Looks), latestKeyGoal),
	}
	if len(f.Ready) > 0 {
		rows = append(
			rows,
			row(fmt.Sprintf("%d clusters of their own at a gate: the first", private), rehearsal.Share(0, f.Ready), time.Second),
			row(fmt.Sprintf("%d clusters of their own at a gate: the last", private), rehearsal.Share(1, f.Ready), readyGoal),
			row("a cluster of one's own, key to frame: median", rehearsal.Share(0.5, f.Keys), keyGoal),
			row("a cluster of one's own, key to frame: 99 of 100", rehearsal.Share(0.99, f.Keys), latestKeyGoal),
		)
	}
	if f.Unknown != nil {
		return append(rows, bench.Result{Name: "memory and processor of the class", Got: "not known on " + runtime.GOOS, OK: true})
	}
	rows = append(
		rows, mebibytes("memory a follower", f.Follower, followerGoal),
		share("processor: the class without students", f.Alone), share("processor: everybody follows, nothing changes", f.Rest),
		share("processor: everybody follows, a step a second", f.Watched),
	)
	if len(f.Ready) > 0 {
		rows = append(rows, mebibytes("memory a cluster of one's own, L09 at its crash", f.Cluster, privateMiB), share("processor: with the clusters of their own", f.Busy))
	}
	return rows
}

// row is a time; a goal of 0 is none.
func row(name string, got, goal time.Duration) bench.Result {
	r := bench.Result{Name: name, Got: got.Round(time.Millisecond).String(), OK: true}
	if goal > 0 {
		r.Budget, r.OK = "under "+goal.String(), got < goal
	}
	return r
}

func mebibytes(name string, bytes int64, goal float64) bench.Result {
	mib := float64(bytes) / (1 << 20)
	return bench.Result{Name: name, Got: fmt.Sprintf("%.1f MiB", mib), Budget: fmt.Sprintf("under %g MiB", goal), OK: mib < goal}
}

func share(name string, of float64) bench.Result {
	return bench.Result{Name: name, Got: fmt.Sprintf("%.0f %% of one", 100*of), OK: true}
}
