package cluster

import (
	"context"
	"fmt"
	"strings"

	"kviz/assets"
	"kviz/cluster/console"
	"kviz/cluster/control"
	"kviz/cluster/expr"
	"kviz/cluster/serve"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// openConsole makes the HTTP edge of the API and the console that stands before it.
func (c *Cluster) openConsole() {
	c.api = serve.New(serve.Config{Kernel: c.k, API: func() serve.API {
		if c.server == nil || !c.balancer.Answers() {
			return nil
		}
		return c.balancer
	}, Documents: assets.Documents()})
	c.console = console.New(console.Config{
		Kernel: c.k, API: c.api, Machine: c, Nodes: shells{c}, Etcd: etcd{c},
		Compile: c.condition, Value: c.valueOf, Manifests: assets.Manifests(), Docs: assets.Docs(), ControlPlane: controlPlane{c: c}, Server: c.directTo,
	})
}

// directTo is the HTTP edge of one API server, past the load balancer: kubectl
// --server=b, or --server=https://192.168.0.2:6443.
func (c *Cluster) directTo(server string) (*serve.Handler, error) {
	name := ""
	var known []string
	asked := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(server, "https://"), "http://"), "/")
	if err := c.k.Do(func() {
		for _, s := range c.balancer.Backends() {
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
	c.direct.Lock()
	defer c.direct.Unlock()
	h := c.direct.by[name]
	if h == nil {
		h = c.api.Another(func() serve.API {
			if s := c.backend(name); s != nil && s.Server.Ready() {
				return s.Server
			}
			return nil
		})
		if c.direct.by == nil {
			c.direct.by = map[string]*serve.Handler{}
		}
		c.direct.by[name] = h
	}
	return h, nil
}

// closeDirect ends every open request to one API server.
func (c *Cluster) closeDirect() {
	c.direct.Lock()
	defer c.direct.Unlock()
	for _, h := range c.direct.by {
		h.Close()
	}
}

// Exec runs one console line and gives its exit status.
func (c *Cluster) Exec(ctx context.Context, line string, streams control.Streams) int {
	return c.console.Exec(ctx, line, streams)
}

// Stand has the console stand in a folder; it gives where it stood.
func (c *Cluster) Stand(dir string) (before string) { return c.console.Stand(dir) }

// Console is the cluster's console.
func (c *Cluster) Console() *console.Console { return c.console }

// Trace is the stream of events.
func (c *Cluster) Trace() *trace.Stream { return c.stream }

// compile makes a condition on an event of an expression. It is used on the
// kernel's goroutine.
func (c *Cluster) compile(src string) (func(*trace.Event) bool, error) {
	if strings.TrimSpace(src) == "" {
		return nil, errNoExpression
	}
	p, err := expr.Compile(src)
	if err != nil {
		return nil, err
	}
	return func(e *trace.Event) bool {
		holds, err := p.Eval(c.folded(), e)
		return err == nil && holds
	}, nil
}

// condition is compile for the console, which asks about the newest event.
func (c *Cluster) condition(src string) (console.Condition, error) {
	if strings.TrimSpace(src) == "" {
		return nil, errNoExpression
	}
	p, err := expr.Compile(src)
	if err != nil {
		return nil, err
	}
	return func() (bool, error) { return p.Eval(c.folded(), c.stream.Last()) }, nil
}

// valueOf is an expression's value as text, for the console; on the kernel's goroutine.
func (c *Cluster) valueOf(src string) (string, error) {
	p, err := expr.CompileAny(src)
	if err != nil {
		return "", err
	}
	return p.Text(c.folded(), c.stream.Last())
}

// folded is the state after the newest event. The fold costs something, so it
// is made only from the moment an expression first asks; it is the kernel's own,
// beside the viewers' histories.
func (c *Cluster) folded() *view.State {
	if c.fold == nil {
		c.fold = view.NewBuilder()
		c.foldAt = c.stream.First()
	}
	for {
		events, next, _ := c.stream.Read(c.foldAt, 4096)
		c.foldAt = next
		for _, e := range events {
			c.fold.Apply(e)
		}
		if len(events) == 0 {
			return c.fold.Live()
		}
	}
}
