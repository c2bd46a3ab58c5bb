// Command demo shows the explorer over a story written by hand, without a
// cluster: for looking at the screens.
//
// Start reading at main.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"kviz/cluster/view"
	"kviz/tui"
	"kviz/tui/tuitest"
)

func main() {
	theme := flag.String("theme", "", "dark, light, 16, none")
	at := flag.Int("at", -1, "how many events have happened already")
	preset := flag.String("preset", "", "layout")
	start := flag.Bool("start", false, "show the start screen")
	play := flag.Bool("play", false, "let the story run")
	plain := flag.Bool("plain", false, "plain lines")
	recording := flag.Bool("recording", false, "as a recording")
	flag.Parse()
	tape := tuitest.Story()
	c := tuitest.NewCluster(tape, *at)
	cfg := tui.Config{
		Cluster: c, History: view.NewHistory(c.Trace()), Theme: *theme, Preset: *preset, StartScreen: *start, Plain: *plain,
		Scenarios: []tui.Scenario{{Name: "rolling update", Means: "three versions, one at a time", Line: "kviz scenario rollout"}},
	}
	cfg.History.CatchUp(0)
	if *recording || *plain {
		cfg.Recording = "story.kvrun"
	}
	if *play {
		if err := c.Resume(); err != nil {
			panic(err)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		for ctx.Err() == nil {
			c.Play(2)
			time.Sleep(tuitest.Tick)
		}
	}()
	if err := tui.Run(ctx, cfg); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
