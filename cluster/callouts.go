package cluster

import (
	"kviz/cluster/idp"
	"kviz/cluster/kms"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/cluster/webhook"
)

// callouts are the simulated programs that API servers ask outside the cluster: the KMS
// plugin, the webhook servers, the identity provider.
type callouts struct {
	components *components
	kms        *kms.Plugin
	webhooks   *webhook.Servers
	provider   *idp.Provider
}

func newCallouts(k *sim.Kernel, components *components) *callouts {
	o := &callouts{components: components, kms: kms.New(k)}
	o.webhooks = webhook.New(o.beginWebhook)
	o.provider = idp.New(k, o.beginProvider)
	return o
}

// add makes them known. The KMS plugin runs from the moment a configuration of encryption
// at rest names one, as a static pod beside the API server would; a webhook server from
// the first call on: which pods or host it is behind, the webhook configurations say; the
// identity provider from the moment somebody logs in, or an API server asks for its keys.
func (o *callouts) add() {
	o.components.add(trace.CompKMS, trace.Lane{Component: trace.CompKMS}, o.kms.Start)
	for _, name := range webhook.Names() {
		o.components.add(webhookTargets+name, trace.Lane{Component: trace.CompWebhook, Instance: name}, func(p *sim.Process) { o.webhooks.Start(name, p) })
	}
	o.components.add(trace.CompOIDC, trace.Lane{Component: trace.CompOIDC}, o.provider.Start)
}

// webhookTargets is what faults put before a webhook server's name.
const webhookTargets = "webhook/"

// beginKMS starts the KMS plugin for an encryption configuration that names it, but not
// again where somebody has stopped it.
func (o *callouts) beginKMS(causes []trace.ID) {
	if m := o.components.find(trace.CompKMS); m.p == nil {
		m.begin(causes, "the encryption configuration names it")
	}
}

// beginWebhook starts a webhook server that is called for the first time.
func (o *callouts) beginWebhook(name string, causes []trace.ID) {
	o.components.find(webhookTargets+name).begin(causes, "the API server calls it")
}

// beginProvider starts the identity provider when it is asked for the first time.
func (o *callouts) beginProvider(causes []trace.ID) {
	o.components.find(trace.CompOIDC).begin(causes, "it is asked for the first time")
}
