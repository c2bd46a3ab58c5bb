package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"kviz/cluster/console/etcdtool"
)

func etcdctlCommand() *command {
	return &command{
		name: "etcdctl", usage: "ARGUMENTS", raw: true,
		short: "etcdctl, for the store of a running kviz",
		long: `etcd's own etcdctl v3.7.3. Unless flags or ETCDCTL_ variables say otherwise, it talks to the members of
kviz serve --etcd-port N, with their certificates. kviz etcdctl help lists its commands.`,
		example: "kviz etcdctl get /registry --prefix --keys-only\nkviz etcdctl --endpoints=127.0.0.1:2379 put greeting hello",
		run: func(_ context.Context, io streams, args []string) error {
			if len(args) == 1 && (args[0] == "-h" || args[0] == "--help") {
				printHelp(io.out, etcdctlCommand())
				return nil
			}
			if err := defaultEtcd(args); err != nil {
				return err
			}
			etcdtool.Main(etcdtool.Etcdctl, args)
			return nil // it has ended the process
		},
	}
}

// offline are the commands of etcdctl that need no store.
var offline = []string{"help", "version", "completion", "options"}

// defaultEtcd sets the variables for etcdctl that nobody has set. Where it is
// told other endpoints than the running kviz's, none.
func defaultEtcd(args []string) error {
	if len(args) == 0 || slices.Contains(offline, args[0]) || slices.Contains(args, "--help") {
		return nil
	}
	asked := os.Getenv("ETCDCTL_ENDPOINTS")
	given := map[string]bool{}
	for i, a := range args {
		name, value, has := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		given[name] = true
		if name == "endpoints" && !has && i+1 < len(args) {
			value = args[i+1]
		}
		if name == "endpoints" {
			asked = value
		}
	}
	s, err := servedStore(asked)
	if err != nil || s == nil {
		return err
	}
	vars := s.etcdctl()
	if len(vars) == 0 {
		return errNoEtcd
	}
	for _, v := range vars {
		flag := strings.ToLower(strings.TrimPrefix(v[0], "ETCDCTL_"))
		if os.Getenv(v[0]) == "" && !given[flag] {
			os.Setenv(v[0], v[1])
		}
	}
	return nil
}

// servedStore is the kviz whose store is at the endpoints that are asked for, nil if they
// are another store's; the one that is meant, if none are.
func servedStore(asked string) (*served, error) {
	if asked == "" {
		s, err := readServed("")
		return &s, err
	}
	all, err := readAllServed()
	if err != nil {
		return nil, nil // they are not looked for
	}
	for _, s := range all {
		if s.serves(asked) {
			return &s, nil
		}
	}
	return nil, nil
}

// serves reports whether all of the endpoints are this kviz's.
func (s served) serves(endpoints string) bool {
	for e := range strings.SplitSeq(endpoints, ",") {
		if !slices.Contains(strings.Split(s.Etcd, ","), strings.TrimSpace(e)) {
			return false
		}
	}
	return s.Etcd != ""
}

var errNoEtcd = errors.New("the kviz that is being served does not serve its store; start it with kviz serve --etcd-port 2379")
