package cluster

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"kviz/cluster/serve"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// edges are where HTTP requests enter the cluster: through the load balancer, or, for
// kubectl --server, past it at one API server.
type edges struct {
	k       *sim.Kernel
	servers *apiServers
	api     *serve.Handler

	mu     sync.Mutex
	direct map[string]*serve.Handler // by API server, made when they are used
}

func newEdges(k *sim.Kernel, servers *apiServers, docs fs.FS) *edges {
	e := &edges{k: k, servers: servers, direct: map[string]*serve.Handler{}}
	e.api = serve.New(serve.Config{
		Kernel: k, Documents: docs,
		API: func() serve.API {
			if servers.first == nil || !servers.balancer.Answers() {
				return nil
			}
			return servers.balancer
		},
		Starting: func() bool { return servers.first == nil || !servers.first.Begun() },
	})
	return e
}

// to is the edge of one API server, past the load balancer: kubectl
// --server=b, or --server=https://192.168.0.2:6443.
func (e *edges) to(server string) (*serve.Handler, error) {
	name := ""
	var known []string
	asked := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(server, "https://"), "http://"), "/")
	if err := e.k.Do(func() {
		for _, s := range e.servers.balancer.Backends() {
			if asked == s.Name || trace.CompAPIServer+"/"+asked == s.Name || asked == s.Address {
				name = s.Name
			}
			known = append(known, s.Name+" at https://"+s.Address)
		}
	}); err != nil {
		return nil, err
	}
	if name == "" {
		return nil, fmt.Errorf("there is no API server %q: one of %s; without --server it is whom the load balancer chooses", server, strings.Join(known, ", "))
	}
	return e.at(name), nil
}

// at is the edge of the API server of a name.
func (e *edges) at(name string) *serve.Handler {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.direct[name]
	if h == nil {
		h = e.api.Another(name, func() serve.API {
			if s := e.servers.backend(name); s != nil && s.Server.Ready() {
				return s.Server
			}
			return nil
		})
		e.direct[name] = h
	}
	return h
}

// again lets in what entered then, on the kernel's goroutine.
func (e *edges) again(in *trace.Input, console *sim.Process) (bool, error) {
	h := e.api
	if server := serve.ServerOf(in); server != "" {
		h = e.at(server)
	}
	return h.Again(in, console)
}

// leave ends what nobody reads; on the kernel's goroutine.
func (e *edges) leave() {
	e.api.Leave()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(e.direct)) {
		e.direct[name].Leave()
	}
}

// close ends every open request.
func (e *edges) close() {
	e.api.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range e.direct {
		h.Close()
	}
}
