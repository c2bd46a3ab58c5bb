package motion

import (
	"fmt"
	"net/http"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/scene"
	"kviz/tui/theme"
)

// rule is what a kind of event makes: a light, or nothing for a reason.
type rule struct {
	light func(e *trace.Event, s *view.State) (Light, bool)
	none  string
}

// rules are those of every kind there is.
var rules = map[trace.Kind]rule{}

// on says what a kind makes of its payload.
func on[P any](k trace.Kind, f func(e *trace.Event, p *P, s *view.State) Light) {
	rules[k] = rule{light: func(e *trace.Event, s *view.State) (Light, bool) {
		p, ok := e.Payload.(*P)
		if !ok || p == nil {
			return Light{}, false
		}
		return f(e, p, s), true
	}}
}

// at says that kinds light up the place of their lane.
func at(label string, glyph rune, role grid.Style, kinds ...trace.Kind) {
	for _, k := range kinds {
		rules[k] = rule{light: func(e *trace.Event, s *view.State) (Light, bool) {
			return Light{From: PlaceOf(e.Lane, s), Class: Works, Glyph: glyph, Role: role, Label: label}, true
		}}
	}
}

// nothing says why kinds make no light.
func nothing(why string, kinds ...trace.Kind) {
	for _, k := range kinds {
		rules[k] = rule{none: why}
	}
}

func init() {
	requests()
	storing()
	raft()
	loops()
	nodes()
	people()
}

// isAbsent says that somebody asked whether something is there and it is not, as kubectl does
// before it creates. Nothing is wrong then.
func isAbsent(verb string, code int) bool { return verb == "get" && code == http.StatusNotFound }

