package fault

import (
	"time"

	"kviz/cluster/control"
	"kviz/cluster/trace"
)

// processRows are what can be done to every program that stands by itself: stopped says
// what stopping it comes to, crashed what a crash does.
func processRows(stopped, crashed string) []Row {
	return []Row{
		{
			Name: "stop", Heals: "start", do: act(Process.Stop), Ways: ways(say(stopped)),
			Means: "Stop it in an orderly way; it stays down until it is started.",
		},
		{
			Name: "crash", Heals: "start", do: act(Process.Crash), Ways: ways(say(crashed)),
			Means: "Kill it without warning; it stays down until it is started.",
		},
		{Name: "start", Repairs: true, do: act(Process.Start), Means: "Start what was stopped or has crashed.", Ways: ways(say("Start it again"))},
		{Name: "restart", As: []string{"start"}, Repairs: true, do: act(Process.Restart), Means: "Stop it and start it again at once.", Ways: ways(say("Stop it and start it at once"))},
	}
}

const (
	killed    = "Crash it, as kill -9 does"
	leaseLeft = "Crash it: its Lease must run out before another leads"
)

// slowRows make something slower, and as fast as it was. each is what takes longer.
func slowRows(each, means, example string, sentences ...control.FaultWay) []Row {
	fast := sentences[len(sentences)-1]
	return []Row{
		{
			Name: "slow", Heals: "fast", Knob: true, Args: "DURATION", Means: means, Ways: sentences[:len(sentences)-1],
			do: with(longer(each, example), Slow.Slow),
		},
		{Name: "fast", Repairs: true, Means: "Undo slow: what waits because of it goes on.", Ways: ways(fast), do: with(asItWas, Slow.Slow)},
	}
}

func asItWas(control.Fault) (time.Duration, error) { return 0, nil }

var (
	_ = of("kubelet", processRows("Stop it: containers run on, nobody looks after them", killed)...)
	_ = of("proxy", processRows("Stop it: the rules stay, and go out of date", killed)...)
	_ = of("scheduler", processRows("Stop it: new pods stay Pending", leaseLeft)...)
	_ = of("controller-manager", processRows("Stop it: nobody compares what is with what is wanted", leaseLeft)...)
	_ = of("cloud-controller-manager", append(processRows("Stop it: Services of type LoadBalancer stay <pending>", leaseLeft),
		slowRows("run", "Have each run of its controllers take so much longer.", "10s",
			say("Have the runs of its controllers take 10 s longer", "10s"), ask("Have its controllers' runs take longer by …", "how much longer each run takes, such as 1.5s"), say("Let its controllers' runs be as short as they were"))...)...)
	_ = of("controller", append([]Row{
		{
			Name: "stop", Heals: "start", do: act(Process.Stop), Ways: ways(say("Stop it: nobody does its part of the work")),
			Means: "Stop this one controller of the controller manager, once the run that has begun has ended. It stays down until it is started, also when the controller manager starts again, as with --controllers=-name.",
		},
		{
			Name: "crash", Heals: "start", do: act(Process.Crash), Ways: ways(say("Crash it in the midst of its run")),
			Means: "End this one controller at once, in the midst of what it does; it stays down until it is started.",
		},
		{
			Name: "start", Repairs: true, do: act(Process.Start), Ways: ways(say("Start it again")),
			Means: "Start it again: it looks at everything that the informers have, and remembers nothing of before.",
		},
		{
			Name: "restart", As: []string{"start"}, Repairs: true, do: act(Process.Restart), Ways: ways(say("Stop it and start it at once")),
			Means: "Stop it and start it again at once: its queue and what it expected are lost.",
		},
	}, slowRows("run", "Have each run of this controller take so much longer, whatever its queue.", "200ms",
		say("Have its runs take 200 ms longer", "200ms"), ask("Have its runs take longer by …", "how much longer each run takes, such as 1.5s"), say("Let its runs be as short as they were"))...)...)

	_ = of("dns", processRows("Stop it: names of Services are not found", killed)...)
	_ = of("balancer", processRows("Stop it: no client reaches an API server", killed)...)

	_ = of("apiserver", append(processRows("Stop it: no request is answered, no watch told", killed),
		slowRows("request", "Have each request take so much longer.", "500ms",
			say("Make it slow: 500 ms more a request", "500ms"), ask("Make it slow by …", "how much longer each request takes, such as 2s"), say("Make it as fast as it was"))...)...)

	_ = of("kms", append(processRows("Stop it: data keys that the API server does not know stay locked", killed),
		Row{
			Name: "rotate", Repairs: true, do: act(Keys.Rotate), Ways: ways(say("Give it a new key encryption key")),
			Means: "Make a new key. The API server notices within a minute, and the old one still decrypts.",
		})...)

	_ = of("oidc", append(append(processRows("Stop it: nobody logs in, and keys that the API server does not know stay unknown", killed),
		slowRows("answer", "Have each answer take so much longer.", "31s",
			say("Make it too slow for any timeout", "31s"), ask("Make it slower by …", "how much longer each answer takes, such as 2s"), say("Make it as fast as it was"))...),
		Row{
			Name: "rotate", Repairs: true, do: act(Keys.Rotate), Ways: ways(say("Give it a new key to sign with")),
			Means: "Make a new key: tokens are signed with it from now on, and of the older ones the provider tells only the newest.",
		})...)

	_ = of("webhook", append(append(processRows("Stop it: the API server's calls are refused", killed),
		slowRows("review", "Have each answer take so much longer.", "30s",
			say("Make it too slow for any timeout", "31s"), ask("Make it slower by …", "how much longer each review takes, such as 2s"), say("Make it as fast as it was"))...),
		Row{
			Name: "lie", Heals: "heal", Args: "[uid|patch|verdict|garbage]", do: lie,
			Ways: ways(say("Have it answer to another request", "uid"), say("Have it send a patch that is none", "patch"),
				say("Have it say the contrary", "verdict"), say("Have it answer with garbage", "garbage")),
			Means: "Have it answer wrongly: to another request (uid, the default), with a patch that is none, with the contrary of what it should (verdict), or with garbage that begins well.",
		},
		Row{Name: "heal", As: []string{"fast"}, Repairs: true, do: act(Webhook.Heal), Means: "Make it fast and honest again.", Ways: ways(say("Make it fast and honest again"))})...)
)

func lie(target any, f control.Fault) (Act, error) {
	w := target.(Webhook)
	lies := w.Lies()
	how, err := word(lies[0], "what it can be wrong in", lies...)(f)
	if err != nil {
		return nil, err
	}
	return func(why []trace.ID) error { return w.Lie(how, why) }, nil
}
