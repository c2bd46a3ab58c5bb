package view

import (
	"fmt"
	"strings"
	"time"

	"kviz/cluster/trace"
)

func init() {
	say(trace.MemberRole, explainRole)
	say(trace.RaftSend, explainSend)
	say(trace.RaftDeliver, func(e *trace.Event, p *trace.RaftMessage) string {
		switch p.RPC {
		case "AppendEntries":
			return fmt.Sprintf("%s has %s from %s", p.To, entriesIn(p), p.From)
		}
		return fmt.Sprintf("%s has received %s from %s", p.To, rpc(p), p.From)
	})
	say(trace.RaftReply, explainReply)
	say(trace.RaftLost, func(e *trace.Event, p *trace.RaftMessage) string {
		what, was := rpc(p), "was"
		switch {
		case strings.Contains(p.Error, "link "+p.To+" to "+p.From): // it came, and its answer did not
			what = "the answer to " + what
		case len(p.Entries) > 1:
			was = "were"
		}
		return fmt.Sprintf("%s from %s to %s %s lost%s", upper(what), p.From, p.To, was, tail(": ", p.Error))
	})
	say(trace.RaftAppend, func(e *trace.Event, p *trace.RaftLog) string {
		if p.Error != "" {
			return fmt.Sprintf("member %s could not write %s to its log: %s", p.Member, span(p.First, p.Last), p.Error)
		}
		return fmt.Sprintf("member %s writes %s to its log; not yet on disk", p.Member, span(p.First, p.Last))
	})
	say(trace.RaftDurable, func(e *trace.Event, p *trace.RaftLog) string {
		if p.Error != "" {
			return fmt.Sprintf("member %s could not bring %s to disk: %s", p.Member, span(p.First, p.Last), p.Error)
		}
		return fmt.Sprintf("member %s has %s on disk: now it may say so", p.Member, span(p.First, p.Last))
	})
	say(trace.RaftTruncate, func(e *trace.Event, p *trace.RaftLog) string {
		return fmt.Sprintf("member %s removes %s from its log", p.Member, span(p.First, p.Last))
	})
	say(trace.RaftVote, func(e *trace.Event, p *trace.RaftVoteRecord) string {
		if p.Member == p.Candidate {
			return fmt.Sprintf("member %s votes for itself in term %d and writes that to disk", p.Member, p.Term)
		}
		return fmt.Sprintf("member %s gives its one vote of term %d to %s and writes that to disk", p.Member, p.Term, p.Candidate)
	})
	say(trace.RaftTimeout, func(e *trace.Event, p *trace.RaftPatience) string {
		whom := "a leader"
		if p.Leader != "" {
			whom = p.Leader
		}
		switch {
		case p.Left >= 4:
			return fmt.Sprintf("a leader reached member %s, or it has voted: its election timeout starts again", p.Member)
		case p.Left == 0:
			return fmt.Sprintf("member %s has had nothing from %s for the whole of the least election timeout, %s: any moment it may stand for election", p.Member, whom, p.AtLeast)
		}
		return fmt.Sprintf("member %s has had nothing from %s for %s of at least %s", p.Member, whom, p.AtLeast*time.Duration(4-p.Left)/4, p.AtLeast)
	})
	say(trace.RaftCommit, func(e *trace.Event, p *trace.RaftProgress) string {
		return fmt.Sprintf("member %s: entry %d is on a quorum, so it is committed", p.Member, p.Index)
	})
	say(trace.RaftApply, func(e *trace.Event, p *trace.RaftProgress) string {
		if p.Revision == 0 {
			return fmt.Sprintf("member %s applied entry %d", p.Member, p.Index)
		}
		return fmt.Sprintf("member %s applied entry %d: its keys are at revision %d", p.Member, p.Index, p.Revision)
	})
	say(trace.RaftSnapshot, func(e *trace.Event, p *trace.RaftSnapshotInfo) string {
		switch p.What {
		case "installed":
			return fmt.Sprintf("member %s installed a snapshot up to entry %d: the log before it was gone", p.Member, p.Index)
		case "sent":
			return fmt.Sprintf("member %s sends a snapshot up to entry %d, because the follower needs entries its log no longer has", p.Member, p.Index)
		}
		return fmt.Sprintf("member %s took a snapshot up to entry %d; the log before it can go", p.Member, p.Index)
	})
	say(trace.MemberDown, func(e *trace.Event, p *trace.MemberState) string {
		return fmt.Sprintf("member %s is down%s", p.Member, tail(": ", p.Reason))
	})
	say(trace.MemberUp, func(e *trace.Event, p *trace.MemberState) string {
		return fmt.Sprintf("member %s is up with a log up to entry %d%s%s", p.Member, p.Last, tail(" (", closed(p.Reason)), tail(", recovered from ", p.Recovered))
	})
	say(trace.StoreCommit, explainCommit)
	say(trace.StoreRefused, func(e *trace.Event, p *trace.StoreError) string {
		return fmt.Sprintf("the store did not do %s%s: %s", article(p.Op), tail(" of ", p.Key), p.Error)
	})
	say(trace.StoreCompact, func(e *trace.Event, p *trace.Compaction) string {
		return fmt.Sprintf("the store threw away history up to revision %d; a watch from before it gets 410 Gone", p.Revision)
	})
}