func requests() {
	on(trace.RequestReceived, func(_ *trace.Event, p *trace.Request, s *view.State) Light {
		l := Light{From: client(p.Client, s), To: scene.APIServer, Class: Asks, Glyph: '●', Role: theme.Busy, Label: p.Verb}
		switch {
		case p.Resource == "leases" || p.Resource == "events":
			l.Class = Chatter
		case l.From == scene.You:
			l.Rank = Command
		case p.Verb != "get" && p.Verb != "list" && p.Verb != "watch":
			l.Rank = Write
		}
		return l
	})
	on(trace.RequestStage, func(_ *trace.Event, p *trace.Stage, s *view.State) Light {
		l := Light{From: scene.APIServer, Class: Works, Glyph: '▸', Role: theme.Busy, Label: p.Stage}
		r := s.Request(p.Request)
		switch {
		case p.Verdict == "refuse" && r != nil && r.Request != nil && isAbsent(r.Verb, p.Code):
			l.Label = "not found"
		case p.Verdict == "refuse":
			l.Glyph, l.Role, l.Lost, l.Rank = '✗', theme.Bad, true, Write
		case p.Stage == trace.StageStorage && r != nil && r.Request != nil && r.Verb != "watch":
			l = Light{From: scene.APIServer, To: member(s), Class: Asks, Glyph: '●', Role: theme.Busy, Label: storeVerb(r.Verb)}
			if l.Label == "put" {
				l.Rank = Write
			}
		}
		if r != nil && r.Request != nil && (r.Resource == "leases" || r.Resource == "events") && !l.Lost {
			l.Class = Chatter
		}
		return l
	})
	on(trace.RequestDone, func(_ *trace.Event, p *trace.Response, s *view.State) Light {
		l := Light{From: scene.APIServer, To: scene.You, Class: Answers, Glyph: '○', Role: theme.Good, Label: fmt.Sprint(p.Code)}
		if r := s.Request(p.Request); r != nil && r.Request != nil {
			l.To = client(r.Client, s)
			if r.Resource == "leases" || r.Resource == "events" {
				l.Class = Chatter
			}
		}
		if l.To == scene.You {
			l.Rank = Command
		}
		switch {
		case isAbsent(p.Verb, p.Code):
			l.Role, l.Rank = theme.Muted, News
		case p.Code >= 400:
			l.Glyph, l.Role, l.Lost, l.Class = '✗', theme.Bad, true, Answers
		}
		return l
	})
	on(trace.WatchDelivered, func(_ *trace.Event, p *trace.WatchEvent, s *view.State) Light {
		l := Light{From: scene.APIServer, To: client(p.Client, s), Class: Tells, Glyph: '◆', Role: theme.Added, Label: strings.ToLower(p.Type)}
		if p.Type == "BOOKMARK" {
			l.Class = Chatter
		}
		return l
	})
	on(trace.WatchHeld, func(_ *trace.Event, p *trace.WatchEvent, s *view.State) Light {
		return Light{From: scene.APIServer, To: client(p.Client, s), Class: Tells, Glyph: '◷', Role: theme.Warn, Half: true, Rank: News, Label: "held"}
	})
	on(trace.WatchLost, func(_ *trace.Event, p *trace.WatchEvent, s *view.State) Light {
		return Light{From: scene.APIServer, To: client(p.Client, s), Class: Tells, Glyph: '◆', Role: theme.Bad, Lost: true, Half: true, Rank: Fault}
	})
	at("watch cache", '◆', theme.Added, trace.WatchCacheEvent, trace.WatchCacheListed)
	at("undecodable", '✗', theme.Bad, trace.ObjectUndecodable)
	at("waits for a seat", '▸', theme.Warn, trace.FlowQueued)
	at("audit", '▸', theme.Busy, trace.AuditChanged)
	at("configured", '▸', theme.Busy, trace.ServerConfigured, trace.EncryptionConfig)
	at("decrypt", '▸', theme.Busy, trace.CacheDecrypted)
	on(trace.WebhookCalled, func(_ *trace.Event, p *trace.WebhookCall, _ *view.State) Light {
		l := Light{From: "webhook/" + p.Webhook, To: scene.APIServer, Class: Answers, Glyph: '○', Role: theme.Good, Label: "allowed", Rank: Write}
		if p.Patch != "" {
			l.Label = "patch"
		}
		if !p.Allowed || p.Error != "" || p.Code >= 300 {
			l.Glyph, l.Role, l.Lost, l.Label = '✗', theme.Bad, true, "refused"
		}
		return l
	})
	on(trace.KMSCalled, func(_ *trace.Event, p *trace.KMSCall, _ *view.State) Light {
		l := Light{From: "kms", To: scene.APIServer, Class: Answers, Glyph: '○', Role: theme.Good, Label: strings.ToLower(p.Method)}
		if p.Error != "" {
			l.Glyph, l.Role, l.Lost = '✗', theme.Bad, true
		}
		return l
	})
	on(trace.CloudCalled, func(_ *trace.Event, p *trace.CloudCall, _ *view.State) Light {
		l := Light{From: "cloud", To: scene.Controllers, Class: Answers, Glyph: '○', Role: theme.Good, Label: "load balancer"}
		if p.Error != "" {
			l.Glyph, l.Role, l.Lost = '✗', theme.Bad, true
		}
		return l
	})
	on(trace.OIDCCalled, func(_ *trace.Event, p *trace.OIDCCall, _ *view.State) Light {
		l := Light{From: "oidc", To: scene.APIServer, Class: Answers, Glyph: '○', Role: theme.Good, Label: p.Method}
		if p.Error != "" || p.Code >= 300 {
			l.Glyph, l.Role, l.Lost = '✗', theme.Bad, true
		}
		return l
	})
	inServer := func(label string, kinds ...trace.Kind) {
		for _, k := range kinds {
			rules[k] = rule{light: func(*trace.Event, *view.State) (Light, bool) {
				return Light{From: scene.APIServer, Class: Works, Glyph: '●', Role: theme.Busy, Label: label}, true
			}}
		}
	}
	inServer("balancer", trace.BalancerConnected, trace.BalancerServer)
	inServer("aggregator", trace.APIServiceChecked)
	nothing("opening and ending a watch moves nothing: its events do", trace.WatchOpened, trace.WatchClosed)
	nothing("the request arrives once the cluster goes on", trace.RequestWaiting)
	nothing("how many seats there are is a row of the API pane", trace.FlowConfig)
}

