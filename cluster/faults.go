package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/cluster/control"
	"kviz/cluster/controller"
	"kviz/cluster/fault"
	"kviz/cluster/nearest"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// targets are what can be broken of one kind.
type targets interface {
	// names are those there are now, as "kind/name"; on the kernel's goroutine, as find.
	names() []string
	// find gives the target of a name; nil where there is none.
	find(name string) (any, error)
}

// one is a target that there is one of.
type one struct {
	name   string
	target any
}

func (o one) names() []string { return []string{o.name} }

func (o one) find(name string) (any, error) {
	if name != o.name {
		return nil, nil
	}
	return o.target, nil
}

// faults does faults to targets.
type faults struct {
	k         *sim.Kernel
	kinds     map[string]targets // by what stands before the slash
	processes targets            // of every other kind
	store     *etcd
}

func newFaults(k *sim.Kernel, components *components, store recovery, nodes *nodes, queues queueDelays, each *controller.Controllers, cloud *cloudManager, sidecars *sidecars) *faults {
	servers := store.servers
	proofs := credentials{servers, nodes}
	return &faults{k: k, kinds: map[string]targets{
		"member":      members{store},
		"store":       one{"store", storeTarget{store.etcd, store, func(t *sim.Task) error { return reinstall(t, components, nodes) }}},
		"watch":       storeWatches{store.etcd.client},
		"informer":    clientWatches{servers},
		"queue":       queues,
		"controller":  controllers{components, map[string]*controller.Controllers{trace.CompKCM: each, trace.CompCCM: cloud.each}},
		"cloud":       one{"cloud", cloudTarget{cloud.cloud}},
		"audit":       auditDisks{servers},
		"certificate": proofs,
		"token":       proofs,
		"instance":    instances{nodes},
		"node":        machines{nodes},
		"runtime":     runtimes{nodes},
		"pod":         pods{nodes},
		"registry":    one{"registry", registryTarget{nodes.registry}},
		"csi-driver":  one{"csi-driver", driverTarget{nodes.storage}},
	}, processes: processes{components, servers, servers.callouts, cloud, sidecars, nodes}, store: store.etcd}
}

// Faults is the catalogue of faults.
func (fs *faults) Faults() []control.FaultKind { return fault.Catalogue() }

// Targets lists what can be broken now.
func (fs *faults) Targets() []string {
	var names []string
	fs.k.Do(func() { names = fs.names() }) // a stopped cluster has no targets
	return names
}

