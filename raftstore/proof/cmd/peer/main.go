// Command peer serves three members of real etcd in one process, to be
// measured beside kviz' store: `kviz bench store` builds and starts it, and
// speaks to it as bench.Serve says.
package main

import (
	"fmt"
	"os"

	"kviz/raftstore/bench"
	"kviz/raftstore/proof/peer"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: peer DIR")
	}
	cluster, err := peer.Start(os.Args[1])
	if err != nil {
		return err
	}
	defer cluster.Close()
	return bench.Serve(os.Stdin, os.Stdout, cluster.Endpoints(), cluster.Kill, cluster.Restart)
}
