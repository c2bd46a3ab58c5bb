package main

import "testing"

func TestHeapGrowsWithinTheRoom(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		live uint64
		busy bool
		want int // MiB at which it is collected, within one percent
	}{
		{30 * mib, false, 45},
		{30 * mib, true, 45}, // a small cluster stays small
		{100 * mib, false, 150},
		{100 * mib, true, 370},
		{200 * mib, true, 370},
		{300 * mib, false, 375},
		{320 * mib, true, 400},
		{400 * mib, true, 500},
	} {
		goal := int(tt.live/mib) * (100 + growth(tt.live, tt.busy)) / 100
		if goal > tt.want || goal < tt.want-5 {
			t.Errorf("%d MiB live, busy %v: collected at %d MiB, want %d", tt.live/mib, tt.busy, goal, tt.want)
		}
	}
}
