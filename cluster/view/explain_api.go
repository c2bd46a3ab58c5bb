package view

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
)

func init() {
	say(trace.RequestReceived, func(e *trace.Event, p *trace.Request) string {
		return fmt.Sprintf("%s asks the API server to %s", orElse(p.Client, p.User), asked(p))
	})
	say(trace.RequestWaiting, func(e *trace.Event, p *trace.Request) string {
		return fmt.Sprintf("a request of %s to %s waits, because the cluster is paused", orElse(p.Client, p.User), asked(p))
	})
	say(trace.RequestStage, explainStage)
	say(trace.RequestDone, func(e *trace.Event, p *trace.Response) string {
		if p.Code >= 400 {
			return fmt.Sprintf("the API server answers %s with %d%s%s%s", p.Verb, p.Code, tail(" ", p.Reason), tail(", refused by ", p.Stage), tail(": ", p.Message))
		}
		return fmt.Sprintf("the API server answers %s with %d after %s", p.Verb, p.Code, took(p.Took))
	})
	say(trace.WatchCacheEvent, func(e *trace.Event, p *trace.CacheUpdate) string {
		return fmt.Sprintf("the watch cache of %s is at revision %d and passes the %s on to %s", orElse(p.Custom, p.Resource), p.Revision, change(p.Type), count(p.Watchers, "watcher"))
	})
	say(trace.ObjectUndecodable, func(e *trace.Event, p *trace.Undecodable) string {
		return fmt.Sprintf("what the store holds under %s is no object that can be decoded: %s; the others of %s are served", p.Key, p.Error, p.Resource)
	})
	say(trace.WatchCacheListed, func(e *trace.Event, p *trace.CacheList) string {
		return fmt.Sprintf("the watch cache of %s listed %s from the store again, as of revision %d; it had followed up to %d, and its watchers must list again", orElse(p.Custom, p.Resource), count(p.Objects, "object"), p.Revision, p.Was)
	})
	say(trace.WatchOpened, func(e *trace.Event, p *trace.Watch) string {
		return fmt.Sprintf("%s watches %s from revision %d%s", p.Client, orElse(p.Custom, p.Resource), p.From, tail(", only ", p.Selector))
	})
	say(trace.WatchClosed, func(e *trace.Event, p *trace.Watch) string {
		return fmt.Sprintf("the watch of %s on %s ended%s", p.Client, orElse(p.Custom, p.Resource), tail(": ", p.Reason))
	})
	say(trace.WatchDelivered, explainWatchEvent)
	say(trace.WatchHeld, func(e *trace.Event, p *trace.WatchEvent) string {
		return fmt.Sprintf("the %s of %s at revision %d waits on its way to %s, which acts on what it knew before", change(p.Type), e.Object.String(), p.Revision, p.Client)
	})
	say(trace.WatchLost, func(e *trace.Event, p *trace.WatchEvent) string {
		return fmt.Sprintf("the %s of %s at revision %d is lost on its way to %s, which has it as it was until it changes or is listed again", change(p.Type), e.Object.String(), p.Revision, p.Client)
	})

	say(trace.RunStart, func(e *trace.Event, p *trace.Run) string {
		store := p.Store
		switch p.Store {
		case "raft":
			store = count(p.Members, "store member")
		case "mvcc":
			store = "a store without raft"
		}
		return fmt.Sprintf("a run begins: seed %d, %s, %s", p.Seed, store, count(p.Nodes, "node"))
	})
	explains[trace.Ready] = func(*trace.Event) string {
		return "the control plane is up and every node is Ready"
	}
	say(trace.CommandStart, func(e *trace.Event, p *trace.Command) string {
		if p.Source == "" || p.Source == "console" {
			return "you typed: " + p.Line
		}
		return fmt.Sprintf("%s: %s", p.Source, p.Line)
	})
	say(trace.CommandEnd, func(e *trace.Event, p *trace.Command) string {
		if p.Exit == 0 {
			return "done: " + p.Line
		}
		return fmt.Sprintf("failed with exit status %d: %s", p.Exit, p.Line)
	})
	say(trace.FaultInjected, func(e *trace.Event, p *trace.Fault) string {
		return fmt.Sprintf("broken on purpose: %s %s%s", p.Fault, p.Target, tail(" ", p.Detail))
	})
	say(trace.FaultHealed, func(e *trace.Event, p *trace.Fault) string {
		return fmt.Sprintf("mended: %s %s%s", p.Fault, p.Target, tail(" ", p.Detail))
	})
	say(trace.ProcessStart, func(e *trace.Event, p *trace.Process) string {
		return fmt.Sprintf("%s starts%s", p.Process, tail(": ", p.Reason))
	})
	say(trace.ProcessExit, func(e *trace.Event, p *trace.Process) string {
		return fmt.Sprintf("%s has ended%s; what it held in memory is gone", p.Process, tail(": ", p.Reason))
	})
	for _, k := range []trace.Kind{trace.ProcessPanic, trace.EdgePanic} {
		say(k, func(e *trace.Event, p *trace.Panicked) string {
			return fmt.Sprintf("a bug in kviz that only this meets: %s, %s: %s", p.Process, p.Doing, p.Panic)
		})
	}
	say(trace.EventRecorded, func(e *trace.Event, p *trace.KubeEvent) string {
		times := ""
		if p.Count > 1 {
			times = fmt.Sprintf(" (%d times)", p.Count)
		}
		return fmt.Sprintf("%s notes about %s: %s%s%s", p.From, p.Regarding, p.Reason, tail(", ", p.Message), times)
	})
	say(trace.InvariantBroken, func(e *trace.Event, p *trace.Broken) string {
		return "a bug in kviz: " + p.Message
	})
	say(trace.ClockChanged, func(e *trace.Event, p *trace.Clock) string {
		switch {
		case p.Paused:
			return "the cluster stands" + tail(": ", p.Why)
		case p.Speed == 0:
			return "the cluster runs as fast as it can" + tail(": ", p.Why)
		case p.Speed == 1:
			return "the cluster runs at the speed of the real clock" + tail(": ", p.Why)
		}
		return fmt.Sprintf("the cluster runs at %gx%s", p.Speed, tail(": ", p.Why))
	})
	say(trace.InputEntered, func(_ *trace.Event, p *trace.Input) string {
		return fmt.Sprintf("number %d of what entered the run from outside: %s; kviz fork lets it in again at the same place", p.Number, p.What)
	})
	say(trace.ClockPace, func(e *trace.Event, p *trace.Pace) string {
		if p.Why == "" {
			return "virtual time keeps up with the clock's speed again"
		}
		return fmt.Sprintf("virtual time runs at %.2fx instead of %gx: %s", p.Actual, p.Speed, p.Why)
	})
}