func (fs *faults) names() []string {
	names := fs.processes.names()
	for _, of := range fs.kinds {
		names = append(names, of.names()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Fault breaks or mends something. It returns when that is done; where the store has to agree
// on it, that may be only when a paused cluster goes on. If ctx ends before, Fault stops
// waiting, and the fault is still carried out.
func (fs *faults) Fault(ctx context.Context, f control.Fault) error {
	kind := fault.TargetKind(f.Target)
	row, ok := fault.Find(kind, f.Name)
	if !ok {
		applies := fault.Applies(f.Name)
		if len(applies) == 0 {
			return fmt.Errorf("unknown fault %q: one of %s", f.Name, strings.Join(fault.Names(), ", "))
		}
		if mends := fault.Mends(kind); len(mends) > 0 && slices.ContainsFunc(applies, func(to string) bool { r, _ := fault.Find(to, f.Name); return r.Repairs }) {
			return fmt.Errorf("%s does not apply to %q, which is mended with %s; %[1]s applies to %[4]s", f.Name, f.Target, strings.Join(mends, " or "), strings.Join(applies, ", "))
		}
		return fmt.Errorf("%s does not apply to %q; it applies to %s", f.Name, f.Target, strings.Join(applies, ", "))
	}
	if row.Async {
		return plain(fs.injectAsync(ctx, row, f))
	}
	var err error
	if doErr := fs.k.Do(func() { err = fs.inject(row, f) }); doErr != nil {
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
func (fs *faults) prepare(row *fault.Row, f control.Fault) (fault.Act, error) {
	target, err := fs.target(f.Target)
	if err != nil {
		return nil, err
	}
	return row.Prepare(target, f)
}

// inject runs on the kernel's goroutine.
func (fs *faults) inject(row *fault.Row, f control.Fault) error {
	do, err := fs.prepare(row, f)
	if err != nil {
		return err
	}
	fs.k.Enter(inputFault, f)
	note := func() []trace.ID { return []trace.ID{fs.note(row, f)} }
	if what := fault.TargetKind(f.Target); what != "member" && what != "store" {
		return do(note())
	}
	// Only the store itself knows whether a member can do it. What its members
	// say of it enters the trace later, in their own lane.
	if err := do(nil); err != nil {
		return err
	}
	fs.purpose(row, f, note())
	return nil
}

// injectAsync is inject for what takes its time, because members agree on it, catch up, or
// rewrite a disk: it is done beside the kernel, which goes on, and its result is reported
// when it has ended.
func (fs *faults) injectAsync(ctx context.Context, row *fault.Row, f control.Fault) error {
	var do fault.Act
	var err error
	if doErr := fs.k.Do(func() {
		if do, err = fs.prepare(row, f); err == nil {
			fs.k.Enter(inputFaultBegins, f)
			fs.purpose(row, f, causesOf(f))
		}
	}); doErr != nil {
		return doErr
	}
	if err != nil {
		return err
	}
	return waitBeside(ctx, fs.k, f.Name+" "+f.Target, func() error { return fs.doBeside(do, row, f) })
}

// doBeside does a fault that takes its time, and tells what came of it.
func (fs *faults) doBeside(do fault.Act, row *fault.Row, f control.Fault) error {
	if err := do(causesOf(f)); err != nil {
		return err
	}
	return fs.k.DoAs("end of "+f.Name+" "+f.Target, func() { fs.note(row, f) })
}

// What enters the run as a fault (see [sim.Kernel.Enter]).
const (
	inputFault       = "fault"
	inputFaultBegins = "fault.begins" // one that takes its time
)

// again lets a fault in that entered then, on the kernel's goroutine.
func (fs *faults) again(in *trace.Input) (bool, error) {
	var f control.Fault
	if err := in.Decode(&f); err != nil {
		return false, err
	}
	row, ok := fault.Find(fault.TargetKind(f.Target), f.Name)
	if !ok {
		return false, fmt.Errorf("this kviz knows no fault %s of %s", f.Name, f.Target)
	}
	if in.What == inputFault {
		return true, fs.inject(row, f)
	}
	do, err := fs.prepare(row, f)
	if err != nil {
		return false, err
	}
	fs.k.Enter(in.What, in)
	startBeside(fs.k, f.Name+" "+f.Target, func() { _ = fs.doBeside(do, row, f) }) // what comes of it is in the trace
	return true, nil
}

// purpose says to the lane of each member that a fault stops or starts what its own event
// will come from.
func (fs *faults) purpose(row *fault.Row, f control.Fault, why []trace.ID) {
	lane := fs.store.lane
	if lane == nil || !row.StopsOrStarts() {
		return
	}
	if name, ok := strings.CutPrefix(f.Target, "member/"); ok {
		lane.purpose(name, why)
	} else if f.Target == "store" {
		for _, name := range fs.store.otherMembers("") {
			lane.purpose(name, why)
		}
	}
}

// note tells of a fault in the trace; on the kernel's goroutine.
func (fs *faults) note(row *fault.Row, f control.Fault) trace.ID {
	kind := trace.FaultInjected
	if row.Repairs {
		kind = trace.FaultHealed
	}
	return fs.k.Emit(trace.Event{
		Lane: trace.Lane{Component: trace.CompSimulation}, Kind: kind, Causes: causesOf(f),
		Payload: row.Told(f),
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
func (fs *faults) target(name string) (any, error) {
	of := fs.kinds[fault.TargetKind(name)]
	if of == nil {
		of = fs.processes
	}
	target, err := of.find(name)
	if err == nil && target == nil {
		err = fs.noTarget(name)
	}
	return target, err
}

// noTarget names what is there of the same kind, and what was likely meant.
func (fs *faults) noTarget(target string) error {
	var same []string
	for _, t := range fs.names() {
		if fault.TargetKind(t) == fault.TargetKind(target) {
			same = append(same, t)
		}
	}
	if near := nearest.To(target, same); near != "" {
		return fmt.Errorf("there is no %q; did you mean %q?", target, near)
	}
	return fmt.Errorf("there is no %q: one of %s", target, strings.Join(same, ", "))
}
