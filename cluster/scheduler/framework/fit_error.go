package framework

import (
	"fmt"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// NodeStatuses is why nodes were rejected, in the order they were judged, and
// what holds for the nodes nobody looked at.
type NodeStatuses struct {
	Nodes  []string
	status []*Status
	Absent *Status
	byName map[string]*Status // made when first asked for
}

// Set records a node's rejection.
func (n *NodeStatuses) Set(node string, s *Status) {
	n.Nodes, n.status, n.byName = append(n.Nodes, node), append(n.status, s), nil
}

// Len is how many nodes were rejected one by one.
func (n *NodeStatuses) Len() int { return len(n.Nodes) }

// Of is why a node was rejected; Absent for one nobody looked at.
func (n *NodeStatuses) Of(node string) *Status {
	if n.byName == nil {
		n.byName = make(map[string]*Status, len(n.Nodes))
		for i, name := range n.Nodes {
			n.byName[name] = n.status[i]
		}
	}
	if s, ok := n.byName[node]; ok {
		return s
	}
	return n.Absent
}

// At is the i-th rejection.
func (n *NodeStatuses) At(i int) (string, *Status) { return n.Nodes[i], n.status[i] }

// Diagnosis is what a failed cycle learned.
type Diagnosis struct {
	Statuses             NodeStatuses
	UnschedulablePlugins map[string]bool // who rejected: their events may bring the pod back
	PreFilterMsg         string
	PostFilterMsg        string
}

// AddPlugin notes that a plugin rejected.
func (d *Diagnosis) AddPlugin(s *Status) {
	if s.Plugin() == "" {
		return
	}
	if d.UnschedulablePlugins == nil {
		d.UnschedulablePlugins = map[string]bool{}
	}
	d.UnschedulablePlugins[s.Plugin()] = true
}

// FitError says that no node fits a pod. Its text is what `kubectl describe
// pod` shows, word for word upstream's.
//
// Mirrors pkg/scheduler/framework/types.go FitError.
type FitError struct {
	Pod         *corev1.Pod
	NumAllNodes int
	Diagnosis   Diagnosis
}

// Reasons counts the nodes of each reason.
func (f *FitError) Reasons() map[string]int {
	reasons := map[string]int{}
	if f.Diagnosis.PreFilterMsg != "" {
		return reasons
	}
	n := &f.Diagnosis.Statuses
	for _, s := range n.status {
		for _, r := range s.Reasons() {
			reasons[r]++
		}
	}
	if absent := f.NumAllNodes - n.Len(); absent > 0 {
		for _, r := range n.Absent.Reasons() {
			reasons[r] += absent
		}
	}
	return reasons
}

// Error is the histogram of reasons: "0/3 nodes are available: 1 node(s) had
// untolerated taint(s), 2 Insufficient cpu."
func (f *FitError) Error() string {
	msg := fmt.Sprintf("0/%v nodes are available:", f.NumAllNodes)
	if f.Diagnosis.PreFilterMsg != "" {
		msg += fmt.Sprintf(" %v.", f.Diagnosis.PreFilterMsg)
	}
	var lines []string
	for reason, n := range f.Reasons() {
		lines = append(lines, fmt.Sprintf("%v %v", n, reason))
	}
	if len(lines) > 0 {
		sort.Strings(lines)
		msg += fmt.Sprintf(" %v.", strings.Join(lines, ", "))
	}
	if f.Diagnosis.PostFilterMsg != "" {
		msg += " " + f.Diagnosis.PostFilterMsg
	}
	return msg
}
