package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"kviz/cluster/sim"
	"kviz/raftstore/steady"
)

// A cluster that other programs use begins today, for they compare its dates with the
// machine's clock; a script begins at the same moment every day.
func TestEpoch(t *testing.T) {
	of := func(live string, args ...string) (*shape, time.Time, error) {
		t.Helper()
		s := &shape{}
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		s.register(f, "1", live)
		if err := f.Parse(args); err != nil {
			t.Fatal(err)
		}
		cfg, err := s.config(false)
		if err == nil {
			err = s.takeUpClock(&cfg)
		}
		return s, cfg.Epoch, err
	}
	steady.Bubble(t, func(t *testing.T) { // it stands meanwhile, at a whole second
		if _, at, err := of(liveEpoch); err != nil || !at.Equal(time.Now()) {
			t.Errorf("live: %v, %v", at, err)
		}
	})
	if _, at, err := of(fixedEpoch); err != nil || !at.Equal(sim.DefaultEpoch) {
		t.Errorf("a script: %v, %v", at, err)
	}
	if _, at, err := of(liveEpoch, "--epoch", "2030-05-06T07:08:09+02:00"); err != nil || at.Format(time.RFC3339) != "2030-05-06T05:08:09Z" {
		t.Errorf("as asked: %v, %v", at, err)
	}
	if _, _, err := of(liveEpoch, "--epoch", "tomorrow"); err == nil || !strings.Contains(err.Error(), `--epoch "tomorrow": want now, or a time`) {
		t.Errorf("no date: %v", err)
	}

	dir := t.TempDir()
	ended := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.WriteFile(filepath.Join(dir, clockFile), []byte(ended.Format(time.RFC3339)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--data-dir", dir}, {"--data-dir", dir, "--epoch", "2031-01-01T00:00:00Z"}} {
		if _, at, err := of(fixedEpoch, args...); err != nil || !at.Equal(ended) {
			t.Errorf("%v goes on at %v, %v", args, at, err)
		}
	}
	if _, at, err := of(liveEpoch, "--data-dir", dir, "--epoch", "2032-01-01T00:00:00Z"); err != nil || at.Year() != 2032 {
		t.Errorf("off for a year: %v, %v", at, err)
	}
	if _, _, err := of(liveEpoch, "--data-dir", dir, "--epoch", "2030-01-01T00:00:00Z"); err == nil || !strings.Contains(err.Error(), "would be of the future") {
		t.Errorf("before the end of the last run: %v", err)
	}
}

// A recording that is there keeps what it holds when the cluster that was to be recorded cannot
// begin.
func TestARecordingIsNotEmptiedForNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "run.kvrun")
	for path, text := range map[string]string{file: "an earlier run", filepath.Join(dir, clockFile): "2031-01-01T00:00:00Z\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &shape{}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.register(f, "1", liveEpoch)
	if err := f.Parse([]string{"--data-dir", dir, "--epoch", "2030-01-01T00:00:00Z", "--trace", file}); err != nil {
		t.Fatal(err)
	}
	cfg, err := s.config(false)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.boot(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "of the future") {
		t.Errorf("a cluster before the end of the last run: %v", err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "an earlier run" {
		t.Errorf("the recording holds %q, %v", b, err)
	}
}

// Variables of the environment are after a run as they were before: set, empty, or not there.
func TestScratchGivesTheEnvironmentBack(t *testing.T) {
	t.Setenv("TMP", "")
	t.Setenv("TEMP", "x") // so that it is restored
	os.Unsetenv("TEMP")
	remove, err := scratch()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("TEMP") == "" || os.Getenv("TEMP") != os.Getenv("TMP") {
		t.Errorf("TEMP is %q", os.Getenv("TEMP"))
	}
	remove()
	if value, was := os.LookupEnv("TEMP"); was {
		t.Errorf("TEMP is %q, and was not set", value)
	}
	if value, was := os.LookupEnv("TMP"); !was || value != "" {
		t.Errorf("TMP is %q, %v, and was empty", value, was)
	}
}
