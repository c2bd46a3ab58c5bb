// Package faults is the menu of what can be broken and mended: a plain sentence for
// every fault and kind of target, and only those that do something to a target as it is
// now.
//
// Start reading at [Menu.Of].
package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/control"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/overlay"
	"kviz/tui/theme"
)

// Cluster is what can be broken. Its Fault returns when the fault is done, which, where
// members have to agree on it, may be only when a paused cluster goes on; or when ctx ends.
type Cluster interface {
	Faults() []control.FaultKind
	Targets() []string
	Fault(ctx context.Context, f control.Fault) error
}

// Menu makes the menus of a cluster in a state.
type Menu struct {
	Cluster Cluster
	State   *view.State
}

// At is the menu of the thing under the cursor, which is a target, the link of two members,
// or "", or the list of all targets.
func (m Menu) At(target string) overlay.Overlay {
	if a, b, ok := ends(target); ok {
		return m.Between(a, b)
	}
	if target != "" && slices.Contains(m.Cluster.Targets(), target) {
		return m.Of(target)
	}
	return m.Targets("Nothing under the cursor can be broken; choose here.")
}

// Targets lists what can be broken, by part of the cluster.
func (m Menu) Targets(intro string) overlay.Overlay {
	p := &overlay.Picker{Title: "Break or mend what?", Search: true, Intro: intro}
	parts := []struct {
		title string
		kinds []string
	}{
		{"The store", []string{"store", "member"}},
		{"The control plane", []string{"apiserver", "balancer", "controller-manager", "cloud-controller-manager", "scheduler", "dns", "audit"}},
		{"Storage", []string{"csi-driver", "csi-provisioner", "csi-attacher", "csi-resizer"}},
		{"Outside", []string{"cloud", "instance", "registry", "oidc", "kms", "webhook"}},
		{"Nodes", []string{"node", "kubelet", "proxy", "runtime"}},
		{"Pods", []string{"pod"}},
		{"Watches at the store", []string{"watch"}},
		{"Clients' watches at the API server", []string{"informer"}},
		{"The controllers", []string{"controller"}},
		{"The controllers' work queues", []string{"queue"}},
		{"Credentials", []string{"certificate", "token"}},
		{"Other", nil},
	}
	left := m.Cluster.Targets()
	for _, part := range parts {
		var here, rest []string
		for _, t := range left {
			if kind, _, _ := strings.Cut(t, "/"); part.kinds == nil || slices.Contains(part.kinds, kind) {
				here = append(here, t)
			} else {
				rest = append(rest, t)
			}
		}
		left = rest
		if len(here) > 0 {
			p.Items = append(p.Items, overlay.Item{Label: part.title, Style: theme.Title})
		}
		for _, t := range here {
			it := overlay.Item{Label: Target(t), Note: m.standing(t), Indent: 2, Key: t, Do: action.FaultsOf{Target: t}}
			if now := brokenWords(m.State.FaultsOn(t)); now != "" {
				it.Note, it.Style = "broken: "+now, theme.Bad
			}
			p.Items = append(p.Items, it)
		}
	}
	if len(p.Items) > 1 {
		p.Select(1)
	}
	return p
}

// standing says in a word or two how a target is.
func (m Menu) standing(target string) string {
	kind, name, _ := strings.Cut(target, "/")
	if kind == "member" {
		if x := m.State.Store.Member(name); x != nil {
			return x.Role
		}
	}
	return ""
}

func brokenWords(faults []*view.Fault) string {
	var all []string
	for _, f := range faults {
		all = append(all, strings.TrimSpace(f.Fault.Fault+" "+f.Detail))
	}
	return strings.Join(all, ", ")
}

// Of is the menu of one target: what mends it first, then what breaks
// it, and only what makes sense as it is now.
func (m Menu) Of(target string) overlay.Overlay {
	p := &overlay.Picker{Title: "Break or mend " + Target(target), Empty: "nothing can be done to it"}
	kind, _, _ := strings.Cut(target, "/")
	broken := m.State.FaultsOn(target)
	for _, f := range broken {
		p.Intro += "Broken since #" + f.Event.String() + ": " + strings.TrimSpace(f.Fault.Fault+" "+f.Detail) + ". "
	}
	var mend, harm []overlay.Item
	for _, f := range m.Cluster.Faults() {
		if f.Target != kind || !m.sensible(f, target, broken) {
			continue
		}
		items := m.items(f, target)
		if m.mends(f.Name) || f.Remedy {
			mend = append(mend, items...)
		} else {
			harm = append(harm, items...)
		}
	}
	for i := range mend {
		mend[i].Style = theme.Good
	}
	p.Items = append(mend, harm...)
	p.Items = append(p.Items, overlay.Item{Label: "Something else …", Style: theme.Muted, Do: action.Targets})
	return p
}

