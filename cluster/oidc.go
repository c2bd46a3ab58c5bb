package cluster

import (
	"time"

	"kviz/cluster/control"
	"kviz/cluster/idp"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// addProvider makes the identity provider known. It runs from the moment somebody
// logs in, or an API server asks for its keys.
func (c *Cluster) addProvider() {
	c.addComponent("oidc", trace.Lane{Component: trace.CompOIDC}, c.provider.Start)
}

// beginProvider starts it when it is asked for the first time.
func (c *Cluster) beginProvider(causes []trace.ID) {
	c.component("oidc").begin(c.k, causes, "it is asked for the first time")
}

// providerFault is a fault of the identity provider.
func (c *Cluster) providerFault(f control.Fault) (action, error) {
	m := c.component(f.Target)
	if m == nil {
		return nil, c.noTarget(f.Target)
	}
	slow := time.Duration(0)
	if f.Name == "slow" {
		d, err := duration(f.Args, 0, "slow wants how much longer each answer takes, such as 31s")
		if err != nil {
			return nil, err
		}
		slow = d
	}
	return func(causes []trace.ID) error {
		switch f.Name {
		case "slow", "fast":
			c.provider.Slow(slow)
		case "rotate":
			c.provider.Rotate()
		default:
			c.outsideFault(m, f.Name, causes)
		}
		return nil
	}, nil
}

// outsideFault stops or starts a server outside, which begins by itself when it is
// asked for the first time.
func (c *Cluster) outsideFault(m *component, name string, causes []trace.ID) {
	switch name {
	case "stop", "crash":
		m.begin(c.k, causes, "it has not been called yet")
		m.end(c.k, causes, "fault: "+name)
	case "restart":
		m.end(c.k, causes, "fault: restart")
		m.begin(c.k, causes, "fault: restart")
	case "start":
		m.begin(c.k, causes, "started again")
	}
}

// Login logs somebody in at the identity provider.
func (p controlPlane) Login(t *sim.Task, l idp.Login) (string, error) {
	return p.c.provider.Login(t, l)
}

// Provider tells how the identity provider is.
func (p controlPlane) Provider() idp.State { return p.c.provider.State() }