// storeVerb is what a request asks of the store.
func storeVerb(verb string) string {
	switch verb {
	case "get", "list":
		return verb
	}
	return "put"
}

func storing() {
	on(trace.StoreCommit, func(e *trace.Event, p *trace.Commit, _ *view.State) Light {
		l := Light{From: scene.Store, To: scene.APIServer, Class: Tells, Glyph: '◆', Role: theme.Added, Label: fmt.Sprintf("rev %d", p.Revision), Rank: Write}
		for _, c := range p.Changes {
			if c.Object.Kind == "Lease" || c.Object.Kind == "Event" {
				l.Class = Chatter
			}
		}
		return l
	})
	on(trace.StoreRefused, func(_ *trace.Event, _ *trace.StoreError, s *view.State) Light {
		return Light{From: scene.APIServer, To: member(s), Class: Asks, Glyph: '✗', Role: theme.Bad, Lost: true, Half: true, Rank: Fault}
	})
	on(trace.EtcdRequest, func(_ *trace.Event, p *trace.EtcdCall, _ *view.State) Light {
		return Light{From: "member/" + p.Member, Class: Works, Glyph: '●', Role: theme.Busy, Label: p.Method, Rank: Command}
	})
	inStore := func(label string, role grid.Style, kinds ...trace.Kind) {
		for _, k := range kinds {
			rules[k] = rule{light: func(*trace.Event, *view.State) (Light, bool) {
				return Light{From: scene.Store, Class: Works, Glyph: '◉', Role: role, Label: label}, true
			}}
		}
	}
	inStore("compacted", theme.Busy, trace.StoreCompact)
	inStore("restored", theme.Good, trace.StoreRestored)
	inStore("condition not met", theme.Warn, trace.StoreUnmet)
	inStore("lease", theme.Busy, trace.LeaseGranted, trace.LeaseExpired, trace.LeaseRevoked)
	inStore("alarm", theme.Bad, trace.AlarmRaised)
	inStore("alarm over", theme.Good, trace.AlarmCleared)
	nothing("a lease of the store is renewed all the time, by what is seen anyway", trace.LeaseRenewed)
	nothing("who watches the store is a list of the store pane", trace.StoreWatchOpened, trace.StoreWatchClosed, trace.StoreWatchLag)
	nothing("through which member a client goes is seen with its next write", trace.StoreEndpoint)
}

