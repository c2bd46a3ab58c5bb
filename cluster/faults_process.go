package cluster

import (
	"time"

	"kviz/cluster/balancer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/cluster/webhook"
)

// processTarget is a component as faults see it; name is what follows its kind.
func (c *Cluster) processTarget(m *component, name string) any {
	p := process{c, m}
	switch {
	case isServer(m.target):
		if s := c.backend(m.target); s != nil {
			return serverTarget{p, s}
		}
	case m.target == trace.CompKMS:
		return kmsTarget{p}
	case m.target == trace.CompOIDC:
		return providerTarget{outside{c, m}}
	case m.lane.Component == trace.CompWebhook:
		return webhookTarget{outside{c, m}, name}
	}
	return p
}

// process is a component of the cluster.
type process struct {
	c *Cluster
	m *component
}

func (p process) Stop(why []trace.ID) error {
	p.m.stop(p.c.k, why, "fault: stop")
	return nil
}

func (p process) Crash(why []trace.ID) error {
	p.m.end(p.c.k, why, "fault: crash")
	return nil
}

func (p process) Start(why []trace.ID) error {
	p.m.begin(p.c.k, why, "started again")
	return nil
}

func (p process) Restart(why []trace.ID) error {
	p.m.stop(p.c.k, why, "fault: restart")
	p.m.begin(p.c.k, why, "fault: restart")
	return nil
}

// outside is a server outside the cluster, which begins by itself when it is asked for the
// first time.
type outside struct {
	c *Cluster
	m *component
}

func (o outside) end(why []trace.ID, reason string) error {
	o.m.begin(o.c.k, why, "it has not been called yet")
	o.m.end(o.c.k, why, reason)
	return nil
}

func (o outside) Stop(why []trace.ID) error  { return o.end(why, "fault: stop") }
func (o outside) Crash(why []trace.ID) error { return o.end(why, "fault: crash") }

func (o outside) Start(why []trace.ID) error {
	o.m.begin(o.c.k, why, "started again")
	return nil
}

func (o outside) Restart(why []trace.ID) error {
	o.m.end(o.c.k, why, "fault: restart")
	o.m.begin(o.c.k, why, "fault: restart")
	return nil
}

// serverTarget is one API server.
type serverTarget struct {
	process
	server *balancer.Backend
}

func (t serverTarget) Slow(d time.Duration, _ []trace.ID) error {
	delay := t.c.slowed[t.m.target]
	if delay == nil {
		delay = &sim.Delay{}
		t.c.slowed[t.m.target] = delay
		t.server.Server.StandBefore(delay.Pass)
	}
	delay.Set(d)
	return nil
}

// kmsTarget is the KMS plugin.
type kmsTarget struct{ process }

func (t kmsTarget) Rotate([]trace.ID) error {
	t.c.kms.Rotate()
	return nil
}

// providerTarget is the identity provider.
type providerTarget struct{ outside }

func (t providerTarget) Slow(d time.Duration, _ []trace.ID) error {
	t.c.provider.Slow(d)
	return nil
}

func (t providerTarget) Rotate([]trace.ID) error {
	t.c.provider.Rotate()
	return nil
}

// webhookTarget is one webhook server.
type webhookTarget struct {
	outside
	name string
}

func (t webhookTarget) Slow(d time.Duration, _ []trace.ID) error {
	t.c.webhooks.Slow(t.name, d)
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
	t.c.webhooks.SetLie(t.name, webhook.Lie(how))
	return nil
}

func (t webhookTarget) Heal([]trace.ID) error {
	t.c.webhooks.Slow(t.name, 0)
	t.c.webhooks.SetLie(t.name, webhook.Honest)
	return nil
}