// sensible reports whether a fault does something to a target as it is now.
func (m Menu) sensible(f control.FaultKind, target string, broken []*view.Fault) bool {
	kind, name, _ := strings.Cut(target, "/")
	down := false
	for _, b := range broken {
		down = down || m.healsWith(b.Fault.Fault) == "start"
	}
	if x := m.State.Store.Member(name); kind == "member" && x != nil {
		down = down || !x.Up
		switch f.Name {
		case "lead":
			return x.Up && m.State.Store.Leader != name && !x.Learner
		case "promote":
			return x.Learner
		case "corrupt":
			return !x.Up
		case "snapshot", "defrag":
			return x.Up
		case "rejoin":
			return !x.Up
		case "recover":
			return !m.State.Store.Quorum().OK()
		case "power-cut":
			return x.Up
		}
	}
	if kind == "store" {
		switch q := m.State.Store.Quorum(); f.Name {
		case "start":
			return q.Have < q.Total
		case "stop", "crash":
			return q.Have > 0
		case "heal":
			return true
		case "disarm":
			return len(m.State.Store.Alarms) > 0
		case "reinstall":
			r := m.State.Store.Restored
			return r != nil && r.Keys == 0
		}
	}
	switch f.Name {
	case "start":
		return down
	case "stop", "crash", "restart":
		return !down
	}
	if !m.mends(f.Name) {
		return true
	}
	for _, b := range broken { // what mends is offered where there is something to mend
		if m.healsWith(b.Fault.Fault) == f.Name {
			return true
		}
	}
	return false
}

// healsWith is the fault that mends a fault.
func (m Menu) healsWith(name string) string {
	for _, f := range m.Cluster.Faults() {
		if f.Name == name {
			return f.Heals
		}
	}
	return ""
}

// mends reports whether a fault mends another.
func (m Menu) mends(name string) bool {
	for _, f := range m.Cluster.Faults() {
		if f.Heals == name {
			return true
		}
	}
	return false
}

// items are the lines of the menu for one fault.
func (m Menu) items(f control.FaultKind, target string) []overlay.Item {
	kind, name, _ := strings.Cut(target, "/")
	list := f.Ways
	if list == nil {
		w := control.FaultWay{Say: overlay.FirstSentence(f.Means)}
		if f.Args != "" && !strings.HasPrefix(f.Args, "[") {
			w.Ask = f.Args
		}
		list = []control.FaultWay{w}
	}
	if kind == "pod" && f.Name == "crash" {
		list = m.containerWays(name, list)
	}
	var items []overlay.Item
	add := func(w control.FaultWay) {
		do := control.Fault{Name: f.Name, Target: target, Args: w.Args}
		it := overlay.Item{Label: w.Say, Key: strings.Join(append([]string{f.Name}, w.Args...), " "), Detail: f.Means, Do: action.Fault{Fault: do}}
		if w.Ask != "" {
			it.Do = action.AskFault{Fault: do, Needs: w.Ask}
		}
		items = append(items, it)
	}
	for _, w := range list {
		if !w.Peer {
			add(w)
			continue
		}
		for _, t := range m.Cluster.Targets() {
			if peer, ok := strings.CutPrefix(t, "member/"); ok && peer != name && (!f.Repairs || m.impaired(name, peer)) {
				add(control.FaultWay{Say: fmt.Sprintf(w.Say, peer), Args: append([]string{peer}, w.Args...)})
			}
		}
	}
	return items
}

// containerWays names the containers of a pod that has several.
func (m Menu) containerWays(pod string, list []control.FaultWay) []control.FaultWay {
	p := m.State.NodePod(pod)
	if p == nil || len(p.Containers()) < 2 {
		return list
	}
	var out []control.FaultWay
	for _, c := range p.Containers() {
		out = append(out, control.FaultWay{Say: "Kill its container " + c.Container + ": the kubelet starts it again", Args: []string{c.Container}})
	}
	return out
}

// UnderWay says that something is being broken or mended, in a cluster that is paused or
// running.
func UnderWay(f control.Fault, stands bool) action.Action {
	text := "under way: " + line(f)
	if stands {
		text += "; the cluster stands: what its members have to agree on waits until it goes on"
	}
	return action.Notice{Text: text}
}

// Do breaks or mends something. It takes as long as [Cluster] says.
func (m Menu) Do(ctx context.Context, f control.Fault) action.Action {
	if err := m.Cluster.Fault(ctx, f); err != nil {
		return action.Notice{Text: err.Error()}
	}
	return done(f)
}

// Ask asks for what a fault still needs.
func (m Menu) Ask(what action.AskFault) action.Prompt {
	return action.Prompt{
		For: action.ForFault, Title: what.Fault.Name + " " + Target(what.Fault.Target), Intro: "Say " + what.Needs + ".", Needed: &what,
	}
}

// Answered is the fault with what was entered.
func Answered(what action.AskFault, text string) control.Fault {
	f := what.Fault
	f.Args = append(slices.Clone(f.Args), strings.Fields(text)...)
	return f
}

// DoAnswered is Do for a fault with what was entered; for what the cluster does not
// accept the prompt opens again.
func (m Menu) DoAnswered(ctx context.Context, what action.AskFault, text string) action.Action {
	f := Answered(what, text)
	if err := m.Cluster.Fault(ctx, f); err != nil {
		again := m.Ask(what)
		again.Text, again.Error = text, err.Error()
		return again
	}
	return done(f)
}

func done(f control.Fault) action.Action { return action.Notice{Text: "done: " + line(f)} }

// line is a fault as it is typed.
func line(f control.Fault) string {
	return strings.Join(append([]string{f.Name, f.Target}, f.Args...), " ")
}
