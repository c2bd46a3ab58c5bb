package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"kviz/assets"
	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui"
	"kviz/tui/class/walk"
	"kviz/tui/panes"
	"kviz/tui/safe"
	"kviz/tui/stage"
)

func exploreCommand() *command {
	var (
		s     shape
		e     endpoints
		l     look
		from  lessonFolders
		lines plainLook
	)
	return &command{
		name: "explore", usage: "[flags]",
		short: "straight into the explorer (kviz alone opens its start screen)",
		long: "Opens the screen at once; the cluster boots behind it.\n" +
			"--plain needs no screen: it prints what happens in sentences, and reads commands from a pipe, one after another, to its end:\n" +
			"printf 'kubectl get nodes\\nquit\\n' | kviz explore --plain",
		example: "kviz explore --speed 0.1",
		flags: func(f *pflag.FlagSet) {
			s.register(f, "1", liveEpoch)
			e.register(f)
			l.register(f)
			from.register(f)
			lines.register(f, "; each line of the input is a command for the console")
		},
		run: func(ctx context.Context, io streams, args []string) error {
			if len(args) > 0 {
				return &usageError{text: fmt.Sprintf("unexpected %q", args[0])}
			}
			cfg := l.config()
			if err := lines.into(&cfg); err != nil {
				return err
			}
			more, err := from.sources()
			if err != nil {
				return err
			}
			return screen(ctx, io, &s, &e, more, &from, cfg)
		},
	}
}

// start is kviz alone: the explorer with its start screen.
func start(ctx context.Context, io streams) error {
	s := shape{seed: 1, speed: "1", store: "raft", members: members{n: 3}, nodes: 3, servers: 1, epoch: liveEpoch}
	more, err := (&lessonFolders{}).sources()
	if err != nil {
		return err
	}
	return screen(ctx, io, &s, &endpoints{etcdPort: noPort}, more, &lessonFolders{}, tui.Config{StartScreen: true})
}

// screen boots a cluster and opens the explorer over it, with kviz' own lessons and more.
func screen(ctx context.Context, io streams, s *shape, e *endpoints, more []lessons.Source, from *lessonFolders, look tui.Config) error {
	all, err := lessons.Read(assets.Lessons(), more...)
	if err != nil { // which keeps nobody from the other lessons
		fmt.Fprintf(io.err, "kviz: %v\n", err)
	}
	if err := from.translate(all); err != nil {
		return err
	}
	progress, err := loadProgress()
	if err != nil {
		fmt.Fprintf(io.err, "kviz: %v\n", err)
	}
	return screenOf(ctx, io, s, e, taught{all: all, progress: progress}, look)
}

// taught are the lessons of a screen.
type taught struct {
	all      []*lessons.Lesson
	progress *lessons.Progress // nil: what is done is not written down
	// beside, if set, runs beside the screen with its player, and calls changed after it has
	// given the player other lessons.
	beside func(ctx context.Context, p *lessons.Player, changed func()) error
}

