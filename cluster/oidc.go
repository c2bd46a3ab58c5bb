package cluster

import (
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

// Login logs somebody in at the identity provider.
func (p controlPlane) Login(t *sim.Task, l idp.Login) (string, error) {
	return p.c.provider.Login(t, l)
}

// Provider tells how the identity provider is.
func (p controlPlane) Provider() idp.State { return p.c.provider.State() }