func raft() {
	between := func(k trace.Kind, forward bool) {
		on(k, func(_ *trace.Event, p *trace.RaftMessage, _ *view.State) Light {
			l := Light{From: "member/" + p.From, To: "member/" + p.To, Role: theme.Term(p.Term)}
			if !forward {
				l.From, l.To = l.To, l.From
			}
			message(&l, p, !forward)
			return l
		})
	}
	between(trace.RaftSend, true)
	between(trace.RaftReply, false)
	on(trace.RaftForward, func(_ *trace.Event, p *trace.RaftMessage, _ *view.State) Light {
		return Light{From: "member/" + p.From, To: "member/" + p.To, Class: Asks, Glyph: '●', Role: theme.Busy}
	})
	on(trace.RaftLost, func(_ *trace.Event, p *trace.RaftMessage, _ *view.State) Light {
		l := Light{From: "member/" + p.From, To: "member/" + p.To, Role: theme.Term(p.Term)}
		message(&l, p, false)
		if l.Class == Chatter { // heartbeats into a cut go on for as long as it lasts
			return l
		}
		l.Lost, l.Half = true, true
		return l
	})
	disk := func(k trace.Kind, glyph rune) {
		on(k, func(e *trace.Event, p *trace.RaftLog, s *view.State) Light {
			l := Light{From: "member/" + p.Member, Class: Works, Glyph: glyph, Role: theme.Busy}
			if p.Error != "" {
				l.Glyph, l.Role, l.Lost, l.Rank = '✗', theme.Bad, true, Fault
			}
			return l
		})
	}
	disk(trace.RaftAppend, '□')
	disk(trace.RaftDurable, '■')
	disk(trace.RaftTruncate, '□')
	on(trace.RaftVote, func(_ *trace.Event, p *trace.RaftVoteRecord, _ *view.State) Light {
		return Light{From: "member/" + p.Member, Class: Works, Glyph: '✓', Role: theme.Term(p.Term), Label: "votes for " + p.Candidate, Rank: Write}
	})
	on(trace.RaftTimeout, func(_ *trace.Event, p *trace.RaftPatience, _ *view.State) Light {
		l := Light{From: "member/" + p.Member, Class: Chatter, Glyph: '◷', Role: theme.Warn}
		if p.Left == 0 {
			l.Class, l.Label = Works, "any moment"
		}
		return l
	})
	on(trace.MemberRole, func(_ *trace.Event, p *trace.MemberState, _ *view.State) Light {
		l := Light{From: "member/" + p.Member, Class: Works, Glyph: '◉', Role: theme.Term(p.Term), Label: p.Role}
		if p.Role == "leader" || p.Role == "candidate" {
			l.Rank = Fault
		}
		return l
	})
	on(trace.RaftSnapshot, func(_ *trace.Event, p *trace.RaftSnapshotInfo, _ *view.State) Light {
		return Light{From: "member/" + p.Member, Class: Works, Glyph: '▓', Role: theme.Term(p.Term), Label: "snapshot " + p.What, Rank: Write}
	})
	for _, k := range []trace.Kind{trace.MemberDown, trace.MemberUp} {
		on(k, func(_ *trace.Event, p *trace.MemberState, _ *view.State) Light {
			l := Light{From: "member/" + p.Member, Class: Faults, Glyph: '✗', Role: theme.Bad, Rank: Fault}
			if k == trace.MemberUp {
				l.Glyph, l.Role = '●', theme.Good
			}
			return l
		})
	}
	for _, k := range []trace.Kind{trace.MemberJoined, trace.MemberPromoted, trace.MemberLeft} {
		on(k, func(_ *trace.Event, p *trace.Membership, _ *view.State) Light {
			return Light{From: "member/" + p.Member, Class: Faults, Glyph: '◉', Role: theme.Good, Rank: Fault}
		})
	}
	nothing("the message was seen when it was sent, its answer will be", trace.RaftDeliver)
	nothing("the entry's cell changes, and store.commit is seen", trace.RaftCommit, trace.RaftApply)
	nothing("a read's round is a row of the store pane", trace.RaftRead, trace.MemberRead)
	nothing("it concerns one member's files or address, which the store pane lists", trace.MemberServed, trace.MemberDefrag, trace.MemberBackup, trace.MemberRoom)
}

// message is what a message between members looks like.
func message(l *Light, p *trace.RaftMessage, answer bool) {
	l.Chip = true
	switch p.RPC {
	case "RequestVote", "RequestPreVote":
		l.Class, l.Rank, l.Glyph = Ballots, Write, '◆'
		if p.RPC == "RequestPreVote" {
			l.Glyph = '◇'
		}
		if answer {
			l.Glyph = '✓'
			if !p.OK {
				l.Glyph, l.Role = '✗', theme.Bad
			}
		}
	case "InstallSnapshot":
		l.Class, l.Rank, l.Glyph = Entries, Write, '▓'
	default:
		l.Class, l.Glyph = Entries, '■'
		if answer {
			l.Glyph = '□'
		}
		if len(p.Entries) == 0 && !(answer && p.Match > 0 && !p.OK) { // a heartbeat
			l.Class, l.Chip = Chatter, false
		}
	}
}

