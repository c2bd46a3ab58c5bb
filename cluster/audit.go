package cluster

import (
	"errors"
	"strings"

	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/audit"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// auditDisks are the targets of the disks that the API servers' audit logs are on:
// "audit" is the first one's, "audit/b" that of apiserver/b.
func (c *Cluster) auditDisks() []string {
	disks := []string{auditDisk(trace.CompAPIServer)} // before there is a server, too
	for i, s := range c.balancer.Backends() {
		if i > 0 {
			disks = append(disks, auditDisk(s.Name))
		}
	}
	return disks
}

func auditDisk(server string) string {
	return "audit" + strings.TrimPrefix(server, trace.CompAPIServer)
}

// auditTarget is the disk of one API server's audit log.
func (c *Cluster) auditTarget(name string) (any, error) {
	for _, s := range c.balancer.Backends() {
		if auditDisk(s.Name) == name {
			return auditDiskTarget{s.Server}, nil
		}
	}
	if c.server == nil {
		return nil, errors.New("the API server has not been started yet")
	}
	return nil, c.noTarget(name)
}

type auditDiskTarget struct{ server *apiserver.Server }

func (t auditDiskTarget) Full(yes bool, _ []trace.ID) error {
	t.server.Auditor().Fill(yes)
	return nil
}

func (p controlPlane) Audit() audit.State { return p.server().Auditor().State() }

func (p controlPlane) WriteAuditPolicy(t *sim.Task, file []byte) error {
	if file == nil {
		p.server().Auditor().Remove(t)
		return nil
	}
	return p.server().Auditor().Write(t, file)
}

func (p controlPlane) WriteConfig(t *sim.Task, name string, file []byte) error {
	return p.server().ConfigFiles().Write(t, name, file)
}

func (p controlPlane) Config(name string) apiserver.ConfigState {
	return p.server().ConfigFiles().State(name)
}

func (p controlPlane) ReadFile(name string) ([]byte, error) { return p.server().ReadFile(name) }

func (p controlPlane) Files() []string { return p.server().Files() }
