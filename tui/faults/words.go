package faults

import "strings"

// way is one thing that can be done to a target, as a plain sentence.
type way struct {
	say  string
	args []string
	ask  string // what still has to be typed; "" for nothing
	peer bool   // one for each other member: "%s" in say is its name, and it is the first argument
}

// ways are the sentences of each fault for each kind of target. A fault that
// stands here with none does the same as another one and is left out.
var ways = map[string]map[string][]way{
	"member": {
		"stop":    {{say: "Stop it in an orderly way"}},
		"crash":   {{say: "Crash it, as kill -9 does"}},
		"start":   {{say: "Start it again"}},
		"restart": {{say: "Stop it and start it at once"}},
		"lead":    {{say: "Make it the leader"}},
		"cut":     {{say: "Cut it off from all other members"}, {say: "Cut it off from member %s only", peer: true}},
		"heal":    {{say: "Mend its links and its disk"}},
		"slow":    {{say: "Slow its disk: 400 ms more a write", args: []string{"400ms"}}, {say: "Slow its disk by …", ask: "how much longer each write takes, such as 2s"}},
		"fast":    {{say: "Make its disk as fast as it was"}},
		"delay":   {{say: "Delay messages with member %s by 100 ms", args: []string{"100ms"}, peer: true}},
		"drop":    {{say: "Lose three in ten messages with member %s", args: []string{"0.3"}, peer: true}},
		"fill":    {{say: "Fill its disk: it can write nothing more"}},
		"free":    {{say: "Make room on its disk"}},

		"power-cut": {{say: "Cut its power: it loses also what it had not yet synced"}},
		"mute":      {{say: "Lose what it sends: it hears the others, they do not hear it"}, {say: "Lose what it sends to member %s", peer: true}},
		"deafen":    {{say: "Lose what is sent to it: they hear it, it does not hear them"}, {say: "Lose what member %s sends to it", peer: true}},
		"duplicate": {{say: "Deliver three in ten messages with member %s twice", args: []string{"0.3"}, peer: true}},
		"reorder":   {{say: "Let three in ten messages with member %s be overtaken", args: []string{"0.3"}, peer: true}},
		"corrupt":   {{say: "Flip bits in its log file", args: []string{"flip"}}, {say: "Damage its log file in a way that bbolt does not notice", args: []string{"meta"}}, {say: "Damage its log file by …", ask: "meta, metas, truncate, middle, flip or empty"}},
		"wipe":      {{say: "Lose its disk: it cannot come back under its name"}},
		"rejoin":    {{say: "Replace it by a new member that catches up"}},
		"recover":   {{say: "Go on from its data alone: the quorum is lost for good"}},
		"promote":   {{say: "Give it a vote"}},
		"remove":    {{say: "Take it out of the group for good"}},
		"snapshot":  {{say: "Have it write a snapshot and cut its log off behind it"}},
		"defrag":    {{say: "Defragment its database: it serves no requests meanwhile"}},
	},
	"store": {
		"stop":           {{say: "Stop every member"}},
		"crash":          {{say: "Crash every member"}},
		"start":          {{say: "Start every member that is down"}},
		"heal":           {{say: "Mend every link and every disk"}},
		"partition":      {{say: "Cut the members into groups …", ask: "groups of members, such as a,b or a,b c"}},
		"split-vote":     {{say: "Let the next election have no winner"}},
		"slow-elections": {{say: "Watch elections ten times slower", args: []string{"10"}}, {say: "Watch elections slower by …", ask: "how many times slower, such as 30"}},
		"fast-elections": {{say: "Let elections be as fast as they were"}},
		"add-learner":    {{say: "Add a member as a learner, without a vote"}},
		"add-voter":      {{say: "Add a member that votes at once"}},
		"compact":        {{say: "Compact: discard the history before now"}, {say: "Compact: discard the history before …", ask: "a revision"}},
		"defrag":         {{say: "Defragment one member after another"}},
		"quota":          {{say: "Give the database room for 4 MiB only", args: []string{"4MiB"}}, {say: "Give the database the usual 2 GiB", args: []string{"2GiB"}}, {say: "Give the database room for …", ask: "a size, such as 500KiB"}},
		"disarm":         {{say: "Clear the alarms"}},
		"wipe":           {{say: "Lose every disk: a new, empty store begins"}},
		"reinstall":      {{say: "Install the add-ons again, and have the nodes register"}},
	},
	"node": {
		"stop":      {{say: "Cut its power: nothing on it runs"}},
		"crash":     {}, // a node without power does not say goodbye either
		"start":     {{say: "Switch it on again"}},
		"restart":   {{say: "Switch it off and on: its containers start anew"}},
		"break-cni": {{say: "Take its network plugin away: new pods get no address"}},
		"mend-cni":  {{say: "Give it its network plugin back"}},
		"pressure": {
			{say: "Make it short of memory: its kubelet evicts pods", args: []string{"memory"}},
			{say: "Make it short of disk", args: []string{"disk"}},
			{say: "Make it short of process IDs", args: []string{"pid"}},
		},
		"relieve": {{say: "End its shortages"}},
		"flush":   {{say: "Empty its iptables, as iptables -F does"}},
		"cut":     {{say: "Cut its network: nothing gets in or out"}},
		"heal":    {{say: "Mend its network"}},
		"slow":    {{say: "Slow its network: 500 ms more a request", args: []string{"500ms"}}, {say: "Slow its network by …", ask: "how much longer each request takes, such as 2s"}},
		"fast":    {{say: "Make its network as fast as it was"}},
	},
	"kubelet": {
		"stop":    {{say: "Stop it: containers run on, unattended"}},
		"crash":   {{say: "Crash it, as kill -9 does"}},
		"start":   {{say: "Start it again"}},
		"restart": {{say: "Stop it and start it at once"}},
	},
	"proxy": {
		"stop":    {{say: "Stop it: the rules stay, and go out of date"}},
		"crash":   {{say: "Crash it, as kill -9 does"}},
		"start":   {{say: "Start it again"}},
		"restart": {{say: "Stop it and start it at once"}},
	},
	"runtime": {
		"stop":  {{say: "Stop it: the kubelet's calls fail"}},
		"start": {{say: "Start it again"}},
	},
	"scheduler": {
		"stop":    {{say: "Stop it: new pods stay Pending"}},
		"crash":   {{say: "Crash it: its Lease must run out before another leads"}},
		"start":   {{say: "Start it again"}},
		"restart": {{say: "Stop it and start it at once"}},
	},
	"controller-manager": {
		"stop":    {{say: "Stop it: nothing is reconciled any more"}},
		"crash":   {{say: "Crash it: its Lease must run out before another leads"}},
		"start":   {{say: "Start it again"}},
		"restart": {{say: "Stop it and start it at once"}},
	},
	"dns": {
		"stop":    {{say: "Stop it: names of Services are not found"}},
		"crash":   {{say: "Crash it, as kill -9 does"}},
		"start":   {{say: "Start it again"}},
		"restart": {{say: "Stop it and start it at once"}},
	},
	"apiserver": {
		"slow":    {{say: "Make it slow: 500 ms more a request", args: []string{"500ms"}}, {say: "Make it slow by …", ask: "how much longer each request takes, such as 2s"}},
		"fast":    {{say: "Make it as fast as it was"}},
		"stop":    {{say: "Stop it: no request is answered, no watch told"}},
		"crash":   {{say: "Crash it, as kill -9 does"}},
		"start":   {{say: "Start it again"}},
		"restart": {{say: "Stop it and start it at once"}},
	},
	"balancer": {
		"stop":    {{say: "Stop it: no client reaches an API server"}},
		"crash":   {{say: "Crash it, as kill -9 does"}},
		"start":   {{say: "Start it again"}},
		"restart": {{say: "Stop it and start it at once: every connection is made anew"}},
	},
	"kms": {
		"stop":    {{say: "Stop it: data keys that the API server does not know stay locked"}},
		"crash":   {{say: "Crash it, as kill -9 does"}},
		"start":   {{say: "Start it again"}},
		"restart": {{say: "Stop it and start it at once"}},
		"rotate":  {{say: "Give it a new key encryption key"}},
	},
	"oidc": {
		"stop":    {{say: "Stop it: nobody logs in, and keys that the API server does not know stay unknown"}},
		"crash":   {{say: "Crash it, as kill -9 does"}},
		"start":   {{say: "Start it again"}},
		"restart": {{say: "Stop it and start it at once"}},
		"rotate":  {{say: "Give it a new key to sign with"}},
		"slow":    {{say: "Make it too slow for any timeout", args: []string{"31s"}}, {say: "Make it slower by …", ask: "how much longer each answer takes, such as 2s"}},
		"fast":    {{say: "Make it as fast as it was"}},
	},
	"webhook": {
		"stop":    {{say: "Stop it: the API server's calls are refused"}},
		"crash":   {{say: "Crash it, as kill -9 does"}},
		"start":   {{say: "Start it again"}},
		"restart": {{say: "Stop it and start it at once"}},
		"slow":    {{say: "Make it too slow for any timeout", args: []string{"31s"}}, {say: "Make it slower by …", ask: "how much longer each review takes, such as 2s"}},
		"fast":    {{say: "Make it as fast as it was"}},
		"lie": {
			{say: "Have it answer to another request", args: []string{"uid"}},
			{say: "Have it send an invalid patch", args: []string{"patch"}},
			{say: "Have it decide the opposite", args: []string{"verdict"}},
			{say: "Have it answer with garbage", args: []string{"garbage"}},
		},
		"heal": {{say: "Make it fast and honest again"}},
	},
	"watch": {
		"stall": {{say: "Tell it nothing more: it falls behind the store"}},
		"heal":  {{say: "Tell it what it has missed, and all that comes"}},
		"slow":  {{say: "Tell it a revision every 2 s at most", args: []string{"2s"}}, {say: "Tell it a revision every …", ask: "how much longer each revision takes, such as 500ms"}},
		"fast":  {{say: "Tell it everything at once, as before"}},
		"cut":   {{say: "Break its connection: it is opened again where it was"}},
	},
	"informer": {
		"stall": {{say: "Tell it nothing more: its cache falls behind"}},
		"heal":  {{say: "Tell it what it has missed, and all that comes"}},
		"slow":  {{say: "Tell it an event every 2 s at most", args: []string{"2s"}}, {say: "Tell it an event every …", ask: "how much longer each event takes, such as 500ms"}},
		"fast":  {{say: "Tell it everything at once, as before"}},
		"cut":   {{say: "Break its connection: it watches again from where it was"}},
		"drop":  {{say: "Lose the next event: its cache is wrong until it lists anew"}},
	},
	"queue": {
		"slow": {{say: "Have its runs take 200 ms longer", args: []string{"200ms"}}, {say: "Have its runs take longer by …", ask: "how much longer each run takes, such as 1.5s"}},
		"fast": {{say: "Let its runs be as short as they were"}},
	},
	"certificate": {
		"expire": {{say: "Let it expire: whoever presents it is Unauthorized"}},
		"renew":  {{say: "Renew it"}},
	},
	"token": {
		"expire": {{say: "Let the tokens issued so far expire: whoever presents one is Unauthorized"}},
		"renew":  {{say: "Make them valid again"}},
	},
	"audit": {
		"fill": {{say: "Fill the disk of the audit log: requests go on, unrecorded"}},
		"free": {{say: "Make room on it again"}},
	},
	"registry": {
		"stop":  {{say: "Make it unreachable: no image can be pulled"}},
		"start": {{say: "Make it reachable again"}},
		"slow":  {{say: "Make it ten times slower", args: []string{"10"}}, {say: "Make it slower by …", ask: "how many times slower, such as 25"}},
		"fast":  {{say: "Make it as fast as it was"}},
	},
	"pod": {
		"crash": {{say: "Kill its container: the kubelet starts it again"}},
	},
}