func explainRole(e *trace.Event, p *trace.MemberState) string {
	switch p.Role {
	case "leader":
		return fmt.Sprintf("member %s has a majority of the votes and leads term %d", p.Member, p.Term)
	case "candidate":
		if p.Stands {
			return fmt.Sprintf("member %s stands for election in term %d, and votes for itself", p.Member, p.Term)
		}
		return fmt.Sprintf("member %s asks for pre-votes for term %d: no leader has reached it for too long", p.Member, p.Term+1)
	case "follower":
		if p.Leader != "" {
			return fmt.Sprintf("member %s follows %s in term %d", p.Member, p.Leader, p.Term)
		}
		return fmt.Sprintf("member %s is a follower in term %d and knows of no leader", p.Member, p.Term)
	}
	return fmt.Sprintf("member %s is %s in term %d", p.Member, p.Role, p.Term)
}

func explainSend(e *trace.Event, p *trace.RaftMessage) string {
	switch p.RPC {
	case "AppendEntries":
		if len(p.Entries) == 0 {
			return fmt.Sprintf("%s tells %s that it still leads term %d (commit %d)", p.From, p.To, p.Term, p.Commit)
		}
		return fmt.Sprintf("%s sends %s to %s", p.From, entriesIn(p), p.To)
	case "RequestVote":
		return fmt.Sprintf("%s asks %s for its vote in term %d", p.From, p.To, p.Term)
	case "RequestPreVote":
		return fmt.Sprintf("%s asks %s whether it would get its vote in term %d, before it disturbs anybody", p.From, p.To, p.Term)
	case "TimeoutNow":
		return fmt.Sprintf("%s hands the leadership over: %s may stand for election at once", p.From, p.To)
	}
	return fmt.Sprintf("%s sends %s to %s", p.From, rpc(p), p.To)
}

func explainReply(e *trace.Event, p *trace.RaftMessage) string {
	switch p.RPC {
	case "AppendEntries", "InstallSnapshot":
		switch {
		case p.OK:
			return fmt.Sprintf("%s answers %s: I have everything up to entry %d", p.To, p.From, p.Match)
		case p.ReplyTerm > p.Term:
			return fmt.Sprintf("%s refuses %s: it is in term %d, so %s no longer leads", p.To, p.From, p.ReplyTerm, p.From)
		}
		return fmt.Sprintf("%s refuses the entries of %s: they do not follow on its log; the leader will step back", p.To, p.From)
	case "RequestVote", "RequestPreVote":
		switch {
		case p.OK && p.RPC == "RequestPreVote":
			return fmt.Sprintf("%s would give %s its vote in term %d", p.To, p.From, p.Term)
		case p.OK:
			return fmt.Sprintf("%s gives %s its vote in term %d", p.To, p.From, p.Term)
		}
		return fmt.Sprintf("%s refuses %s its vote in term %d", p.To, p.From, p.Term)
	}
	return fmt.Sprintf("%s answers %s of %s", p.To, rpc(p), p.From)
}

func explainCommit(e *trace.Event, p *trace.Commit) string {
	if len(p.Changes) == 0 {
		return fmt.Sprintf("the store is at revision %d", p.Revision)
	}
	c := p.Changes[0]
	what := orElse(c.Object.String(), c.Key)
	verb := "changed"
	switch {
	case c.Deleted:
		verb = "deleted"
	case c.CreateRevision == p.Revision || c.Version == 1:
		verb = "created"
	}
	s := fmt.Sprintf("revision %d: %s %s", p.Revision, what, verb)
	if n := len(p.Changes) - 1; n > 0 {
		s += " and " + count(n, "other key")
	}
	return s
}

func rpc(p *trace.RaftMessage) string {
	switch p.RPC {
	case "AppendEntries":
		if len(p.Entries) == 0 {
			return "a heartbeat"
		}
		return entriesIn(p)
	case "RequestVote":
		return "a request for a vote"
	case "RequestPreVote":
		return "a question about a vote"
	case "InstallSnapshot":
		return "a snapshot"
	case "TimeoutNow":
		return "the word to stand for election"
	}
	return p.RPC
}

func entriesIn(p *trace.RaftMessage) string {
	n := len(p.Entries)
	if n == 0 {
		return "a heartbeat"
	}
	return span(p.Entries[0].Index, p.Entries[n-1].Index)
}

func span(first, last uint64) string {
	if first == last || last == 0 {
		return fmt.Sprintf("entry %d", first)
	}
	return fmt.Sprintf("entries %d to %d", first, last)
}

func closed(s string) string {
	if s == "" {
		return ""
	}
	return s + ")"
}

func upper(s string) string {
	if s == "" {
		return s
	}
	if c := s[0]; c >= 'a' && c <= 'z' {
		return string(c-32) + s[1:]
	}
	return s
}

func article(s string) string {
	if s == "" {
		return "what was asked"
	}
	return "the " + s
}
