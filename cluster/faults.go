package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/cluster/console"
	"kviz/cluster/control"
	"kviz/cluster/fault"
	"kviz/cluster/trace"
)

// Faults is the catalogue of faults.
func (c *Cluster) Faults() []control.FaultKind { return fault.Catalogue() }

// Targets lists what can be broken now.
func (c *Cluster) Targets() []string {
	var names []string
	c.k.Do(func() { names = c.targets() }) // a stopped cluster has no targets
	return names
}

func (c *Cluster) targets() []string {
	var names []string
	if c.raft != nil {
		for _, m := range c.raft.Members() {
			names = append(names, "member/"+m.ID)
		}
	}
	names = append(names, "store")
	for _, n := range c.nodes {
		names = append(names, "node/"+n.name, "runtime/"+n.name)
	}
	for _, m := range c.components {
		names = append(names, m.target)
	}
	names = append(append(names, "registry"), c.auditDisks()...)
	names = append(names, c.credentials()...)
	for _, name := range c.etcd.Lines() {
		names = append(names, "watch/"+name)
	}
	if c.server != nil {
		for _, name := range c.server.Wires() {
			names = append(names, "informer/"+name)
		}
	}
	for _, name := range c.delays.queues() {
		names = append(names, "queue/"+name)
	}
	for _, n := range c.nodes {
		for _, pod := range podsOn(n) {
			names = append(names, "pod/"+pod)
		}
	}
	slices.Sort(names)
	return names
}

// Fault breaks or mends something. It returns when it is done.
func (c *Cluster) Fault(f control.Fault) error {
	kind := fault.TargetKind(f.Target)
	row, ok := fault.Find(kind, f.Name)
	if !ok {
		applies := fault.Applies(f.Name)
		if len(applies) == 0 {
			return fmt.Errorf("unknown fault %q: one of %s", f.Name, strings.Join(fault.Names(), ", "))
		}
		return fmt.Errorf("%s does not apply to %q; it applies to %s", f.Name, f.Target, strings.Join(applies, ", "))
	}
	if row.Aside {
		return plain(c.injectAside(row, f))
	}
	var err error
	if doErr := c.k.Do(func() { err = c.inject(row, f) }); doErr != nil {
		return doErr
	}
	return plain(err)
}

// plain leaves etcd's own words of an error that came by gRPC's rules.
func plain(err error) error {
	if desc := rpctypes.ErrorDesc(err); err != nil && desc != err.Error() {
		return errors.New(desc)
	}
	return err
}

// prepare finds the target and checks the arguments, so that a refused fault leaves no
// event.
func (c *Cluster) prepare(row *fault.Row, f control.Fault) (fault.Act, error) {
	target, err := c.target(f.Target)
	if err != nil {
		return nil, err
	}
	return row.Prepare(target, f)
}

// inject runs on the kernel's goroutine.
func (c *Cluster) inject(row *fault.Row, f control.Fault) error {
	do, err := c.prepare(row, f)
	if err != nil {
		return err
	}
	note := func() []trace.ID { return []trace.ID{c.note(row, f)} }
	if what := fault.TargetKind(f.Target); what != "member" && what != "store" {
		return do(note())
	}
	// Only the store itself knows whether a member can do it. What its members
	// say of it enters the trace later, in their own lane.
	if err := do(nil); err != nil {
		return err
	}
	note()
	return nil
}

// injectAside is inject for what takes its time, because members agree on it, catch up, or
// rewrite a disk: it is done beside the kernel, which goes on, and what came of it is told
// when it has ended.
func (c *Cluster) injectAside(row *fault.Row, f control.Fault) error {
	var do fault.Act
	var err error
	if doErr := c.k.Do(func() { do, err = c.prepare(row, f) }); doErr != nil {
		return doErr
	}
	if err != nil {
		return err
	}
	if err := do(causesOf(f)); err != nil {
		return err
	}
	return c.k.Do(func() { c.note(row, f) })
}

// note tells of a fault in the trace; on the kernel's goroutine.
func (c *Cluster) note(row *fault.Row, f control.Fault) trace.ID {
	kind := trace.FaultInjected
	if row.Repairs {
		kind = trace.FaultHealed
	}
	return c.k.Emit(trace.Event{
		Lane: trace.Lane{Component: trace.CompSimulation}, Kind: kind, Causes: causesOf(f),
		Payload: &trace.Fault{Fault: f.Name, Target: f.Target, Detail: strings.Join(f.Args, " ")},
	})
}

// causesOf is what a fault comes from, if it was not a person's key.
func causesOf(f control.Fault) []trace.ID {
	if f.Cause.IsZero() {
		return nil
	}
	return []trace.ID{f.Cause}
}

// target is what a fault is done to; on the kernel's goroutine.
func (c *Cluster) target(name string) (any, error) {
	kind, rest, _ := strings.Cut(name, "/")
	switch kind {
	case "member":
		return c.memberTarget(rest, name)
	case "store":
		return storeTarget{c}, nil
	case "node":
		if n := c.node(rest); n != nil {
			return nodeTarget{c, n}, nil
		}
	case "runtime":
		if n := c.node(rest); n != nil {
			return runtimeTarget{n}, nil
		}
	case "registry":
		return registryTarget{c}, nil
	case "pod":
		return c.podTarget(rest)
	case "watch":
		if slices.Contains(c.etcd.Lines(), rest) {
			return watchTarget{rest, c.etcd.Break, c.etcd.Stall, c.etcd.Flow, c.etcd.SlowLine}, nil
		}
	case "informer":
		if c.server != nil && slices.Contains(c.server.Wires(), rest) {
			return informerTarget{watchTarget{rest, c.server.CutWire, c.server.StallWire, c.server.FlowWire, c.server.SlowWire}, c.server.LoseOnWire}, nil
		}
	case "queue":
		if slices.Contains(c.delays.queues(), rest) {
			return queueTarget{c, rest}, nil
		}
	case "audit":
		return c.auditTarget(name)
	case "certificate", "token":
		if slices.Contains(c.credentials(), name) {
			return credentialTarget{c, name}, nil
		}
	default:
		if m := c.component(name); m != nil {
			return c.processTarget(m, rest), nil
		}
	}
	return nil, c.noTarget(name)
}

// noTarget names what is there of the same kind, and what was likely meant.
func (c *Cluster) noTarget(target string) error {
	var same []string
	for _, t := range c.targets() {
		if fault.TargetKind(t) == fault.TargetKind(target) {
			same = append(same, t)
		}
	}
	if near := console.Nearest(target, same); near != "" {
		return fmt.Errorf("there is no %q; did you mean %q?", target, near)
	}
	return fmt.Errorf("there is no %q: one of %s", target, strings.Join(same, ", "))
}
