package fault

import (
	"fmt"
	"strconv"

	"kviz/cluster/control"
	"kviz/cluster/trace"
)

// group is a fault that only a store with members has.
func group(do func(any, control.Fault) (Act, error)) func(any, control.Fault) (Act, error) {
	return func(target any, f control.Fault) (Act, error) {
		if err := target.(Members).Raft(); err != nil {
			return nil, err
		}
		return do(target, f)
	}
}

// Faults of the store as a whole.
var _ = of(
	"store",
	Row{
		Name: "slow-elections", Knob: true, Heals: "fast-elections", Args: "FACTOR", do: group(with(wholeFactor, Group.SlowElections)),
		Ways:  ways(say("Watch elections ten times slower", "10"), ask("Watch elections slower by …", "how many times slower, such as 30")),
		Means: "Watch elections in slow motion: heartbeats and election timeouts take this many times as long.",
	},
	Row{
		Name: "stop", Heals: "start", Members: true, do: group(act(Members.Stop)), Ways: ways(say("Stop every member")),
		Means: "Stop every member in an orderly way.",
	},
	Row{Name: "crash", Heals: "start", Members: true, do: group(act(Members.Crash)), Ways: ways(say("Crash every member")), Means: "Kill every member without warning."},
	Row{Name: "start", Repairs: true, Members: true, do: group(act(Members.Start)), Ways: ways(say("Start every member that is down")), Means: "Start every member that is down."},
	Row{Name: "heal", Repairs: true, Members: true, do: group(act(Members.Heal)), Ways: ways(say("Mend every link and every disk")), Means: "Mend every link and every disk of the members."},
	Row{
		Name: "partition", Heals: "heal", Args: "MEMBER,MEMBER… [MEMBER,MEMBER…]", do: group(partition),
		Ways:  ways(ask("Cut the members into groups …", "groups of members, such as a,b or a,b c")),
		Means: "Cut the members into groups that do not reach one another; members that are not named are a group of their own.",
	},
	Row{
		Name: "split-vote", Passing: true, Async: true, do: group(act(Group.SplitVote)), Ways: ways(say("Let the next election have no winner")),
		Means: "Let the next election end without a winner: as many candidates at once as it takes.",
	},
	Row{
		Name: "fast-elections", Repairs: true, Ways: ways(say("Let elections be as fast as they were")), Means: "Undo slow-elections.",
		do: group(act(func(s Group, why []trace.ID) error { return s.SlowElections(1, why) })),
	},
	Row{
		Name: "add-learner", Repairs: true, Async: true, Ways: ways(say("Add a member as a learner, without a vote")),
		Means: "Add an empty member that gets the log and has no vote.",
		do:    group(act(func(s Group, why []trace.ID) error { return s.AddMember(true, why) })),
	},
	Row{
		Name: "add-voter", Repairs: true, Async: true, Ways: ways(say("Add a member that votes at once")),
		Means: "Add an empty member that has a vote at once: the quorum may grow before it has caught up.",
		do:    group(act(func(s Group, why []trace.ID) error { return s.AddMember(false, why) })),
	},
	Row{
		Name: "compact", Repairs: true, Async: true, Args: "[REVISION]", do: compact,
		Ways:  ways(say("Throw the history before now away"), ask("Throw the history away before …", "a revision")),
		Means: "Throw away the history before the newest revision, or before the one named: older reads and watches fail from then on.",
	},
	Row{
		Name: "defrag", Repairs: true, Async: true, do: act(Database.Defragment), Ways: ways(say("Defragment one member after another")),
		Means: "Rewrite the members' databases, one after another, without the holes that compaction left.",
	},
	Row{
		Name: "quota", Passing: true, Args: "SIZE", do: with(size, Database.Quota),
		Ways: ways(say("Give the database room for 4 MiB only", "4MiB"), say("Give the database the usual 2 GiB", "2GiB"),
			ask("Give the database room for …", "a size, such as 500KiB")),
		Means: "Set how big a member's database may grow before the NOSPACE alarm (etcd --quota-backend-bytes; 2GiB unless set).",
	},
	Row{
		Name: "disarm", Repairs: true, Remedy: true, Async: true, do: act(Database.Disarm), Ways: ways(say("Clear the alarms")),
		Means: "Clear every alarm, as etcdctl alarm disarm. It comes back if what raised it is not mended.",
	},
	Row{
		Name: "wipe", Passing: true, Async: true, do: group(act(Database.Wipe)), Ways: ways(say("Lose every disk: a new, empty store begins")),
		Means: "Lose every disk, and begin an empty store. A backup brings it back (kviz restore); without one, reinstall makes a new cluster of it.",
	},
	Row{
		Name: "reinstall", Repairs: true, Remedy: true, Async: true, do: act(Database.Reinstall), Ways: ways(say("Install the add-ons again, and have the nodes register")),
		Means: "After the store was wiped: apply kubeadm's add-ons again (the rights of CoreDNS) and restart DNS, kube-proxies and kubelets, so that nodes register with the empty API. Containers that it knows nothing of end then.",
	},
)

func partition(target any, f control.Fault) (Act, error) {
	s := target.(Group)
	groups, err := s.Groups(f.Args)
	if err != nil {
		return nil, err
	}
	return func(why []trace.ID) error { return s.Partition(groups, why) }, nil
}

func compact(target any, f control.Fault) (Act, error) {
	s := target.(Database)
	revision := s.Revision()
	if len(f.Args) > 0 {
		n, err := strconv.ParseInt(f.Args[0], 10, 64)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no revision: want a number from 1 to %d", f.Args[0], revision)
		}
		revision = n
	}
	return func(why []trace.ID) error { return s.Compact(revision, why) }, nil
}
