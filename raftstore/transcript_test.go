package raftstore_test

import (
	"fmt"
	"strings"
	"sync"

	"kviz/raftstore"
	"kviz/raftstore/wire"
)

// transcript collects events and tells them as short lines.
type transcript struct {
	mu     sync.Mutex
	events []raftstore.Event
}

func newTranscript() *transcript { return &transcript{} }

func (tr *transcript) add(e raftstore.Event) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.events = append(tr.events, e)
}

func (tr *transcript) len() int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return len(tr.events)
}

// from gives the lines of the events from the n-th on.
func (tr *transcript) from(n int) []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	var lines []string
	for _, e := range tr.events[n:] {
		lines = append(lines, describe(e))
	}
	return lines
}

func (tr *transcript) tail(n int) string {
	return strings.Join(tr.from(max(0, tr.len()-n)), "\n")
}

func describe(e raftstore.Event) string {
	head := fmt.Sprintf("%s %s", e.Member, strings.TrimPrefix(string(e.Kind), "raft."))
	switch {
	case e.State != nil:
		return fmt.Sprintf("%s: %s term %d leader %q %s", head, e.State.Role, e.State.Term, e.State.Leader, e.State.Reason)
	case e.Message != nil:
		return head + ": " + describeMessage(e.Message)
	case e.Log != nil:
		line := fmt.Sprintf("%s: %d to %d", head, e.Log.First, e.Log.Last)
		if e.Log.Error != "" {
			line += " refused"
		}
		return line
	case e.Vote != nil:
		return fmt.Sprintf("%s: for %s in term %d", head, e.Vote.Candidate, e.Vote.Term)
	case e.Progress != nil:
		return fmt.Sprintf("%s: %d", head, e.Progress.Index)
	case e.Snapshot != nil:
		return fmt.Sprintf("%s: %s at %d", head, e.Snapshot.What, e.Snapshot.Index)
	case e.Membership != nil:
		m := e.Membership
		return fmt.Sprintf("%s: %s; voters %v, learners %v", head, m.What, m.Voters, m.Learners)
	case e.Fault != nil:
		return fmt.Sprintf("%s: %s %s%s %v %s", head, e.Fault.What, e.Fault.From, e.Fault.To, e.Fault.On, e.Fault.Detail)
	}
	return head
}

func describeMessage(m *wire.Message) string {
	line := fmt.Sprintf("%s>%s %s", m.From, m.To, m.RPC)
	if n := len(m.Entries); n > 0 {
		line += fmt.Sprintf(" %d to %d", m.Entries[0].Index, m.Entries[n-1].Index)
	} else if m.RPC == wire.AppendEntries {
		line += fmt.Sprintf(" commit %d", m.Commit)
	}
	if m.Answer {
		line += fmt.Sprintf(" ok=%v", m.OK)
		if m.Match > 0 {
			line += fmt.Sprintf(" match %d", m.Match)
		}
	}
	if m.Error != "" {
		line += " lost: " + m.Error
	}
	return line
}
