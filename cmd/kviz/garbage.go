package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// collectGarbage has the collector run when the heap has grown by half since it
// last did, not when it has doubled: a cluster's objects live long, so twice their
// size is mostly waste, and the collector works on the processor that a
// simulation, which runs on one, leaves idle. While a large cluster makes it run
// again and again, the heap may grow further first, as far as there is room
// within what a large cluster is meant to take. GOGC says otherwise.
func collectGarbage() {
	if os.Getenv("GOGC") != "" {
		return
	}
	p := &pacer{last: time.Now()}
	p.calm = time.AfterFunc(0, p.calmDown)
	p.listen()
}

const (
	grownByHalf = 50               // percent
	large       = 48 << 20         // live bytes from which a heap counts as large
	room        = 370 << 20        // bytes at which a large heap is collected, unless a quarter more than lives is beyond
	often       = 10 * time.Second // collections closer than this are a burden
)

// pacer chooses how far the heap grows before the next collection.
type pacer struct {
	mu      sync.Mutex
	last    time.Time // the newest collection
	live    uint64    // bytes it found
	percent int
	calm    *time.Timer
}

// growth is by how many percent live bytes may grow: by half, threefold when
// busy, within the room there is, but by a quarter at least.
func growth(live uint64, busy bool) int {
	if live < large {
		return grownByHalf
	}
	goal := live + live/2
	if busy {
		goal = 4 * live
	}
	goal = max(min(goal, room), live+live/4)
	return int((goal - live) * 100 / live)
}

// listen learns of the next collection from an object that does not outlive it.
func (p *pacer) listen() {
	sentinel := new([16]byte)
	runtime.AddCleanup(sentinel, func(p *pacer) { p.collected(); p.listen() }, p)
}

func (p *pacer) collected() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	busy := now.Sub(p.last) < often
	p.last = now
	p.live = live[0].Value.Uint64()
	p.set(growth(p.live, busy))
	if busy {
		p.calm.Reset(often)
	}
}

// calmDown ends the extra room when there has been no collection for a while.
func (p *pacer) calmDown() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set(growth(p.live, false))
}

func (p *pacer) set(percent int) {
	if percent != p.percent {
		p.percent = percent
		debug.SetGCPercent(percent)
	}
}
