package view

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// withoutQuorum says what a store that cannot write means for an object.
func (s *State) withoutQuorum(o *Object) *Reason {
	q := s.Reach()
	if q.Total == 0 || q.OK() {
		return nil
	}
	a := sentence("%s cannot be changed now: %s", o.Ref, lost(q))
	if pod, ok := o.Value.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodRunning {
		a.Says = fmt.Sprintf("%s runs on without the store: its kubelet and its containers need it only to report and to learn news; %s", o.Ref, lost(q))
	}
	a.From = s.membersDown()
	return a
}

// lost says what is missing of a quorum, and what follows.
func lost(q Quorum) string {
	return fmt.Sprintf("the store has no quorum (%d of %d members, %d are needed), so nothing is written: no pod is made, moved or deleted", q.Have, q.Total, q.Need)
}

// membersDown are the members that do not run, and what is broken between those that do.
func (s *State) membersDown() (from []Keeper) {
	for _, m := range s.Store.Members() {
		if !m.Up {
			from = append(from, Keeper{What: "member " + m.Name, Why: orElse(m.Reason, "is down"), Event: m.Event})
		}
	}
	for _, f := range s.Faults() {
		if f.Fault.Fault == "partition" || f.Fault.Fault == "cut" || f.Fault.Fault == "mute" || f.Fault.Fault == "deafen" {
			from = append(from, Keeper{What: f.Target, Why: f.Fault.Fault + tail(" ", f.Detail), Event: f.Event})
		}
	}
	return from
}

// Part is a part of the cluster that is no API object: the store, a member of it, a
// process. Its answers say how it is; Event is the one that made it so.
type Part struct {
	Name    string
	Reasons []Reason
	Event   trace.ID
}

// leading reports whether a name is one by which the member that leads is asked for.
func leading(name string) bool { return name == "store/leader" || name == "member/leader" }

// PartOf is the part of the cluster of a name: "store", "store/leader", "member/a",
// "kubelet/node-1"; nil if there is none.
func (s *State) PartOf(name string) *Part {
	switch {
	case name == "store":
		return s.wholeStore()
	case leading(name) && s.Store.Leader == "":
		p := s.wholeStore()
		p.Name = name
		return p
	case leading(name):
		name = "member/" + s.Store.Leader
	}
	if m := s.Store.Member(trimmed(name, "member/")); m != nil {
		return &Part{Name: name, Reasons: []Reason{*s.member(m)}, Event: m.Event}
	}
	if p := s.Process(name); p != nil {
		a := sentence("%s runs: %s", p.Name, p.Reason)
		if !p.Up {
			a = sentence("%s is not running: %s", p.Name, p.Reason)
		}
		return &Part{Name: name, Reasons: []Reason{*a}, Event: p.Event}
	}
	return nil
}

// trimmed is what follows a prefix; "" of a word without it.
func trimmed(word, prefix string) string {
	if len(word) > len(prefix) && word[:len(prefix)] == prefix {
		return word[len(prefix):]
	}
	return ""
}

func (s *State) wholeStore() *Part {
	p := &Part{Name: "store"}
	q := s.Reach()
	a := Reason{Says: fmt.Sprintf("The store answers and writes: %s leads, %d of %d members reach one another, %d are needed", "member "+s.Store.Leader, q.Have, q.Total, q.Need)}
	switch {
	case q.Total == 0:
		a.Says = "The store answers and writes: this cluster runs on the bare store, which has no members that could fail"
	case !q.OK():
		a.Says = upper(lost(q)) + "; pods that run go on running"
		a.From = s.membersDown()
	case s.Store.Leader == "":
		a.Says = "The store does not write: no member leads, until one is elected"
		a.From = s.membersDown()
	}
	p.Reasons = []Reason{a}
	for _, m := range s.Store.Members() {
		if p.Event.IsZero() || !m.Event.IsZero() && p.Event.Compare(m.Event) < 0 {
			p.Event = m.Event
		}
	}
	return p
}

func (s *State) member(m *Member) *Reason {
	switch {
	case m.Left:
		return sentence("Member %s was removed from the store", m.Name)
	case !m.Up:
		return sentence("Member %s is not running: %s", m.Name, orElse(m.Reason, "it was stopped"))
	case m.Role == "leader":
		return sentence("Member %s leads the store in term %d: it got the votes of a majority", m.Name, m.Term)
	case m.Leader == "":
		return sentence("Member %s is a %s in term %d and knows no leader", m.Name, m.Role, m.Term)
	}
	return sentence("Member %s is a %s in term %d: %s leads", m.Name, m.Role, m.Term, m.Leader)
}
