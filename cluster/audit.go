package cluster

import (
	"errors"

	"kviz/cluster/apiserver"
	"kviz/cluster/control"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// auditFault is a fault of the disk that the API server's audit log is on.
func (c *Cluster) auditFault(f control.Fault) (action, error) {
	if c.server == nil {
		return nil, errors.New("the API server has not been started yet")
	}
	return func([]trace.ID) error {
		c.server.FillAuditDisk(f.Name == "fill")
		return nil
	}, nil
}

func (p controlPlane) Audit() apiserver.AuditState { return p.server().Audit() }

func (p controlPlane) WriteAuditPolicy(t *sim.Task, file []byte) error {
	if file == nil {
		p.server().RemoveAuditPolicy(t)
		return nil
	}
	return p.server().WriteAuditPolicy(t, file)
}

func (p controlPlane) WriteConfig(t *sim.Task, name string, file []byte) error {
	return p.server().WriteConfig(t, name, file)
}

func (p controlPlane) Config(name string) apiserver.ConfigState {
	return p.server().Config(name)
}

func (p controlPlane) ReadFile(name string) ([]byte, error) { return p.server().ReadFile(name) }
