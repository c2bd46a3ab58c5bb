package cluster

import (
	"strings"

	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/balancer"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

func (p controlPlane) SetConcurrency(t *sim.Task, total int) error {
	return p.server().Seats().SetConcurrency(t, total)
}

func (p controlPlane) Concurrency() (total int, levels []fairness.State) {
	return p.server().Seats().Total(), p.server().Seats().Stand()
}

func (p controlPlane) Storm(t *sim.Task, name string, n int) (answered, rejected int) {
	user := authn.User{Name: name}
	if parts := strings.Split(name, ":"); len(parts) == 4 && strings.HasPrefix(name, "system:serviceaccount:") {
		user = authn.ServiceAccount(parts[2], parts[3])
	}
	door := apiserver.Door(balancer.Once{Balancer: p.c.balancer})
	if p.at != nil {
		door = p.at.Server
	}
	return apiserver.Storm(t, door, &apiserver.Request{Verb: "list", Resource: client.Pods.GroupVersionResource, User: &user, Client: "storm"}, n)
}
