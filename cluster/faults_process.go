package cluster

import (
	"slices"
	"time"

	"kviz/cluster/balancer"
	"kviz/cluster/idp"
	"kviz/cluster/kms"
	"kviz/cluster/trace"
	"kviz/cluster/webhook"
)

// processes are the targets that are components: scheduler, kubelet/node-1 …
type processes struct {
	*components
	servers  *apiServers
	callouts *callouts
	cloud    *cloudManager
	sidecars *sidecars
	nodes    *nodes
}

func (ps processes) find(name string) (any, error) {
	m := ps.components.find(name)
	if m == nil && slices.Contains(ps.without, name) {
		return nil, errWithout(name)
	}
	if m == nil {
		return nil, nil
	}
	if n := ps.nodes.find(m.lane.Instance); n != nil && (m == n.kubelet || m == n.proxy) {
		if err := ps.nodes.off(n); err != nil {
			return nil, err
		}
	}
	switch p := (process{m}); {
	case isServer(name) && ps.servers.backend(name) != nil:
		return serverTarget{p, ps.servers, ps.servers.backend(name)}, nil
	case name == trace.CompKMS:
		return kmsTarget{p, ps.callouts.kms}, nil
	case name == trace.CompCCM:
		return managerTarget{p, ps.cloud}, nil
	case name == trace.CompOIDC:
		return providerTarget{calledOut{p}, ps.callouts.provider}, nil
	case m.lane.Component == trace.CompWebhook:
		return webhookTarget{calledOut{p}, ps.callouts.webhooks, m.lane.Instance}, nil
	case ps.sidecars.slow[name] != nil:
		return sidecarTarget{p, ps.sidecars.slow[name]}, nil
	default:
		return p, nil
	}
}

// process is a component of the cluster.
type process struct{ m *component }

func (p process) Stop(why []trace.ID) error {
	p.m.stop(why, "fault: stop")
	return nil
}

func (p process) Crash(why []trace.ID) error {
	p.m.end(why, "fault: crash")
	return nil
}

func (p process) Start(why []trace.ID) error {
	p.m.begin(why, "started again")
	return nil
}

func (p process) Restart(why []trace.ID) error {
	p.m.stop(why, "fault: restart")
	p.m.begin(why, "fault: restart")
	return nil
}

// calledOut is a server outside the cluster, which begins by itself when it is asked for
// the first time.
type calledOut struct{ process }

func (o calledOut) end(why []trace.ID, reason string) error {
	o.m.begin(why, "it has not been called yet")
	o.m.end(why, reason)
	return nil
}

func (o calledOut) Stop(why []trace.ID) error  { return o.end(why, "fault: stop") }
func (o calledOut) Crash(why []trace.ID) error { return o.end(why, "fault: crash") }

func (o calledOut) Restart(why []trace.ID) error {
	o.m.end(why, "fault: restart")
	o.m.begin(why, "fault: restart")
	return nil
}

// serverTarget is one API server.
type serverTarget struct {
	process
	servers *apiServers
	server  *balancer.Backend
}

func (t serverTarget) Slow(d time.Duration, _ []trace.ID) error {
	t.servers.slow(t.server, d)
	return nil
}

// kmsTarget is the KMS plugin.
type kmsTarget struct {
	process
	plugin *kms.Plugin
}

func (t kmsTarget) Rotate([]trace.ID) error {
	t.plugin.Rotate()
	return nil
}

// providerTarget is the identity provider.
type providerTarget struct {
	calledOut
	provider *idp.Provider
}

func (t providerTarget) Slow(d time.Duration, _ []trace.ID) error {
	t.provider.Slow(d)
	return nil
}

func (t providerTarget) Rotate([]trace.ID) error {
	t.provider.Rotate()
	return nil
}

// webhookTarget is one webhook server.
type webhookTarget struct {
	calledOut
	servers *webhook.Servers
	name    string
}

func (t webhookTarget) Slow(d time.Duration, _ []trace.ID) error {
	t.servers.Slow(t.name, d)
	return nil
}

func (t webhookTarget) Lies() []string {
	lies := webhook.Lies(t.name)
	names := make([]string, len(lies))
	for i, l := range lies {
		names[i] = string(l)
	}
	return names
}

func (t webhookTarget) Lie(how string, _ []trace.ID) error {
	t.servers.SetLie(t.name, webhook.Lie(how))
	return nil
}

func (t webhookTarget) Heal([]trace.ID) error {
	t.servers.Slow(t.name, 0)
	t.servers.SetLie(t.name, webhook.Honest)
	return nil
}
