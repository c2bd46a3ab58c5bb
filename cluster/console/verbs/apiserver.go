package verbs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// apiserverVerb is kviz apiserver: what an administrator does in a terminal on
// the control plane's machines. Each API server is configured on a machine of its
// own: what is said is done on all of them, or on the one that --server names.
func apiserverVerb(ctx context.Context, inv *use, args []string) int {
	server, args, err := takeServer(args)
	if err != nil {
		return inv.did(err)
	}
	if len(args) == 0 {
		return inv.badUse()
	}
	switch args[0] {
	case "add", "remove", "servers":
		if server != "" {
			return inv.badUse()
		}
		return serversVerb(ctx, inv, args)
	}
	plane := inv.cfg.ControlPlane
	if plane == nil {
		return serverVerb(ctx, inv, args)
	}
	var servers []Server
	if err := inv.Kernel.Do(func() { servers = plane.Servers.List() }); err != nil {
		return inv.did(err)
	}
	if server != "" {
		if servers, err = named(servers, server); err != nil {
			return inv.did(err)
		}
		inv.server = servers[0].Name
		return serverVerb(ctx, inv, args)
	}
	if len(servers) < 2 || args[0] == "storm" || args[0] == "pollers" { // whose requests the load balancer deals out
		return serverVerb(ctx, inv, args)
	}
	return onEach(ctx, inv, args, servers)
}

// serverVerb is a verb about one API server: the one of inv.server.
func serverVerb(ctx context.Context, inv *use, args []string) int {
	switch args[0] {
	case "encryption":
		return encryptionVerb(ctx, inv, args)
	case "audit":
		return auditVerb(ctx, inv, args[1:])
	case "admission", "tokens", "authentication", "token-webhook", "authorization":
		return configVerb(ctx, inv, args[0], args[1:])
	case "concurrency":
		return concurrencyVerb(ctx, inv, args[1:])
	case "storm":
		return stormVerb(ctx, inv, args[1:])
	case "pollers":
		return pollersVerb(ctx, inv, args[1:])
	case "etcd-servers":
		return etcdServersVerb(ctx, inv, args[1:])
	}
	return inv.badUse()
}

// onEach does a verb at one server after another, until one refuses. What several
// say in the same words is printed once.
func onEach(ctx context.Context, inv *use, args []string, servers []Server) int {
	var file []byte
	if slices.Contains(args, "-") {
		var err error
		if file, err = io.ReadAll(inv.In); err != nil {
			return inv.did(err)
		}
	}
	type said struct{ who, what string }
	var all []said
	code := 0
	for _, s := range servers {
		var out bytes.Buffer
		one := *inv.Invocation
		one.Out = &out
		if file != nil {
			one.In = bytes.NewReader(file)
		}
		if code = serverVerb(ctx, &use{Invocation: &one, cfg: inv.cfg, server: s.Name}, args); code != 0 {
			break
		}
		if n := len(all); n > 0 && all[n-1].what == out.String() {
			all[n-1].who += ", " + s.Name
			continue
		}
		all = append(all, said{s.Name, out.String()})
	}
	for _, x := range all {
		fmt.Fprintf(inv.Out, "%s:\n%s", x.who, x.what)
	}
	return code
}

// takeServer takes --server=NAME out of the arguments.
func takeServer(args []string) (name string, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		switch value, ok := strings.CutPrefix(args[i], "--server="); {
		case ok:
			name = value
		case args[i] == "--server" && i+1 < len(args):
			i++
			name = args[i]
		case args[i] == "--server":
			return "", nil, errors.New("--server wants the name of an API server: kviz apiserver servers lists them")
		default:
			rest = append(rest, args[i])
			continue
		}
		if name == "" {
			return "", nil, errors.New("--server wants the name of an API server: kviz apiserver servers lists them")
		}
	}
	return name, rest, nil
}

// named is the server of a name: "apiserver/b", or "b".
func named(servers []Server, name string) ([]Server, error) {
	var names []string
	for i, s := range servers {
		if s.Name == name || s.Name == "apiserver/"+name {
			return servers[i : i+1], nil
		}
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("there is no API server %q: one of %s", name, strings.Join(names, ", "))
}
