package view

import (
	"fmt"

	"kviz/cluster/trace"
)

func init() {
	say(trace.MemberJoined, func(e *trace.Event, p *trace.Membership) string {
		if p.Learner {
			return fmt.Sprintf("member %s joined as a learner: it gets the log and has no vote, so the quorum stays %d of %d", p.Member, p.Voters/2+1, p.Voters)
		}
		return fmt.Sprintf("member %s joined as a voter: the quorum is %d of %d now", p.Member, p.Voters/2+1, p.Voters)
	})
	say(trace.MemberPromoted, func(e *trace.Event, p *trace.Membership) string {
		return fmt.Sprintf("learner %s is a voter now: the quorum is %d of %d", p.Member, p.Voters/2+1, p.Voters)
	})
	say(trace.MemberLeft, func(e *trace.Event, p *trace.Membership) string {
		return fmt.Sprintf("member %s was removed: the quorum is %d of %d now", p.Member, p.Voters/2+1, p.Voters)
	})
	say(trace.RaftForward, func(e *trace.Event, p *trace.RaftMessage) string {
		return fmt.Sprintf("%s does not lead: it passes a client's request on to %s%s", p.From, p.To, tail(": ", p.Error))
	})
	say(trace.RaftRead, func(e *trace.Event, p *trace.ReadRound) string {
		if p.Error != "" {
			return fmt.Sprintf("%s cannot prove that it still leads, so %s: %s", p.Member, waits(p.Reads), p.Error)
		}
		return fmt.Sprintf("a quorum says that %s still leads term %d: %s may be answered as of entry %d", p.Member, p.Term, count(p.Reads, "linearizable read"), p.Index)
	})
	say(trace.MemberRead, func(e *trace.Event, p *trace.MemberAnswer) string {
		how := "linearizable, after asking a quorum"
		if p.Serializable {
			how = "serializable, from what it has"
		}
		if p.Asked > 0 {
			how += fmt.Sprintf("; asked for revision %d", p.Asked)
		}
		switch {
		case p.Error != "":
			return fmt.Sprintf("member %s does not answer a read of %s (%s): %s", p.Member, p.Key, how, p.Error)
		case p.ModRevision == 0:
			return fmt.Sprintf("member %s says there is no %s at revision %d (%s)", p.Member, p.Key, p.Revision, how)
		}
		return fmt.Sprintf("member %s reads %s as of revision %d: written at revision %d (%s)", p.Member, p.Key, p.Revision, p.ModRevision, how)
	})
	say(trace.MemberServed, func(e *trace.Event, p *trace.MemberEndpoint) string {
		s := fmt.Sprintf("etcd's clients find member %s at %s", p.Member, p.Client)
		switch {
		case p.Open:
			s += ", and on this machine at " + p.Listener
		case p.Listener != "":
			s += "; " + p.Listener + " is closed while it is down"
		}
		return s
	})
	say(trace.MemberRoom, func(e *trace.Event, p *trace.DiskRoom) string {
		if !p.Full {
			return fmt.Sprintf("the disk of member %s has room again", p.Member)
		}
		return fmt.Sprintf("the disk of member %s is full (%s): it acknowledges nothing until there is room", p.Member, p.Error)
	})
	say(trace.MemberDefrag, func(e *trace.Event, p *trace.Defrag) string {
		switch {
		case p.Error != "":
			return fmt.Sprintf("member %s could not defragment its database: %s", p.Member, p.Error)
		case p.Done:
			return fmt.Sprintf("member %s has defragmented its database: %s before, %s now", p.Member, size(p.Before), size(p.After))
		}
		return fmt.Sprintf("member %s rewrites its database of %s without the holes; it answers nobody meanwhile", p.Member, size(p.Before))
	})
	say(trace.MemberBackup, func(e *trace.Event, p *trace.Backup) string {
		return fmt.Sprintf("member %s wrote a snapshot file of %s: the state at revision %d", p.Member, size(p.Size), p.Revision)
	})
	say(trace.StoreRestored, func(e *trace.Event, p *trace.Restore) string {
		if p.Survivor != "" {
			s := fmt.Sprintf("the store goes on from what member %s has, alone, at revision %d", p.Survivor, p.Revision)
			if p.Shown > p.Revision {
				s += fmt.Sprintf(": %s up to %d that had been shown are lost, and their numbers are given again", count(int(p.Shown-p.Revision), "revision"), p.Shown)
			}
			return s
		}
		s := fmt.Sprintf("every member has a new disk with a snapshot of revision %d: another cluster, ID %x", p.Revision, p.ClusterID)
		if p.Bumped > 0 {
			s += fmt.Sprintf("; revisions go on %d higher, so that none is given twice", p.Bumped)
		}
		return s
	})
	say(trace.StoreUnmet, explainUnmet)
	say(trace.EtcdRequest, func(e *trace.Event, p *trace.EtcdCall) string {
		return fmt.Sprintf("a client asks the store itself, at member %s: %s%s%s", p.Member, p.Method, tail(" of ", p.Key), tail(", and nobody answers: ", p.Error))
	})
	say(trace.LeaseGranted, func(e *trace.Event, p *trace.StoreLease) string {
		return fmt.Sprintf("the store granted lease %x for %s%s", p.ID, p.TTL, tail(", for ", p.For))
	})
	say(trace.LeaseRenewed, func(e *trace.Event, p *trace.StoreLease) string {
		return fmt.Sprintf("lease %x is kept alive: it has %s again", p.ID, p.TTL)
	})
	say(trace.LeaseExpired, func(e *trace.Event, p *trace.StoreLease) string {
		return fmt.Sprintf("lease %x ran out after %s: %s", p.ID, p.TTL, withLease(p))
	})
	say(trace.LeaseRevoked, func(e *trace.Event, p *trace.StoreLease) string {
		return fmt.Sprintf("lease %x was revoked: %s", p.ID, withLease(p))
	})
	say(trace.AlarmRaised, func(e *trace.Event, p *trace.Alarm) string {
		what := ""
		if p.Alarm == "NOSPACE" {
			what = ": its database is over the quota; nothing more is written until it is compacted, defragmented and disarmed"
		}
		return fmt.Sprintf("alarm %s%s%s", p.Alarm, tail(" of member ", p.Member), what)
	})
	say(trace.AlarmCleared, func(e *trace.Event, p *trace.Alarm) string {
		return fmt.Sprintf("alarm %s%s is disarmed", p.Alarm, tail(" of member ", p.Member))
	})
	say(trace.StoreWatchOpened, func(e *trace.Event, p *trace.StoreWatch) string {
		return fmt.Sprintf("%s watches %s at the store from revision %d on", orElse(p.Client, "a client"), p.Prefix, p.Revision)
	})
	say(trace.StoreEndpoint, func(e *trace.Event, p *trace.Endpoint) string {
		if p.To == "" {
			return fmt.Sprintf("the etcd client of %s asks the store as a whole: %s", p.Client, p.Reason)
		}
		return fmt.Sprintf("the etcd client of %s goes to member %s%s: %s", p.Client, p.To, tail(", after ", p.From), p.Reason)
	})
	say(trace.StoreWatchClosed, func(e *trace.Event, p *trace.StoreWatch) string {
		s := fmt.Sprintf("the watch of %s on %s at the store ended%s", orElse(p.Client, "a client"), p.Prefix, tail(": ", p.Reason))
		if p.Compacted > 0 {
			s += fmt.Sprintf(" (its next revision was %d, and history begins at %d)", p.Next, p.Compacted)
		}
		return s
	})
	say(trace.StoreWatchLag, func(e *trace.Event, p *trace.StoreWatch) string {
		if p.Lag == 0 {
			return fmt.Sprintf("the watch of %s on %s has caught up with the store", orElse(p.Client, "a client"), p.Prefix)
		}
		return fmt.Sprintf("the watch of %s on %s is %s behind the store; %s wait for it, from revision %d on", orElse(p.Client, "a client"), p.Prefix, count(int(p.Lag), "revision"), count(p.Waiting, "event"), p.Next)
	})
}

