package framework

import "strings"

// Code is what a plugin's answer means.
type Code int

// The codes, as in k8s.io/kube-scheduler/framework.
const (
	// Success: go on.
	Success Code = iota
	// Error: something is broken; the pod is tried again after a back-off.
	Error
	// Unschedulable: not on this node as it is now; evicting pods could help.
	Unschedulable
	// UnschedulableAndUnresolvable: not on this node, whatever is evicted.
	UnschedulableAndUnresolvable
	// Wait: a Permit plugin wants the pod to wait.
	Wait
	// Skip: the plugin has nothing to do with this pod.
	Skip
	// Pending: the plugin waits for something outside; see PreEnqueue.
	Pending
)

var codeNames = [...]string{"Success", "Error", "Unschedulable", "UnschedulableAndUnresolvable", "Wait", "Skip", "Pending"}

// String is the code's name.
func (c Code) String() string { return codeNames[c] }

// Status is a plugin's answer; nil is Success. A Status is not changed once it
// is made, so plugins make theirs once and return them for every node.
type Status struct {
	code    Code
	plugin  string
	reasons []string
	err     error
}

// NewStatus is the answer of a plugin, with reasons in upstream's words.
func NewStatus(plugin string, code Code, reasons ...string) *Status {
	return &Status{code: code, plugin: plugin, reasons: reasons}
}

// AsStatus is an error as a plugin's answer.
func AsStatus(plugin string, err error) *Status {
	if err == nil {
		return nil
	}
	return &Status{code: Error, plugin: plugin, reasons: []string{err.Error()}, err: err}
}

// StatusOf is an error as an answer of any code, in whose words it is.
func StatusOf(code Code, err error) *Status {
	return &Status{code: code, reasons: []string{err.Error()}, err: err}
}

// Code is the answer's code.
func (s *Status) Code() Code {
	if s == nil {
		return Success
	}
	return s.code
}

// Plugin is who answered.
func (s *Status) Plugin() string {
	if s == nil {
		return ""
	}
	return s.plugin
}

// Reasons are why, one each.
func (s *Status) Reasons() []string {
	if s == nil {
		return nil
	}
	return s.reasons
}

// Message is the reasons in one line.
func (s *Status) Message() string { return strings.Join(s.Reasons(), ", ") }

// IsSuccess reports whether all is well.
func (s *Status) IsSuccess() bool { return s.Code() == Success }

// IsSkip reports whether the plugin has nothing to do with the pod.
func (s *Status) IsSkip() bool { return s.Code() == Skip }

// IsWait reports whether a Permit plugin has the pod wait.
func (s *Status) IsWait() bool { return s.Code() == Wait }

// IsRejected reports whether the plugin refused the pod.
func (s *Status) IsRejected() bool {
	c := s.Code()
	return c == Unschedulable || c == UnschedulableAndUnresolvable || c == Pending
}

// Err is the answer as an error, nil for Success.
func (s *Status) Err() error {
	if s.IsSuccess() {
		return nil
	}
	if s.err != nil {
		return s.err
	}
	return statusError(s.Message())
}

type statusError string

func (e statusError) Error() string { return string(e) }
