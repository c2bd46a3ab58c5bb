package garbage

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// Which kinds there are. Upstream asks every 30 s what is served and watches all of
// it (garbagecollector.go Sync); here the cluster tells when a kind comes into use.

// resourceOf is what a kind is served as (the REST mapper): a built-in one, or any
// version of a custom one.
func (c *Controller) resourceOf(apiVersion, kind string) (client.Resource, bool) {
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	for _, r := range client.All() {
		if r.GVK() == gvk {
			return r, true
		}
	}
	for _, k := range c.custom {
		for _, r := range k.Versions {
			if r.GVK() == gvk {
				return r, true
			}
		}
	}
	return client.Resource{}, false
}

// discover watches a built-in kind from its first object on.
func (c *Controller) discover(t *sim.Task, u client.Usage) {
	for known := 0; ; {
		for _, r := range u.AwaitUse(t, known) {
			known++
			c.watch(r)
		}
	}
}

// discoverCustom does so with the kinds that definitions make, each in the version
// that discovery prefers, and watches no longer what is served no longer
// (graph_builder.go syncMonitors).
func (c *Controller) discoverCustom(t *sim.Task, u client.Usage) {
	watched := map[client.Resource]bool{}
	for state := uint64(0); ; {
		gone := c.custom
		c.custom, state = u.AwaitCustomKinds(t, state)
		now := map[client.Resource]bool{}
		for _, k := range c.custom {
			r := k.Versions[0]
			if !k.Used && !watched[r] {
				continue
			}
			if now[r] = true; !watched[r] {
				c.watch(r)
			}
		}
		for _, k := range gone {
			if r := k.Versions[0]; watched[r] && !now[r] {
				c.Informers.Forget(r)
			}
		}
		watched = now
	}
}
