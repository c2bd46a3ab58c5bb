package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"kviz/cluster"
	"kviz/raftstore"
	"kviz/raftstore/remote"
)

// memberCommand is one member of the store as a process of its own.
func memberCommand() *command {
	var (
		name, listen, dir, certs string
		peers                    []string
	)
	return &command{
		name: "member", usage: "--name NAME --dir DIR --certs DIR [flags]\n       kviz member certs DIR [NAME…]",
		short: "one member of the store as a process of its own, for kviz serve --members",
		long: `Members talk to each other, and to the kviz that drives them, over TLS 1.3. Both sides need certificates of the same
authority. kviz member certs makes an authority, certificates for the named members (by default a, b and c) and one for
the driver; it keeps what exists. A machine needs only ca.crt and the pair with its own name.

A member whose folder is empty waits for a driver. kviz serve --members makes a group of members that all have
no log. Otherwise it takes the group over as it is, and empty members wait to join (kviz etcdctl member add). A member
whose folder holds a log goes on by itself, also without a driver.`,
		example: `kviz member certs ./certs
kviz member --name a --listen 127.0.0.1:7001 --dir ./a --certs ./certs
kviz serve --members 127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003 --certs ./certs`,
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&name, "name", "", "the member: a, b, c … in order of joining; a name is never used again")
			f.StringVar(&listen, "listen", "127.0.0.1:0", "where to listen, host:port; this machine only, if nothing else is said")
			f.StringVar(&dir, "dir", "", "the member's own folder, for its log and snapshots")
			f.StringVar(&certs, "certs", "", "the folder with ca.crt, NAME.crt and NAME.key")
			f.StringSliceVar(&peers, "peers", nil, "where other members are now, `NAME=host:port`; a driver tells it too")
		},
		run: func(ctx context.Context, io streams, args []string) error {
			if len(args) > 0 && args[0] == "certs" {
				return makeCerts(io, args[1:])
			}
			if len(args) > 0 {
				return &usageError{text: fmt.Sprintf("unexpected %q", args[0])}
			}
			for flag, value := range map[string]string{"--name": name, "--dir": dir, "--certs": certs} {
				if value == "" {
					return &usageError{text: "a member needs --name, --dir and --certs; " + flag + " is missing"}
				}
			}
			if err := remote.CheckName(name); err != nil {
				return &usageError{text: "--name: " + err.Error()}
			}
			book, err := addressBook(peers)
			if err != nil {
				return err
			}
			creds, err := remote.LoadCredentials(certs, name)
			if err != nil {
				return err
			}
			p, err := remote.Serve(remote.ProcessConfig{Name: name, Listen: listen, Dir: dir, Credentials: creds, Peers: book, Log: io.out, Alarms: io.err})
			if err != nil {
				return err
			}
			select {
			case <-ctx.Done():
			case <-p.Done():
			}
			return errors.Join(p.Failed(), p.Close())
		},
	}
}

func makeCerts(io streams, args []string) error {
	if len(args) == 0 {
		return &usageError{text: "certs needs a folder"}
	}
	names := args[1:]
	if len(names) == 0 {
		names = []string{"a", "b", "c"}
	}
	made, err := remote.MakeCerts(args[0], append(slices.Clone(names), remote.Driver)...)
	for _, f := range made {
		fmt.Fprintln(io.out, f)
	}
	return err
}

// addressBook reads NAME=host:port.
func addressBook(list []string) (map[string]string, error) {
	book := map[string]string{}
	for _, entry := range list {
		name, addr, ok := strings.Cut(entry, "=")
		if !ok || remote.CheckName(name) != nil || !isAddress(addr) {
			return nil, &usageError{text: fmt.Sprintf("--peers %q: want NAME=host:port", entry)}
		}
		book[name] = addr
	}
	return book, nil
}

func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	n, portErr := strconv.Atoi(port)
	return err == nil && portErr == nil && n > 0 && n < 1<<16
}

// members is the value of --members: how many, or where.
type members struct {
	n     int
	addrs []string // nil if they are in this process
}

func (m *members) Type() string { return "N|ADDRESSES" }

func (m *members) String() string {
	if m.addrs != nil {
		return strings.Join(m.addrs, ",")
	}
	return strconv.Itoa(m.n)
}

// Set reads the flag.
func (m *members) Set(s string) error {
	if n, err := strconv.Atoi(s); err == nil {
		*m = members{n: n}
		return nil
	}
	addrs := strings.Split(s, ",")
	for _, a := range addrs {
		if !isAddress(a) {
			return fmt.Errorf("%q is neither a number nor host:port", a)
		}
	}
	*m = members{n: len(addrs), addrs: addrs}
	return nil
}

// reach checks --members, and takes up the certificate for members elsewhere.
func (s *shape) reach(cfg *cluster.Config) error {
	switch {
	case s.members.addrs == nil && (s.members.n < 1 || s.members.n > 9):
		return &usageError{text: fmt.Sprintf("--members %d: a raft store has 1 to 9", s.members.n)}
	case s.members.addrs == nil && s.certs != "":
		return &usageError{text: "--certs goes with addresses in --members"}
	case s.members.addrs == nil:
		return nil
	case s.certs == "":
		return &usageError{text: "--members with addresses needs --certs, the folder with the driver's certificate (kviz member certs)"}
	case s.dataDir != "":
		return &usageError{text: "--data-dir is for members of this process; those in --members have their own folders"}
	}
	creds, err := remote.LoadCredentials(s.certs, remote.Driver)
	if err != nil {
		return err
	}
	cfg.Remote = &raftstore.Remote{Addrs: s.members.addrs, Credentials: creds}
	return nil
}
