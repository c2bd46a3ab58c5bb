package store

import (
	"testing"
	"time"
)

// The slowest commit of each eight is seen, also when the newest eight are not whole.
func TestTrendShowsTheSlowest(t *testing.T) {
	took := make([]time.Duration, 100)
	for i := range took {
		took[i] = time.Millisecond
	}
	if got, want := trend(took), "████████████"; got != want {
		t.Errorf("all the same: %q, want %q", got, want)
	}
	took[50], took[99] = 8*time.Millisecond, 4*time.Millisecond
	if got, want := trend(took), "▂▂▂▂▂█▂▂▂▂▂▄"; got != want {
		t.Errorf("two were slower: %q, want %q", got, want)
	}
	if got, want := trend(took[:9]), "██"; got != want {
		t.Errorf("nine: %q, want %q", got, want)
	}
	if got := trend(nil); got != "" {
		t.Errorf("none: %q", got)
	}
}