func loops() {
	at("", '◉', theme.Busy, trace.QueueAdd, trace.QueueDelay, trace.QueueGet, trace.QueueDone, trace.ReconcileStart, trace.ReconcileEnd,
		trace.InformerSync, trace.InformerRelist, trace.InformerResync, trace.ClientLimited)
	on(trace.ReconcileAction, func(e *trace.Event, p *trace.Action, s *view.State) Light {
		return Light{From: PlaceOf(e.Lane, s), Class: Works, Glyph: '◉', Role: theme.Busy, Label: p.Verb + " " + p.Target.Kind, Rank: Write}
	})
	at("", '◉', theme.Busy, trace.SchedQueue, trace.SchedStay, trace.SchedCycle, trace.SchedPoint, trace.SchedFilter, trace.SchedScore, trace.SchedPermit, trace.SchedBind)
	on(trace.SchedDecision, func(_ *trace.Event, p *trace.Decision, _ *view.State) Light {
		l := Light{From: scene.Scheduler, Class: Works, Glyph: '◉', Role: theme.Busy, Label: "⇒ " + p.Node, Rank: Write}
		if p.Node == "" {
			l.Role, l.Label = theme.Warn, "no node fits"
		}
		return l
	})
	on(trace.LeaderElected, func(e *trace.Event, p *trace.Election, s *view.State) Light {
		l := Light{From: PlaceOf(e.Lane, s), Class: Faults, Glyph: '◉', Role: theme.Good, Rank: Fault}
		if !p.Won {
			l.Role = theme.Bad
		}
		return l
	})
}

func nodes() {
	at("", '◉', theme.Busy, trace.PodWorker, trace.PodAdmit, trace.VolumesMounted, trace.CRICall, trace.CNICall, trace.CSICall, trace.ContainerChange)
	at("back-off", '◉', theme.Warn, trace.RestartBackoff)
	on(trace.ProbeResult, func(e *trace.Event, p *trace.Probe, s *view.State) Light {
		l := Light{From: PlaceOf(e.Lane, s), Class: Works, Glyph: '◉', Role: theme.Busy, Label: p.Probe}
		if !p.OK {
			l.Role = theme.Bad
		}
		return l
	})
	on(trace.NodeStatus, func(_ *trace.Event, p *trace.NodeReport, _ *view.State) Light {
		l := Light{From: "node/" + p.Node, Class: Works, Glyph: '◉', Role: theme.Busy}
		if p.Ready != "True" {
			l.Role, l.Rank = theme.Warn, Fault
		}
		return l
	})
	on(trace.ProxySync, func(e *trace.Event, p *trace.ProxySyncInfo, s *view.State) Light {
		if p.Added+p.Removed == 0 { // it looked, and all was as it should be
			return Light{}
		}
		l := Light{From: PlaceOf(e.Lane, s), Class: Works, Glyph: '◉', Role: theme.Busy, Label: "proxy"}
		if svc := ruled(p.Node, s); svc != "" { // along the line of the Service whose rules these are
			l.From, l.To = "svc/"+svc, l.From
		}
		return l
	})
	on(trace.PacketHop, func(e *trace.Event, p *trace.Hop, s *view.State) Light {
		l := Light{From: PlaceOf(e.Lane, s), Class: Packets, Glyph: '▪', Role: theme.Accent}
		switch to, rewritten := strings.CutPrefix(p.Verdict, "DNAT "); {
		case rewritten: // to the pod that a rule has chosen, along the Service's line
			if svc, pod := asked(p.Flow, s), podAt(s, to); svc != "" && pod != "" {
				l.From, l.To, l.Rank = "svc/"+svc, "node/"+pod, Command
			}
		case strings.HasPrefix(p.Verdict, "jump KUBE-SVC-"):
			if svc := serviceAt(s, p.Dst); svc != "" {
				l.To, l.Rank = "svc/"+svc, Command
			}
		case p.Verdict == "DROP" || strings.HasPrefix(p.Verdict, "REJECT"):
			l.Glyph, l.Role, l.Lost, l.Rank = '✗', theme.Bad, true, Command
		}
		return l
	})
	on(trace.PacketEnd, func(e *trace.Event, p *trace.Flow, s *view.State) Light {
		l := Light{From: PlaceOf(e.Lane, s), Class: Packets, Glyph: '▪', Role: theme.Accent, Label: p.Result, Rank: Command}
		if p.Result != "answered" {
			l.Glyph, l.Role, l.Lost = '✗', theme.Bad, true
		}
		return l
	})
	nothing("the sync that it is part of lights the node", trace.RuleChange)
}

