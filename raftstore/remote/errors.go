package remote

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kviz/raftstore/member"
	"kviz/raftstore/wire"
)

// failure is an error on its way to another process: its text, and which of the
// errors that somebody may ask for it is.
type failure struct {
	Text   string
	Is     string // one of sentinels
	Status uint32 // a gRPC status: one of etcd's own errors
}

// sentinels are the errors that errors.Is still finds on the other side.
var sentinels = map[string]error{
	"down": member.ErrDown, "not leader": member.ErrNotLeader, "leader lost": member.ErrLeaderLost, "lost": wire.ErrLost,
	"full": syscall.ENOSPC, "canceled": context.Canceled, "deadline": context.DeadlineExceeded,
}

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Text: err.Error()}
	var s interface{ GRPCStatus() *status.Status }
	if errors.As(err, &s) {
		f.Status, f.Text = uint32(s.GRPCStatus().Code()), s.GRPCStatus().Message()
		return f
	}
	for name, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			f.Is = name
		}
	}
	return f
}

// err is the error again. etcd's own are equal to the originals, by errors.Is.
func (f *failure) err() error {
	switch {
	case f == nil:
		return nil
	case f.Status != 0:
		return status.Error(codes.Code(f.Status), f.Text)
	case f.Is != "" && sentinels[f.Is] != nil:
		if sentinels[f.Is].Error() == f.Text {
			return sentinels[f.Is]
		}
		return &namedError{f.Text, sentinels[f.Is]}
	}
	return errors.New(f.Text)
}

type namedError struct {
	text string
	is   error
}

func (e *namedError) Error() string { return e.text }
func (e *namedError) Unwrap() error { return e.is }

// noConnection is what is said of a member whose process does not answer.
func noConnection(id string, err error) error {
	return fmt.Errorf("member %s: no connection to its process: %w", id, errors.Join(member.ErrDown, err))
}