// Words are the sentences that the fault menu has for a fault on a kind of
// target, and whether it knows the two at all.
func Words(fault, kind string) (sentences []string, known bool) {
	list, known := ways[kind][fault]
	for _, w := range list {
		sentences = append(sentences, w.say)
	}
	return sentences, known
}

// Target names a target in a sentence.
func Target(target string) string {
	kind, name, _ := strings.Cut(target, "/")
	switch kind {
	case "member", "pod":
		return kind + " " + name
	case "store":
		return "the store as a whole"
	case "node":
		return name
	case "kubelet":
		return "the kubelet of " + name
	case "proxy":
		return "kube-proxy on " + name
	case "runtime":
		return "the container runtime of " + name
	case "scheduler":
		return "the scheduler"
	case "controller-manager":
		return "the controller manager"
	case "apiserver":
		if name != "" {
			return "the API server " + name
		}
		return "the API server"
	case "balancer":
		return "the load balancer before the API servers"
	case "dns":
		return "the cluster's DNS"
	case "audit":
		if name != "" {
			return "the disk of the API server " + name + "'s audit log"
		}
		return "the disk of the API server's audit log"
	case "registry":
		return "the image registry"
	case "oidc":
		return "the identity provider"
	case "kms":
		return "the KMS plugin"
	case "certificate":
		return "the client certificate of " + name
	case "token":
		return "the tokens of service account " + name
	case "webhook":
		return "the webhook server " + name
	case "watch":
		return "the API server's watch of " + name + " at the store"
	case "informer":
		return "the watch of " + name + " at the API server"
	case "queue":
		return "the work queue " + name
	}
	return target
}
