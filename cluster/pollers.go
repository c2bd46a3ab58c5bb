package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/balancer"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// pollers are programs that do not watch: each lists a kind again and again, as
// scripts around kubectl get do. They are here to be compared with watches.
type pollers struct {
	k        *sim.Kernel
	balancer *balancer.Balancer
	p        *sim.Process // nil while there are none
}

// mostPollers is how many there may be.
const mostPollers = 1000

// Set has so many clients list a resource each time so much virtual time has passed,
// instead of those that do; 0 ends them.
func (p *pollers) Set(t *sim.Task, count int, resource string, every time.Duration) error {
	if count < 0 || count > mostPollers {
		return fmt.Errorf("%d: there may be 0 to %d pollers", count, mostPollers)
	}
	kinds := client.Resources()
	i := slices.IndexFunc(kinds, func(r client.Resource) bool { return r.Resource == resource })
	if i < 0 {
		var names []string
		for _, k := range kinds {
			names = append(names, k.Resource)
		}
		return fmt.Errorf("there is no %q: pollers list one of %s", resource, strings.Join(names, ", "))
	}
	if p.p != nil {
		p.p.Kill()
		p.p = nil
	}
	if count == 0 {
		return nil
	}
	p.p = p.k.NewProcess(trace.Lane{Component: trace.CompClient, Instance: "pollers"})
	causes := t.Causes()
	for n := range count {
		name := fmt.Sprintf("poller-%d", n+1)
		first := every * time.Duration(n) / time.Duration(count) // they begin at different moments, as programs do
		p.p.Go(name, func(t *sim.Task) {
			t.SetCauses(causes...)
			for t.Sleep(first); ; t.Sleep(every) {
				user := authn.User{Name: name, Groups: []string{authn.Masters}}
				p.balancer.Handle(t, &request.Request{Verb: "list", Resource: kinds[i].GroupVersionResource, User: &user, Client: name})
			}
		})
	}
	return nil
}
