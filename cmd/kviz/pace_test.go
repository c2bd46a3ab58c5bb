package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kviz/cluster/trace"
)

// A short lag is not reported; one that lasts is, once, and so is its end.
func TestServeSaysThatTimeFallsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := trace.NewStream(0)
		var out bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { tellPace(ctx, &out, s); close(done) }()
		tell := func(actual float64, why string, lasts time.Duration) {
			synctest.Wait()
			s.Append(&trace.Event{Kind: trace.ClockPace, Payload: &trace.Pace{Speed: 1, Actual: actual, Why: why}})
			time.Sleep(lasts)
		}
		tell(0.5, "the machine is busy", 4*time.Second)
		tell(1, "", time.Minute)
		tell(0.5, "the machine is busy", 6*time.Second)
		tell(0.62, "the machine is busy", time.Minute)
		tell(0.3, "the machine is busy", time.Minute)
		tell(1, "", time.Minute)
		cancel()
		<-done
		const want = "virtual time runs at 0.62x instead of 1x: the machine is busy\nvirtual time keeps up with its speed again, 1x\n"
		if got := out.String(); got != want {
			t.Errorf("said %q, want %q", got, want)
		}
	})
}

// Whoever is slow to hear hears what is so now, whatever they missed.
func TestTheNewestPaceIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := trace.NewStream(0)
		out := &slowReader{hears: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { tellPace(ctx, out, s); close(done) }()
		synctest.Wait()
		behind := &trace.Pace{Speed: 1, Actual: 0.5, Why: "the machine is busy"}
		s.Append(&trace.Event{Kind: trace.ClockPace, Payload: behind})
		time.Sleep(time.Minute)
		for range 100 {
			s.Append(&trace.Event{Kind: trace.ClockPace, Payload: behind})
		}
		s.Append(&trace.Event{Kind: trace.ClockPace, Payload: &trace.Pace{Speed: 1, Actual: 1}})
		close(out.hears)
		synctest.Wait()
		cancel()
		<-done
		if !strings.HasSuffix(out.String(), "keeps up with its speed again, 1x\n") {
			t.Errorf("said %q", out.String())
		}
	})
}

// slowReader takes what is written when it hears.
type slowReader struct {
	bytes.Buffer
	hears chan struct{}
}

func (r *slowReader) Write(b []byte) (int, error) {
	<-r.hears
	return r.Buffer.Write(b)
}

// Without a screen nobody goes back: few events stay in memory, unless a disk might need
// the rest in a while.
func TestServeKeepsFewEventsInMemory(t *testing.T) {
	if got := (&shape{}).headless(); got <= 0 || got*10 > trace.DefaultLimit {
		t.Errorf("%d events, of %d where there is a screen", got, trace.DefaultLimit)
	}
	if got := (&shape{record: "run.kvrun"}).headless(); got != 0 {
		t.Errorf("%d events while they are recorded", got)
	}
}
