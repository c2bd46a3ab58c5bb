package cluster

import (
	"strings"

	"kviz/cluster/apiserver"
	"kviz/cluster/trace"
)

// auditDisks are the targets of the disks that the API servers' audit logs are on:
// "audit" is the first one's, "audit/b" that of apiserver/b.
type auditDisks struct{ servers *apiServers }

func (a auditDisks) names() []string {
	disks := []string{auditDisk(trace.CompAPIServer)} // before there is a server, too
	for i, s := range a.servers.balancer.Backends() {
		if i > 0 {
			disks = append(disks, auditDisk(s.Name))
		}
	}
	return disks
}

func auditDisk(server string) string {
	return "audit" + strings.TrimPrefix(server, trace.CompAPIServer)
}

func (a auditDisks) find(name string) (any, error) {
	for _, s := range a.servers.balancer.Backends() {
		if auditDisk(s.Name) == name {
			return auditDiskTarget{s.Server}, nil
		}
	}
	if a.servers.first == nil {
		return nil, errNoServer
	}
	return nil, nil
}

// auditDiskTarget is the disk of one API server's audit log.
type auditDiskTarget struct{ server *apiserver.Server }

func (t auditDiskTarget) Full(yes bool, _ []trace.ID) error {
	t.server.Auditor().Fill(yes)
	return nil
}