// screenOf is screen with such lessons.
func screenOf(ctx context.Context, io streams, s *shape, e *endpoints, teach taught, look tui.Config) error {
	cfg, err := s.config(false)
	if err == nil {
		err = errors.Join(e.check(), knownLook(look))
	}
	if err != nil {
		return err
	}
	c, end, err := s.boot(ctx, cfg, "explore")
	if err != nil {
		return err
	}
	shut, err := e.open(c)
	if err != nil {
		return errors.Join(err, end())
	}
	look.History = view.NewHistory(c.Trace())
	player := lessons.NewPlayer(c, teach.all, teach.progress)
	player.Records(recordings{s.seed})
	defer player.Close()
	if teach.beside != nil {
		look.Beside = func(ctx context.Context, changed func()) error { return teach.beside(ctx, player, changed) }
	}
	look.Lessons = player
	look.Marks = walk.New(stage.Pictures(panes.All))
	if s.record != "" {
		look.Marks = walk.Fresh(s.record, stage.Pictures(panes.All))
	}
	look.Save = func(path string) error {
		if err := saveRecording(c, path, s.header(c, cfg, "explore")); err != nil {
			return err
		}
		return look.Marks.Save(path)
	}
	if s.clockDir() == "" { // else what it keeps has to be ended in its order
		look.End = freeing(c.Close)
	}
	if s.record != "" {
		look.File = filepath.Base(s.record)
	}
	look.Saved = s.dataDir != "" || s.record != ""
	look.Scenarios = scenarios
	look.Booting = func(ctx context.Context, progress func(string)) (tui.Cluster, error) {
		booted, err := ready(ctx, c, progress)
		if err == nil {
			err = e.lend(c, cfg.Without)
		}
		return booted, err
	}
	look.Recordings = recordingsHere
	look.Handout = func(ctx context.Context, lesson string) (string, error) { return handoutOf(ctx, teach.all, lesson) }
	look.Lend = io.lend()
	forks := &branches{}
	look.Forks = forks
	if beforeScreen != nil {
		beforeScreen(c, &look)
	}
	err = tui.Run(ctx, look)
	endErr := errors.Join(forks.end(io.err), shut(), end())
	broken(io.err, c, endErr)
	if crashed(err) {
		reportCrash(io.err, c, s.seed)
	}
	if open := (*tui.OpenRecording)(nil); errors.As(err, &open) {
		return errors.Join(replay(ctx, io, open.Path, tui.Config{Theme: look.Theme, Motion: look.Motion}), endErr)
	}
	return errors.Join(err, endErr)
}

// beforeScreen, which only tests set, may change what the screen shows.
var beforeScreen func(*cluster.Cluster, *tui.Config)

// crashed reports whether the screen broke down; the terminal is restored
// then, and what happened has been told.
func crashed(err error) bool {
	var crash *safe.Crash
	return errors.As(err, &crash) || errors.Is(err, tui.ErrBroken)
}

// recordingsHere lists the recordings in the working directory.
func recordingsHere() []string {
	found, _ := filepath.Glob("*.kvrun") // the pattern is sound
	return found
}

// scenarios are scripts that the start screen offers.
var scenarios = []tui.Scenario{
	{Name: "hello", Means: "a Deployment and a Service: from apply to the iptables rule", Line: "kubectl apply -f manifests/hello.yaml"},
	{Name: "leader", Means: "the store's leader crashes; two others elect a new one", Line: "kviz fault crash member/a"},
	{Name: "no registry", Means: "an image cannot be pulled, until the registry is back", Line: "kviz fault stop registry; kubectl create deployment late --image=httpd:2.4"},
	{Name: "node lost", Means: "a node loses power: Lease, taint, eviction, new pods", Line: "kubectl apply -f manifests/hello.yaml; kviz fault stop node/node-2"},
	{Name: "ssd", Means: "a scheduling decision: label, resources, taint, score, bind", Line: "bash manifests/scheduler/ssd.sh"},
	{Name: "empty node", Means: "a node joins, nothing moves; then the descheduler evicts", Line: "bash manifests/scheduler/empty-node.sh"},
	{Name: "rollout", Means: "one rollout ends well, the next stalls: its image is not there", Line: "bash manifests/scenarios/rollout.sh", Shows: trace.Ref{Kind: "Deployment", Namespace: "default", Name: "shop"}},
	{Name: "ordered update", Means: "a StatefulSet, from the highest ordinal down to the partition", Line: "bash manifests/scenarios/ordered.sh", Shows: trace.Ref{Kind: "StatefulSet", Namespace: "default", Name: "db"}},
	{Name: "failing indexes", Means: "a Job: two indexes fail, are tried again, and given up", Line: "bash manifests/scenarios/indexes.sh", Shows: trace.Ref{Kind: "Job", Namespace: "default", Name: "indexes"}},
	{Name: "tick", Means: "a CronJob: a Job a minute, suspended, and what it missed", Line: "bash manifests/scenarios/tick.sh", Shows: trace.Ref{Kind: "CronJob", Namespace: "default", Name: "tick"}},
}

// ready waits until the cluster is up.
func ready(ctx context.Context, c *cluster.Cluster, progress func(string)) (tui.Cluster, error) {
	progress("electing a leader and starting the control plane")
	if err := c.WaitReady(ctx); err != nil {
		return nil, err
	}
	return c, nil
}
