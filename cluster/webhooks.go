package cluster

import (
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/cluster/webhook"
)

// addWebhooks makes the simulated admission webhook servers known. Each runs from
// the moment the API server calls it for the first time: which pods or host it is
// behind, the webhook configurations say.
func (c *Cluster) addWebhooks() {
	for _, name := range webhook.Names() {
		c.addComponent("webhook/"+name, trace.Lane{Component: trace.CompWebhook, Instance: name}, func(p *sim.Process) { c.webhooks.Start(name, p) })
	}
}

// beginWebhook starts a webhook server that is called for the first time.
func (c *Cluster) beginWebhook(name string, causes []trace.ID) {
	c.component("webhook/"+name).begin(c.k, causes, "the API server calls it")
}
