package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/control"
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

// webhookFault is a fault of one webhook server.
func (c *Cluster) webhookFault(name string, f control.Fault) (action, error) {
	m := c.component(f.Target)
	if m == nil {
		return nil, c.noTarget(f.Target)
	}
	slow, lie := time.Duration(0), webhook.Honest
	switch f.Name {
	case "slow":
		d, err := duration(f.Args, 0, "slow wants how much longer each review takes, such as 30s")
		if err != nil {
			return nil, err
		}
		slow = d
	case "lie":
		lies := webhook.Lies(name)
		lie = lies[0]
		if len(f.Args) > 0 {
			lie = webhook.Lie(f.Args[0])
		}
		if !slices.Contains(lies, lie) {
			names := make([]string, len(lies))
			for i, l := range lies {
				names[i] = string(l)
			}
			return nil, fmt.Errorf("%q is no lie of %s: one of %s", lie, name, strings.Join(names, ", "))
		}
	}
	return func(causes []trace.ID) error {
		switch f.Name {
		case "slow", "fast":
			c.webhooks.Slow(name, slow)
		case "lie":
			c.webhooks.SetLie(name, lie)
		case "heal":
			c.webhooks.Slow(name, 0)
			c.webhooks.SetLie(name, webhook.Honest)
		default:
			c.outsideFault(m, f.Name, causes)
		}
		return nil
	}, nil
}
