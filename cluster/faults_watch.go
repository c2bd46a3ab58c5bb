package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
)

// A watch has two halves: the API server's own at the store, one a kind (target
// watch/RESOURCE), and a client's at the API server (informer/CLIENT/RESOURCE).

// storeWatches are the targets watch/RESOURCE.
type storeWatches struct{ client *storage.Client }

func (ws storeWatches) names() (names []string) {
	for _, name := range ws.client.Lines() {
		names = append(names, "watch/"+name)
	}
	return names
}

func (ws storeWatches) find(name string) (any, error) {
	line, c := strings.TrimPrefix(name, "watch/"), ws.client
	if slices.Contains(c.Lines(), line) {
		return watchTarget{line, c.Break, c.Stall, c.Flow, c.SlowLine}, nil
	}
	return nil, nil
}

// clientWatches are the targets informer/CLIENT/RESOURCE.
type clientWatches struct{ servers *apiServers }

func (ws clientWatches) names() (names []string) {
	if s := ws.servers.first; s != nil {
		for _, name := range s.Wires().Names() {
			names = append(names, "informer/"+name)
		}
	}
	return names
}

func (ws clientWatches) find(name string) (any, error) {
	wire, s := strings.TrimPrefix(name, "informer/"), ws.servers.first
	if s == nil || !slices.Contains(s.Wires().Names(), wire) {
		return nil, nil
	}
	all := s.Wires()
	return informerTarget{watchTarget{wire, all.Cut, all.Stall, all.Flow, all.Slow}, all}, nil
}

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
	wires *cacher.Wires
}

// Hold, Lose and Delay are about the oldest event that waits, or the next one, of an
// object ("" is any).
func (t informerTarget) Hold(of string, why []trace.ID) error {
	t.wires.Hold(t.name, of, why[0])
	return nil
}

func (t informerTarget) Lose(of string, why []trace.ID) error {
	t.wires.Lose(t.name, of, why[0])
	return nil
}

func (t informerTarget) Delay(of string, why []trace.ID) error {
	t.wires.Delay(t.name, of, why[0])
	return nil
}

// Waits is an error where no event waits, or will.
func (t informerTarget) Waits() error {
	if !t.wires.Waits(t.name) {
		return fmt.Errorf("no event waits on its way to %s: hold or stall it first", t.name)
	}
	return nil
}

func (t informerTarget) Release(why []trace.ID) error {
	t.wires.Release(t.name, why[0])
	return nil
}
