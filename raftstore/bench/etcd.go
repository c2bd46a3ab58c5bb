package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// binaryMember is one process of a real etcd.
type binaryMember struct {
	argv    []string
	log     string
	process *exec.Cmd
}

func (m *binaryMember) start() error {
	log, err := os.OpenFile(m.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	m.process = exec.Command(m.argv[0], m.argv[1:]...)
	m.process.Stdout, m.process.Stderr = log, log
	return m.process.Start()
}

// kill is kill -9.
func (m *binaryMember) kill() error {
	if m.process == nil {
		return nil
	}
	err := m.process.Process.Kill()
	_ = m.process.Wait() // says that it was killed
	m.process = nil
	return err
}

// StartBinary starts three members of a real etcd, each a process with default
// settings, with their data in dir.
func StartBinary(ctx context.Context, binary, dir string) (*Server, error) {
	addresses, err := freeAddresses(6)
	if err != nil {
		return nil, err
	}
	clients, peers := addresses[:3], addresses[3:]
	var initial []string
	for i, p := range peers {
		initial = append(initial, fmt.Sprintf("m%d=http://%s", i, p))
	}
	var members []*binaryMember
	for i := range clients {
		name := fmt.Sprintf("m%d", i)
		members = append(members, &binaryMember{log: filepath.Join(dir, name+".log"), argv: []string{
			binary, "--name", name, "--data-dir", filepath.Join(dir, name), "--log-level", "error",
			"--listen-client-urls", "http://" + clients[i], "--advertise-client-urls", "http://" + clients[i],
			"--listen-peer-urls", "http://" + peers[i], "--initial-advertise-peer-urls", "http://" + peers[i],
			"--initial-cluster", strings.Join(initial, ","),
		}})
	}
	s := &Server{Name: "etcd", Endpoints: clients}
	s.processes = func() (pids []int) {
		for _, m := range members {
			if m.process != nil {
				pids = append(pids, m.process.Process.Pid)
			}
		}
		return pids
	}
	s.stop = func() (err error) {
		for _, m := range members {
			err = errors.Join(err, m.kill())
		}
		return err
	}
	var killed *binaryMember
	s.kill = func(ctx context.Context) error {
		leader, err := leaderOf(ctx, clients)
		if err != nil {
			return err
		}
		killed = members[leader]
		return killed.kill()
	}
	s.restart = func(context.Context) error { return killed.start() }
	for _, m := range members {
		if err := m.start(); err != nil {
			return nil, errors.Join(err, s.stop())
		}
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		if _, err = leaderOf(ctx, clients); err == nil {
			return s, nil
		}
		if time.Now().After(deadline) || wait(ctx, 50*time.Millisecond) != nil {
			return nil, errors.Join(fmt.Errorf("%s does not come up (its logs are in %s): %w", binary, dir, err), s.stop())
		}
	}
}

// leaderOf is the place of the leader's endpoint.
func leaderOf(ctx context.Context, endpoints []string) (int, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for i, e := range endpoints {
		r, err := c.Status(ctx, e)
		if err != nil {
			return 0, err
		}
		if r.Leader == r.Header.MemberId {
			return i, nil
		}
	}
	return 0, errors.New("no member leads")
}

// freeAddresses are addresses on loopback that nobody listens on now.
func freeAddresses(n int) (list []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		list = append(list, l.Addr().String())
	}
	return list, nil
}
