package verbs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"kviz/cluster/control"
	"kviz/cluster/nearest"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// faultVerb is kviz fault: what can be broken, and breaking and mending it.
func faultVerb(ctx context.Context, inv *use, args []string) int {
	m := inv.cfg.Cluster.Faults
	kinds := m.Faults()
	switch {
	case len(args) > 0 && args[0] == "list":
		return inv.listFaults(kinds, args[1:])
	case len(args) < 2:
		return inv.badUse()
	}
	var names, applies []string
	for _, f := range kinds {
		names = append(names, f.Name)
		if f.Name == args[0] {
			applies = append(applies, f.Target)
		}
	}
	if len(applies) == 0 {
		slices.Sort(names)
		return inv.unknown("fault", args[0], slices.Compact(names)) // one that applies to several kinds is told once
	}
	if leads(args[1]) {
		leader := inv.latest().Store.Leader
		if leader == "" {
			return inv.did(fmt.Errorf("no member of the store leads now, so there is no %s", args[1]))
		}
		args[1] = "member/" + leader
	}
	if targets := m.Targets(); !slices.Contains(targets, args[1]) {
		kind, name, _ := strings.Cut(args[1], "/")
		if lacks := inv.latest().Lacks(view.Manager(name)); kind == "controller" && lacks != "" {
			return inv.did(errors.New(lacks))
		}
		others := slices.ContainsFunc(targets, func(t string) bool { return strings.HasPrefix(t, kind+"/") })
		meant := shortController(targets, args[1])
		if meant == "" && !others {
			meant = sameName(targets, args[1], applies)
		}
		if meant != "" {
			fmt.Fprintf(inv.Err, "kviz fault: unknown target %q; did you mean %q? (kviz fault list tells all)\n", args[1], meant)
			return 2
		}
		component := args[1]
		if kind == "controller" { // a part of it
			component = trace.CompKCM
		}
		if lacks := inv.latest().Lacks(component); lacks != "" {
			return inv.did(errors.New(lacks))
		}
		return inv.unknown("target", args[1], ofKinds(targets, args[1], applies))
	}
	return inv.did(m.Fault(ctx, control.Fault{Name: args[0], Target: args[1], Args: args[2:], Cause: inv.Cause}))
}

// latest is the state of the cluster after its newest event.
func (inv *use) latest() *view.State {
	h := view.NewHistory(inv.cfg.Cluster.Trace)
	h.CatchUp(0)
	return h.Latest()
}

// leads reports whether a target is the member that leads, whichever that is.
func leads(target string) bool { return target == "store/leader" || target == "member/leader" }

// listFaults tells what can be done to each kind of target, or all of one kind.
func (inv *use) listFaults(kinds []control.FaultKind, of []string) int {
	targets := inv.cfg.Cluster.Faults.Targets()
	w := tabwriter.NewWriter(inv.Out, 0, 8, 3, ' ', 0)
	if len(of) > 0 {
		kind, _, _ := strings.Cut(of[0], "/")
		found := false
		for _, f := range kinds {
			if f.Target == kind {
				fmt.Fprintf(w, "%s\t%s\n", strings.TrimSpace(f.Name+" "+f.Args), f.Means)
				found = true
			}
		}
		if !found {
			return inv.unknown("target", of[0], targets)
		}
		_ = w.Flush()
		fmt.Fprintf(inv.Out, "targets now: %s\n", strings.Join(ofKinds(targets, kind, []string{kind}), " "))
		return 0
	}
	var order []string
	names := map[string][]string{}
	for _, f := range kinds {
		if names[f.Target] == nil {
			order = append(order, f.Target)
		}
		names[f.Target] = append(names[f.Target], f.Name)
	}
	fmt.Fprintln(w, "TARGET\tFAULTS")
	for _, kind := range order {
		fmt.Fprintf(w, "%s\t%s\n", kind, strings.Join(names[kind], ", "))
	}
	_ = w.Flush()
	fmt.Fprintf(inv.Out, "targets now: %s\nkviz fault list TARGET tells what each of its faults does\n", strings.Join(targets, " "))
	return 0
}

// shortController is the target of a controller whose name is without its last part, as its
// queue's is: controller/deployment-controller for controller/deployment.
func shortController(targets []string, word string) string {
	if t := word + "-controller"; strings.HasPrefix(t, "controller/") && slices.Contains(targets, t) {
		return t
	}
	return ""
}

// sameName is the target of the kinds that has the name of a word, where its kind is wrong
// or left out: member/a for store/a, node/node-2 for node-2; "" if there is none.
func sameName(targets []string, word string, kinds []string) string {
	name := word[strings.IndexByte(word, '/')+1:]
	for _, kind := range append([]string{"member", "node"}, kinds...) { // what people mean by a bare name
		if !slices.Contains(kinds, kind) {
			continue
		}
		if t := kind + "/" + name; slices.Contains(targets, t) {
			return t
		}
	}
	return ""
}

// ofKinds are the targets that a fault applies to: those of the kind that word
// begins with, if it is one of them.
func ofKinds(targets []string, word string, kinds []string) []string {
	kindOf := func(t string) string { k, _, _ := strings.Cut(t, "/"); return k }
	if k := kindOf(word); slices.Contains(kinds, k) {
		kinds = []string{k}
	}
	var fit []string
	for _, t := range targets {
		if slices.Contains(kinds, kindOf(t)) {
			fit = append(fit, t)
		}
	}
	return fit
}

func (inv *use) unknown(what, name string, known []string) int {
	fmt.Fprintf(inv.Err, "kviz %s: unknown %s %q", inv.Args[1], what, name)
	if near := nearest.To(name, known); near != "" {
		fmt.Fprintf(inv.Err, "; did you mean %q? (kviz fault list tells all)\n", near)
		return 2
	}
	if len(known) == 0 {
		fmt.Fprintf(inv.Err, ", and there is no target of its kind now (kviz fault list names all)\n")
		return 2
	}
	fmt.Fprintf(inv.Err, ": one of %s\n", strings.Join(known, ", "))
	return 2
}
