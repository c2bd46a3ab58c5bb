package cluster

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/sim"
)

// applyAddons is kubeadm init phase addon: it makes what the add-ons need, where it
// is missing.
func (c *Cluster) applyAddons(t *sim.Task) error {
	installer := c.client(t.Lane(), authn.Admin())
	for r, obj := range corednsRights() {
		if _, err := installer.Create(t, r, "", obj); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// reinstall makes a cluster usable again whose API was emptied. Nobody does that
// by itself: kubeadm applied its add-ons once, and a kubelet registers its node
// only when it starts (pkg/kubelet kubelet_node_status.go registerWithAPIServer).
// A kubelet that starts ends the containers of pods that the API does not know.
func (c *Cluster) reinstall(t *sim.Task) error {
	if err := c.applyAddons(t); err != nil {
		return err
	}
	again := []*component{c.component("dns")}
	for _, n := range c.nodes {
		again = append(again, n.proxy, n.kubelet)
	}
	for _, m := range again {
		if m != nil && m.up() {
			m.stop(c.k, t.Causes(), "installed again")
			m.begin(c.k, t.Causes(), "installed again")
		}
	}
	return nil
}