func people() {
	on(trace.CommandStart, func(*trace.Event, *trace.Command, *view.State) Light {
		return Light{From: scene.You, Class: Works, Glyph: '●', Role: theme.Busy, Rank: Command}
	})
	on(trace.CommandEnd, func(_ *trace.Event, p *trace.Command, _ *view.State) Light {
		l := Light{From: scene.You, Class: Works, Glyph: '○', Role: theme.Good, Rank: Command}
		if p.Exit != 0 {
			l.Glyph, l.Role = '✗', theme.Bad
		}
		return l
	})
	for _, k := range []trace.Kind{trace.FaultInjected, trace.FaultHealed} {
		on(k, func(_ *trace.Event, p *trace.Fault, s *view.State) Light {
			l := Light{From: target(p.Target, s), Class: Faults, Glyph: '!', Role: theme.Bad, Label: p.Fault, Rank: Fault}
			if k == trace.FaultHealed {
				l.Role = theme.Good
			}
			return l
		})
	}
	on(trace.LoadSet, func(*trace.Event, *trace.Load, *view.State) Light {
		return Light{From: scene.You, Class: Works, Glyph: '●', Role: theme.Busy, Label: "load", Rank: Command}
	})
	for _, k := range []trace.Kind{trace.ProcessStart, trace.ProcessExit} {
		on(k, func(e *trace.Event, _ *trace.Process, s *view.State) Light {
			l := Light{From: PlaceOf(e.Lane, s), Class: Faults, Glyph: '●', Role: theme.Good, Rank: Fault}
			if k == trace.ProcessExit {
				l.Glyph, l.Role = '✗', theme.Bad
			}
			return l
		})
	}
	on(trace.SchedConfigured, func(*trace.Event, *trace.SchedConfiguration, *view.State) Light {
		return Light{From: scene.Scheduler, Class: Works, Glyph: '◉', Role: theme.Busy, Label: "configured", Rank: Command}
	})
	on(trace.ProcessPanic, func(e *trace.Event, _ *trace.Panicked, s *view.State) Light {
		return Light{From: PlaceOf(e.Lane, s), Class: Faults, Glyph: '✗', Role: theme.Bad, Label: "panic", Rank: Fault}
	})
	rules[trace.Converged] = rule{light: func(*trace.Event, *view.State) (Light, bool) {
		return Light{From: scene.Controllers, Class: Works, Glyph: '✓', Role: theme.Good, Label: "converged", Rank: Write}, true
	}}
	nothing("a note about what was seen; it is written down among the Kubernetes Events", trace.EventRecorded)
	nothing("the run begins, stands or ends: nothing of the cluster moves", trace.RunStart, trace.Ready, trace.InvariantBroken)
	nothing("it is a request's alone, which gets its answer", trace.EdgePanic)
	nothing("kviz' own clock is no part of the cluster", trace.ClockChanged, trace.ClockPace)
	nothing("what entered the run shows as the request or the command that it is", trace.InputEntered)
}
