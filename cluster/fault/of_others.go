package fault

import (
	"strings"

	"kviz/cluster/control"
	"kviz/cluster/trace"
)

// Faults of watches, queues and what stands around the cluster.
var (
	_ = of("watch", append([]Row{
		{
			Name: "stall", Heals: "heal", do: act(Watch.Stall), Ways: ways(say("Tell it nothing more: it falls behind the store")),
			Means: "Have the store tell the API server nothing more of this kind of object: its watch falls behind, and is cancelled if what it has missed is compacted meanwhile.",
		},
		{
			Name: "heal", As: []string{"fast"}, Repairs: true, do: act(Watch.Heal), Ways: ways(say("Tell it what it has missed, and all that comes")),
			Means: "Tell the API server what it has missed, and all that comes.",
		},
		{
			Name: "cut", Heals: "heal", Passing: true, do: act(Watch.Cut), Ways: ways(say("Break its connection: it is opened again where it was")),
			Means: "Break its connection once; it is opened again where it was, and nothing is lost.",
		},
	}, slowRows("revision", "Have each revision take so much longer on its way to the API server.", "2s",
		say("Tell it a revision every 2 s at most", "2s"), ask("Tell it a revision every …", "how much longer each revision takes, such as 500ms"), say("Tell it everything at once, as before"))...)...)

	_ = of("informer", append([]Row{
		{
			Name: "stall", Heals: "heal", do: act(Informer.Stall), Ways: ways(say("Tell it nothing more: its cache falls behind")),
			Means: "Let this client's events wait at the API server: its cache falls behind.",
		},
		{
			Name: "heal", As: []string{"fast", "release"}, Repairs: true, do: act(Informer.Heal), Ways: ways(say("Tell it what it has missed, and all that comes")),
			Means: "Tell the client what it has missed, and all that comes.",
		},
		{
			Name: "cut", Heals: "heal", Passing: true, do: act(Informer.Cut), Ways: ways(say("Break its connection: it watches again from where it was")),
			Means: "Break its connection once; the client watches again from where it was, and nothing is lost.",
		},
		{
			Name: "hold", Heals: "release", Knob: true, Args: "[OBJECT]", do: with(object, Informer.Hold), Ways: ways(say("Hold the next event, and what comes behind it")),
			Means: "Hold one event, the oldest that waits or the next one (of OBJECT, such as demo/web), and what comes behind it: the client's cache stays as it was.",
		},
		{
			Name: "release", Repairs: true, do: release, Ways: ways(say("Let the event that is held go")),
			Means: "Let the event that is held go, and what is behind it. Of a watch that is stalled or slow: one event, the oldest.",
		},
		{
			Name: "drop", Heals: "heal", As: []string{"release"}, Knob: true, Args: "[OBJECT]", do: with(object, Informer.Lose),
			Ways:  ways(say("Lose one event: its cache is wrong until it lists again")),
			Means: "Lose one event, the oldest that waits or the next one (of OBJECT): the client's cache is wrong until the object changes again or the client lists again.",
		},
		{
			Name: "delay", Heals: "heal", As: []string{"release"}, Knob: true, Args: "[OBJECT]", do: with(object, Informer.Delay),
			Ways:  ways(say("Have one event arrive behind the one after it")),
			Means: "Have one event, the oldest that waits or the next one (of OBJECT), arrive behind the one that comes after it. No real connection does that; the cache goes back in time where both are of one object.",
		},
	}, slowRows("event", "Have each event take so much longer on its way to the client.", "2s",
		say("Tell it an event every 2 s at most", "2s"), ask("Tell it an event every …", "how much longer each event takes, such as 500ms"), say("Tell it everything at once, as before"))...)...)

	_ = of("queue", slowRows("run", "Have each run of this controller take so much longer.", "200ms",
		say("Have its runs take 200 ms longer", "200ms"), ask("Have its runs take longer by …", "how much longer each run takes, such as 1.5s"), say("Let its runs be as short as they were"))...)

	_ = of(
		"registry",
		Row{
			Name: "stop", Heals: "start", Ways: ways(say("Make it unreachable: no image can be pulled")), Means: "Make it unreachable: every pull times out.",
			do: act(func(r Registry, why []trace.ID) error { return r.Reachable(false, why) }),
		},
		Row{
			Name: "start", Repairs: true, Ways: ways(say("Make it reachable again")), Means: "Make it reachable again.",
			do: act(func(r Registry, why []trace.ID) error { return r.Reachable(true, why) }),
		},
		Row{
			Name: "slow", Heals: "fast", Knob: true, Args: "FACTOR", do: with(factor, Registry.Slower), Means: "Have each pull take this many times as long.",
			Ways: ways(say("Make it ten times slower", "10"), ask("Make it slower by …", "how many times slower, such as 25")),
		},
		Row{
			Name: "fast", Repairs: true, Ways: ways(say("Make it as fast as it was")), Means: "Undo slow.",
			do: act(func(r Registry, why []trace.ID) error { return r.Slower(1, why) }),
		},
	)

	_ = of("cloud", append([]Row{
		{
			Name: "stop", Heals: "start", Ways: ways(say("Have its API fail: no load balancer is made or changed")),
			Means: "Have its API answer 503 to every call: no load balancer is made, changed or deleted. Those that are there go on.",
			do:    act(func(c Cloud, why []trace.ID) error { return c.Reachable(false, why) }),
		},
		{
			Name: "start", Repairs: true, Ways: ways(say("Have its API answer again")), Means: "Have its API answer again; what has failed is tried again after its back-off.",
			do: act(func(c Cloud, why []trace.ID) error { return c.Reachable(true, why) }),
		},
		{
			Name: "fill", Heals: "free", Ways: ways(say("Fill its table of routes: no route to a node's pods can be made")),
			Means: "Use up the quota of its table of routes (--cloud-provider external): no new route to a node's pods can be made. Those that are there stay.",
			do:    act(func(c Cloud, why []trace.ID) error { return c.Full(true, why) }),
		},
		{
			Name: "free", Repairs: true, Ways: ways(say("Make room in its table of routes")), Means: "Raise the quota of its table of routes again.",
			do: act(func(c Cloud, why []trace.ID) error { return c.Full(false, why) }),
		},
	}, slowRows("call", "Have each call to its API take so much longer.", "1m",
		say("Make it slow: a minute more a call", "1m"), ask("Make it slow by …", "how much longer each call takes, such as 30s"), say("Make it as fast as it was"))...)...)

	_ = of(
		"instance",
		Row{
			Name: "shut-down", Heals: "start", do: there(Instance.ShutDown), Ways: ways(say("Shut it down in the cloud: the node stays, with a taint")),
			Means: "Shut the machine down through the cloud's API: nothing on it runs, and the instance is still there. The node gets the taint node.cloudprovider.kubernetes.io/shutdown once it is not Ready.",
		},
		Row{Name: "start", Repairs: true, do: there(Instance.Start), Ways: ways(say("Start it again")), Means: "Start an instance that is shut down."},
		Row{
			Name: "delete", Heals: "recreate", do: there(Instance.Delete), Ways: ways(say("Delete it in the cloud: the node goes, too")),
			Means: "Delete the machine through the cloud's API, with its disk. The node is deleted once it is not Ready.",
		},
		Row{
			Name: "recreate", As: []string{"start"}, Repairs: true, do: act(Instance.Recreate), Ways: ways(say("Make a new instance of its name, with an empty disk")),
			Means: "Make a new instance of its name, with an empty disk: its kubelet registers the node again. One that is there is deleted first.",
		},
	)

	_ = of("pod", Row{
		Name: "crash", Passing: true, Args: "[CONTAINER]", do: crashPod, Ways: ways(say("Kill its container: the kubelet starts it again")),
		Means: "Kill its containers, or the one named, without warning; its kubelet starts them again.",
	})

	_ = of(
		"audit",
		Row{
			Name: "fill", Heals: "free", Ways: ways(say("Fill the disk of the audit log: requests go on, unrecorded")),
			Means: "Fill the disk of the audit log: requests go on, and are not on record.",
			do:    act(func(d Disk, why []trace.ID) error { return d.Full(true, why) }),
		},
		Row{
			Name: "free", Repairs: true, Ways: ways(say("Make room on it again")), Means: "Make room on its disk.",
			do: act(func(d Disk, why []trace.ID) error { return d.Full(false, why) }),
		},
	)

	_ = of(
		"certificate",
		Row{
			Name: "expire", Heals: "renew", do: act(Credential.Expire), Ways: ways(say("Let it expire: a client that shows it is Unauthorized")),
			Means: "Let the time of a user's client certificates be over, as if nobody had renewed them: the API server answers Unauthorized. What is issued from now on is good.",
		},
		Row{Name: "renew", Repairs: true, do: act(Credential.Renew), Ways: ways(say("Renew it")), Means: "Undo expire."},
	)

	_ = of(
		"token",
		Row{
			Name: "expire", Heals: "renew", do: act(Credential.Expire), Ways: ways(say("Let earlier tokens expire: a client that shows one is Unauthorized")),
			Means: "Let the time of a service account's tokens be over: the API server answers Unauthorized. What is issued from now on is good.",
		},
		Row{Name: "renew", Repairs: true, do: act(Credential.Renew), Ways: ways(say("Let them be good again")), Means: "Undo expire."},
	)
)

// object is the object whose event is meant, or "" for any.
func object(f control.Fault) (string, error) { return strings.Join(f.Args, ""), nil }

// release is refused where nothing waits.
func release(target any, f control.Fault) (Act, error) {
	i := target.(Informer)
	if err := i.Waits(); err != nil {
		return nil, err
	}
	return i.Release, nil
}

func crashPod(target any, f control.Fault) (Act, error) {
	p, container := target.(Pod), ""
	if len(f.Args) > 0 {
		container = f.Args[0]
	}
	if err := p.Runs(container); err != nil {
		return nil, err
	}
	return func(why []trace.ID) error { return p.Crash(container, why) }, nil
}

// there is a fault of an instance that has not been deleted.
func there(do func(Instance, []trace.ID) error) func(any, control.Fault) (Act, error) {
	return func(target any, f control.Fault) (Act, error) {
		if err := target.(Instance).Exists(); err != nil {
			return nil, err
		}
		return act(do)(target, f)
	}
}