// asked is "create pods demo/web-1", "patch deployments/status demo/web".
func asked(p *trace.Request) string {
	what := p.Resource
	if p.Subresource != "" {
		what += "/" + p.Subresource
	}
	ref := trace.Ref{Namespace: p.Namespace, Name: p.Name}
	switch {
	case p.Name != "":
		return fmt.Sprintf("%s %s %s", p.Verb, what, ref.Key())
	case p.Namespace != "":
		return fmt.Sprintf("%s %s in %s", p.Verb, what, p.Namespace)
	case what == "":
		return fmt.Sprintf("%s %s", p.Verb, p.Path)
	}
	return fmt.Sprintf("%s %s", p.Verb, what)
}

func explainStage(e *trace.Event, p *trace.Stage) string {
	by := ""
	if p.By != "" {
		by = " (" + p.By + ")"
	}
	var tried []string
	switch {
	case p.Asked != nil:
		tried = p.Asked
	case p.Proof != nil:
		tried = p.Proof.Tried
	}
	said := []string{p.Note}
	if len(tried) > 0 {
		said = append(said, "asked in turn: "+strings.Join(tried, "; "))
	}
	if p.Verdict == "refuse" {
		return fmt.Sprintf("%s%s refuses the request%s%s", p.Stage, by, tail(" with ", code(p.Code)), tail(": ", clauses(said...)))
	}
	if n := len(p.Diff); n > 0 {
		said = append(said, count(n, "field")+" changed")
	}
	return fmt.Sprintf("%s%s%s", p.Stage, by, tail(": ", orElse(clauses(said...), "passes")))
}

// clauses makes one sentence of several.
func clauses(said ...string) string {
	var all []string
	for i, s := range said {
		if i+1 < len(said) {
			s = strings.TrimSuffix(s, ".")
		}
		if s != "" {
			all = append(all, s)
		}
	}
	return strings.Join(all, "; ")
}

func code(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func change(t string) string {
	switch t {
	case "ADDED":
		return "new object"
	case "MODIFIED":
		return "change"
	case "DELETED":
		return "deletion"
	}
	return t
}

func explainWatchEvent(e *trace.Event, p *trace.WatchEvent) string {
	what := orElse(e.Object.String(), "an object")
	switch p.Type {
	case "ADDED":
		return fmt.Sprintf("%s learns of %s (revision %d)", p.Client, what, p.Revision)
	case "MODIFIED":
		return fmt.Sprintf("%s learns that %s changed (revision %d)", p.Client, what, p.Revision)
	case "DELETED":
		return fmt.Sprintf("%s learns that %s is gone (revision %d)", p.Client, what, p.Revision)
	case "BOOKMARK":
		return fmt.Sprintf("%s gets a bookmark: it is up to date to revision %d", p.Client, p.Revision)
	case "ERROR":
		return fmt.Sprintf("the watch of %s ends with an error", p.Client)
	}
	return fmt.Sprintf("%s receives %s of %s", p.Client, p.Type, what)
}
