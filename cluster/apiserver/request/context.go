package request

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/warning"
)

type scopeKey struct{}

// NewContext is the context in which Kubernetes' own code runs for a request: its
// warnings go to the request's answer. It does not end; what waits, waits by virtual
// time.
func NewContext(s *Scope) context.Context {
	return warning.WithWarningRecorder(context.WithValue(context.Background(), scopeKey{}, s), recorder{s})
}

// From is the request in whose context something runs.
func From(ctx context.Context) *Scope { return ctx.Value(scopeKey{}).(*Scope) }

type recorder struct{ s *Scope }

// AddWarning is warning.Recorder.
func (r recorder) AddWarning(_, text string) { r.s.Warn(text) }

// Warn adds a warning for the writer; each is told once.
func (s *Scope) Warn(text string) {
	if !slices.Contains(s.Warnings, text) {
		s.Warnings = append(s.Warnings, text)
	}
}
