package fault

import (
	"kviz/cluster/control"
	"kviz/cluster/trace"
)

// Faults of one member of the store.
var _ = of("member", append([]Row{
	{
		Name: "stop", Heals: "start", do: act(Process.Stop), Ways: ways(say("Stop it in an orderly way")),
		Means: "Stop it in an orderly way; it stays down until it is started.",
	},
	{
		Name: "crash", Heals: "start", do: act(Process.Crash), Ways: ways(say(killed)),
		Means: "Kill it without warning; it stays down until it is started.",
	},
	{Name: "start", Repairs: true, do: act(Process.Start), Ways: ways(say("Start it again")), Means: "Start what was stopped or has crashed."},
	{Name: "restart", As: []string{"start"}, Repairs: true, do: act(Process.Restart), Ways: ways(say("Stop it and start it at once")), Means: "Stop it and start it again at once."},
	{Name: "lead", Repairs: true, do: act(Membership.Lead), Ways: ways(say("Make it the leader")), Means: "Hand the leadership to it."},
	{
		Name: "cut", Heals: "heal", Args: "[MEMBER…]", do: withPeers(Links.Cut),
		Ways:  ways(say("Cut it off from all other members"), peer("Cut it off from member %s only", "Cut it: nothing passes, neither way")),
		Means: "Cut it off from the other members, or from those named.",
	},
	{
		Name: "heal", As: []string{"fast", "free"}, Repairs: true, Links: true, Args: "[MEMBER…]", do: heal,
		Ways:  ways(say("Mend its links and its disk"), peer("Mend the link with member %s only", "Mend this link only")),
		Means: "Mend every link of it, and its disk; or only its links with the members named.",
	},
	{
		Name: "delay", Heals: "heal", Args: "PEER DURATION", do: onLink(duration, "30ms", Links.Delay),
		Ways:  ways(peer("Delay messages with member %s by 100 ms", "Delay every message on it by 100 ms", "100ms")),
		Means: "Delay every message between it and another member.",
	},
	{
		Name: "drop", Heals: "heal", Args: "PEER FRACTION", do: onLink(fraction, "0.3", Links.Drop),
		Ways:  ways(peer("Lose three in ten messages with member %s", "Lose three in ten messages on it", "0.3")),
		Means: "Lose this fraction of the messages between it and another member.",
	},
	{
		Name: "fill", Heals: "free", do: act(MemberDisk.Fill), Ways: ways(say("Fill its disk: it can write nothing more")),
		Means: "Fill its disk: it can write nothing more.",
	},
	{
		Name: "free", Repairs: true, do: act(MemberDisk.Free), Ways: ways(say("Make room on its disk")),
		Means: "Make room on its disk. If it has stopped because of it, it comes back by itself.",
	},
	{
		Name: "power-cut", Heals: "start", do: act(MemberDisk.PowerCut), Ways: ways(say("Cut its power: it loses also what it had not yet synced")),
		Means: "Take its machine's power: unlike a crash it loses also what it had written and not yet synced.",
	},
	{
		Name: "mute", Heals: "heal", Args: "[MEMBER…]", do: withPeers(Links.Mute),
		Ways:  ways(say("Lose what it sends: it still receives"), peer("Lose what it sends to member %s", "Lose what %[1]s sends to %[2]s: a cut one way")),
		Means: "Lose what it sends to the other members (or to those named); it still receives what they send: a cut one way.",
	},
	{
		Name: "deafen", Heals: "heal", Args: "[MEMBER…]", do: withPeers(Links.Deafen),
		Ways:  ways(say("Lose what is sent to it: it still sends"), peer("Lose what member %s sends to it", "Lose what %[2]s sends to %[1]s: a cut one way")),
		Means: "Lose what the other members (or those named) send to it; they still receive what it sends: a cut the other way.",
	},
	{
		Name: "duplicate", Heals: "heal", Args: "PEER FRACTION", do: onLink(fraction, "0.3", Links.Duplicate),
		Ways:  ways(peer("Deliver three in ten messages with member %s twice", "Deliver three in ten messages on it twice", "0.3")),
		Means: "Deliver this fraction of the messages between it and another member twice.",
	},
	{
		Name: "reorder", Heals: "heal", Args: "PEER FRACTION", do: onLink(fraction, "0.3", Links.Reorder),
		Ways:  ways(peer("Let three in ten messages with member %s be overtaken", "Let three in ten messages on it be overtaken", "0.3")),
		Means: "Let this fraction of the messages between it and another member be overtaken by later ones.",
	},
	{
		Name: "corrupt", Args: "[meta|metas|truncate|middle|flip|empty]",
		Ways: ways(say("Flip bits in its log file", "flip"), say("Damage its log file in a way that bbolt does not notice", "meta"),
			ask("Damage its log file by …", "meta, metas, truncate, middle, flip or empty")),
		Means: "Damage the log file of a member that is down; it must find that out before it votes again. It comes back with rejoin.",
		do:    corrupt,
	},
	{
		Name: "wipe", do: act(MemberDisk.Wipe), Ways: ways(say("Lose its disk: it cannot come back under its name")),
		Means: "Lose its disk. It cannot come back under its name, because it has forgotten its votes: rejoin replaces it.",
	},
	{
		Name: "rejoin", Replaces: true, Repairs: true, Remedy: true, Async: true, do: act(Membership.Rejoin), Ways: ways(say("Replace it by a new member that catches up")),
		Means: "Replace it by a new, empty member: member remove, member add as a learner, promote when it has caught up.",
	},
	{
		Name: "recover", Repairs: true, Remedy: true, Async: true, do: act(Membership.Recover), Ways: ways(say("Go on from its data alone: the quorum is lost for good")),
		Means: "The quorum is lost for good: go on from this one member's data alone, as etcd --force-new-cluster. What only others had is lost.",
	},
	{Name: "promote", Repairs: true, Async: true, do: act(Membership.Promote), Ways: ways(say("Give it a vote")), Means: "Give a learner its vote, as soon as it has caught up."},
	{
		Name: "remove", Replaces: true, Passing: true, Async: true, do: act(Membership.Remove), Ways: ways(say("Take it out of the group for good")),
		Means: "Take it out of the group for good: one that joins later is a new member with an ID of its own. etcd lets it have the old name; kviz tells members apart by their names and gives it the next.",
	},
	{
		Name: "snapshot", Repairs: true, Async: true, do: act(Upkeep.Snapshot), Ways: ways(say("Have it write a snapshot and cut its log off behind it")),
		Means: "Have it write a snapshot and cut its log off behind it: a member that lags further gets the snapshot installed.",
	},
	{
		Name: "defrag", Repairs: true, Async: true, do: act(Upkeep.Defragment), Ways: ways(say("Defragment its database: it answers nobody meanwhile")),
		Means: "Rewrite its database without the holes that compaction left. It answers nobody meanwhile.",
	},
}, slowRows("write", "Have each write to its disk take so much longer.", "400ms",
	say("Slow its disk: 400 ms more a write", "400ms"), ask("Slow its disk by …", "how much longer each write takes, such as 2s"), say("Make its disk as fast as it was"))...)...)

// heal mends the links with those that are named, else all of a member.
func heal(target any, f control.Fault) (Act, error) {
	if len(f.Args) > 0 {
		return withPeers(Links.Mend)(target, f)
	}
	return act(Healer.Heal)(target, f)
}

func corrupt(target any, f control.Fault) (Act, error) {
	m := target.(MemberDisk)
	how, err := word(m.Damages()[0], "damage", m.Damages()...)(f)
	if err != nil {
		return nil, err
	}
	return func(why []trace.ID) error { return m.Corrupt(how, why) }, nil
}
