package cluster

import (
	"strings"

	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

func (p controlPlane) SetConcurrency(t *sim.Task, total int) error {
	return p.c.server.SetConcurrency(t, total)
}

func (p controlPlane) Concurrency() (total int, levels []fairness.State) {
	return p.c.server.Concurrency(), p.c.server.FlowLevels()
}

func (p controlPlane) Storm(t *sim.Task, name string, n int) (answered, rejected int) {
	user := authn.User{Name: name}
	if parts := strings.Split(name, ":"); len(parts) == 4 && strings.HasPrefix(name, "system:serviceaccount:") {
		user = authn.ServiceAccount(parts[2], parts[3])
	}
	return p.c.server.Storm(t, &apiserver.Request{Verb: "list", Resource: client.Pods.GroupVersionResource, User: &user, Client: "storm"}, n)
}
