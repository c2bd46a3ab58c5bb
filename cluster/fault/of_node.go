package fault

import "kviz/cluster/trace"

var _ = of("node", append([]Row{
	{
		Name: "stop", Heals: "start", do: act(Node.Stop), Ways: ways(say("Cut its power: nothing on it runs")),
		Means: "Cut its power; it stays off until it is started.",
	},
	{
		Name: "crash", Heals: "start", do: act(Node.Crash), Ways: ways(), // a node without power does not say goodbye either
		Means: "Cut its power; it stays off until it is started.",
	},
	{Name: "start", Repairs: true, do: act(Node.Start), Ways: ways(say("Switch it on again")), Means: "Switch it on again."},
	{
		Name: "restart", As: []string{"start"}, Repairs: true, do: act(Node.Restart), Ways: ways(say("Switch it off and on: its containers start again")),
		Means: "Switch it off, and on again at once.",
	},
	{
		Name: "break-cni", Heals: "mend-cni", Ways: ways(say("Take its network plugin away: new pods get no address")),
		Means: "Take its network plugin's configuration away: no new pod gets a network, and the node is not ready.",
		do:    act(func(n Node, why []trace.ID) error { return n.NetworkPlugin(false, why) }),
	},
	{
		Name: "mend-cni", Repairs: true, Ways: ways(say("Give it its network plugin back")),
		Means: "Put its network plugin's configuration back.",
		do:    act(func(n Node, why []trace.ID) error { return n.NetworkPlugin(true, why) }),
	},
	{
		Name: "pressure", Heals: "relieve", Args: "memory|disk|pid",
		Ways:  ways(say("Make it short of memory: a taint keeps new pods away", "memory"), say("Make it short of disk", "disk"), say("Make it short of process IDs", "pid")),
		Means: "Make it short of memory, disk or process IDs, as the kubelet's eviction signals would find it: the node says so in a condition, and gets a NoSchedule taint. That the kubelet then evicts pods is not simulated.",
		do:    with(word("", "what the node is short of", "memory", "disk", "pid"), Node.Press),
	},
	{
		Name: "relieve", Repairs: true, Ways: ways(say("End its shortages")), Means: "End every shortage of it.",
		do: act(func(n Node, why []trace.ID) error { return n.Press("", why) }),
	},
	{
		Name: "flush", Passing: true, do: act(Node.Flush), Ways: ways(say("Empty its iptables, as iptables -F does")),
		Means: "Empty its iptables, as iptables -F does; kube-proxy notices within 30 s and writes them again.",
	},
	{
		Name: "cut", Heals: "heal", do: act(Node.Cut), Ways: ways(say("Cut its network: nobody reaches it, it reaches nobody")),
		Means: "Cut it off from the API server and from the other nodes.",
	},
	{Name: "heal", As: []string{"fast"}, Repairs: true, do: act(Node.Heal), Ways: ways(say("Mend its network")), Means: "Mend its network."},
}, slowRows("request", "Have each request over its link to the API server take so much longer.", "500ms",
	say("Slow its network: 500 ms more a request", "500ms"), ask("Slow its network by …", "how much longer each request takes, such as 2s"), say("Make its network as fast as it was"))...)...)

var _ = of(
	"runtime",
	Row{
		Name: "stop", Heals: "start", Ways: ways(say("Stop it: the kubelet's calls fail")),
		Means: "Stop it: containers run on, and the kubelet's calls fail until it is started.",
		do:    act(func(r Runtime, why []trace.ID) error { return r.Run(false, why) }),
	},
	Row{
		Name: "start", Repairs: true, Ways: ways(say("Start it again")), Means: "Start it again.",
		do: act(func(r Runtime, why []trace.ID) error { return r.Run(true, why) }),
	},
)
