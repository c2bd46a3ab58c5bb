package cluster

import (
	"fmt"

	"kviz/cluster/apiserver/serve"
	"kviz/cluster/control"
)

// Listen serves the API over HTTPS on loopback and writes a kubeconfig for it
// (none for an empty path). Port 0 takes a free one. Closing the cluster ends it.
func (c *Cluster) Listen(port int, kubeconfig string) (*serve.Listener, error) {
	l, err := c.api.Listen(port, kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("serve the API: %w", err)
	}
	c.endpoint.Store(&control.Endpoints{APIServer: l.URL, Kubeconfig: l.Kubeconfig, DataDir: c.cfg.DataDir})
	return l, nil
}

// Endpoints say how other programs reach the cluster.
func (c *Cluster) Endpoints() control.Endpoints {
	if e := c.endpoint.Load(); e != nil {
		return *e
	}
	return control.Endpoints{DataDir: c.cfg.DataDir}
}
