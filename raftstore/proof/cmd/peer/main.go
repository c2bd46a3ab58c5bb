// Command peer serves three members in one process, to be measured: of real etcd, or
// of kviz' store without the rest of kviz. `kviz bench store` builds and starts it,
// and talks to it as described at bench.Serve.
//
// Start reading at main.
package main

import (
	"context"
	"fmt"
	"os"

	"kviz/raftstore/bench"
	"kviz/raftstore/proof/peer"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "kviz":
		return bench.ServeStore(context.Background(), args[1], os.Stdin, os.Stdout)
	case len(args) == 2 && args[0] == "etcd":
		cluster, err := peer.Start(args[1])
		if err != nil {
			return err
		}
		defer cluster.Close()
		return bench.Serve(os.Stdin, os.Stdout, cluster.Endpoints(), cluster.Kill, cluster.Restart)
	}
	return fmt.Errorf("usage: peer etcd|kviz DIR")
}