func waits(n int) string {
	if n == 1 {
		return "a linearizable read waits"
	}
	return fmt.Sprintf("%d linearizable reads wait", n)
}

func withLease(p *trace.StoreLease) string {
	switch n := len(p.Keys); n {
	case 0:
		return "no key was attached to it"
	case 1:
		return p.Keys[0] + " goes with it"
	default:
		return fmt.Sprintf("%d keys go with it", n)
	}
}

func explainUnmet(e *trace.Event, p *trace.Txn) string {
	if len(p.If) == 0 {
		return "the comparison of a transaction did not hold, and nothing was written"
	}
	c := p.If[0]
	found := ""
	if c.Found != "" {
		found = ", and it is " + c.Found
	}
	if c.Target == "mod" && c.Want == "0" {
		return fmt.Sprintf("nothing is written: the transaction wanted that there is no %s%s", c.Key, tail(", and it was written at revision ", c.Found))
	}
	return fmt.Sprintf("nothing is written: the transaction wanted %s of %s %s %s%s", compared(c.Target), c.Key, c.Op, c.Want, found)
}

func compared(s string) string {
	switch s {
	case "mod":
		return "the mod revision"
	case "create":
		return "the create revision"
	case "":
		return "something"
	}
	return "the " + s
}

// size is a number of bytes for a sentence.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
