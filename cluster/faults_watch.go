package cluster

import (
	"time"

	"kviz/cluster/trace"
)

// A watch has two halves: the API server's own at the store, one a kind (target
// watch/RESOURCE), and a client's at the API server (informer/CLIENT/RESOURCE).

// watchTarget is one of a watch's halves, and what can be done to it by its name.
type watchTarget struct {
	name             string
	cut, stall, flow func(name string, why trace.ID)
	slow             func(name string, d time.Duration, why trace.ID)
}

func (t watchTarget) Cut(why []trace.ID) error {
	t.cut(t.name, why[0])
	return nil
}

func (t watchTarget) Stall(why []trace.ID) error {
	t.stall(t.name, why[0])
	return nil
}

func (t watchTarget) Heal(why []trace.ID) error {
	t.slow(t.name, 0, why[0])
	t.flow(t.name, why[0])
	return nil
}

func (t watchTarget) Slow(d time.Duration, why []trace.ID) error {
	t.slow(t.name, d, why[0])
	return nil
}

// informerTarget is a client's watch.
type informerTarget struct {
	watchTarget
	lose func(name string, why trace.ID)
}

func (t informerTarget) Lose(why []trace.ID) error {
	t.lose(t.name, why[0])
	return nil
}

// queueTarget is one of the controllers' work queues.
type queueTarget struct {
	c    *Cluster
	name string
}

func (t queueTarget) Slow(d time.Duration, _ []trace.ID) error {
	t.c.delays.slow(t.name, d)
	return nil
}
