package remote

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"kviz/raftstore/wire"
)

func newRPC(m wire.Message, news bool, command any) *rpc {
	m.Entries = nil
	r := &rpc{Message: m, News: news}
	switch c := command.(type) {
	case *raft.AppendEntriesRequest:
		r.Append = c
	case *raft.RequestVoteRequest:
		r.Vote = c
	case *raft.RequestPreVoteRequest:
		r.PreVote = c
	case *raft.InstallSnapshotRequest:
		r.Snapshot = c
	case *raft.TimeoutNowRequest:
		r.Timeout = c
	}
	return r
}

// command is raft's request, checked: what raft would stumble over is refused.
func (r *rpc) command() (any, error) {
	switch {
	case r.Append != nil:
		for _, e := range r.Append.Entries {
			if e == nil {
				return nil, errors.New("an append with an entry that is not there")
			}
		}
		r.Message.Entries = wire.Describe(r.Append.Entries)
		return r.Append, nil
	case r.Vote != nil:
		return r.Vote, nil
	case r.PreVote != nil:
		return r.PreVote, nil
	case r.Snapshot != nil:
		if r.Snapshot.Size < 0 {
			return nil, fmt.Errorf("a snapshot of %d bytes", r.Snapshot.Size)
		}
		return r.Snapshot, nil
	case r.Timeout != nil:
		return r.Timeout, nil
	}
	return nil, errors.New("a request without contents")
}

func newAnswer(resp any, err error) *answer {
	if err != nil {
		return &answer{Error: err.Error()}
	}
	a := &answer{}
	switch r := resp.(type) {
	case *raft.AppendEntriesResponse:
		a.Append = r
	case *raft.RequestVoteResponse:
		a.Vote = r
	case *raft.RequestPreVoteResponse:
		a.PreVote = r
	case *raft.InstallSnapshotResponse:
		a.Snapshot = r
	case *raft.TimeoutNowResponse:
		a.Timeout = r
	default:
		a.Error = fmt.Sprintf("raft answered with a %T", resp)
	}
	return a
}

// value is raft's answer, nil if there is none.
func (a *answer) value() any {
	switch {
	case a.Append != nil:
		return a.Append
	case a.Vote != nil:
		return a.Vote
	case a.PreVote != nil:
		return a.PreVote
	case a.Snapshot != nil:
		return a.Snapshot
	case a.Timeout != nil:
		return a.Timeout
	}
	return nil
}
