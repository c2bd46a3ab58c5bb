package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

func serveCommand() *command {
	var (
		s shape
		e endpoints
	)
	return &command{
		name: "serve", usage: "[flags]",
		short: "a cluster for kubectl and other programs of this machine, without a screen",
		long: `The API is served over TLS on 127.0.0.1, to anyone with the kubeconfig (a new one each time, readable
by its owner only). kviz env, in another terminal, prints the environment variables for clients.
With --etcd-port etcdctl reaches the store's members, over TLS with client certificates (kviz etcdctl finds them).
Containers are simulated: kubectl logs, exec, attach and port-forward reach them, and they speak HTTP.
With --without scheduler kviz starts none, and a kube-scheduler or one that you wrote can take its place, with the
kubeconfig scheduler.conf that is written beside the other one; likewise --without controller-manager
and cloud-controller-manager. With --cloud-provider external the machines are instances of a cloud (kviz help cloud).`,
		example: "kviz serve --port 6443\neval \"$(kviz env)\"; kubectl get nodes\nkviz serve --without scheduler --kubeconfig admin.conf\nkube-scheduler --kubeconfig=scheduler.conf\nkviz serve --cloud-provider external",
		flags: func(f *pflag.FlagSet) {
			s.register(f, "1", liveEpoch)
			e.register(f)
		},
		run: func(ctx context.Context, io streams, args []string) error {
			if len(args) > 0 {
				return &usageError{text: fmt.Sprintf("unexpected %q", args[0])}
			}
			cfg, err := s.config(false)
			if err == nil {
				err = e.check()
			}
			if err != nil {
				return err
			}
			cfg.Limit = s.headless()
			c, end, err := s.boot(ctx, cfg, "serve")
			if err != nil {
				return err
			}
			quiet := alarms(c.Trace(), io.err)
			defer quiet()
			shut, err := e.open(c)
			if err != nil {
				return errors.Join(err, end())
			}
			if err := c.WaitReady(ctx); err == nil {
				if err := e.lend(c, cfg.Without); err != nil {
					return errors.Join(err, shut(), end())
				}
				at := c.Endpoints()
				fmt.Fprintf(io.out, "%s, %d nodes ready\n", at.APIServer, c.ReadyNodes())
				found := served{Etcd: at.Etcd, EtcdCA: at.EtcdCA, EtcdCert: at.EtcdCert, EtcdKey: at.EtcdKey}
				// Only a path that is no text could fail, and then kviz env tells.
				_ = exports(io.out, usualShell(), append([][2]string{{"KUBECONFIG", at.Kubeconfig}}, found.etcdctl()...))
				for i, path := range at.Lent {
					fmt.Fprintf(io.out, "for the %s of your own: --kubeconfig=%s\n", strings.ReplaceAll(cfg.Without[i], "-", " "), path)
				}
			}
			telling, hush := context.WithCancel(ctx)
			told := make(chan struct{})
			go func() { defer close(told); tellPace(telling, io.err, c.Trace()) }()
			select {
			case <-ctx.Done():
			case <-c.Ended():
			}
			hush()
			<-told
			shutErr := shut()
			err = end()
			broken(io.err, c, err)
			return errors.Join(err, shutErr)
		},
	}
}

// headlessEvents are some minutes of a cluster at rest. Nobody goes back where there
// is no screen, and the trace is most of what a cluster's memory is made of: 200,000
// events, which are an hour and a half at rest, take 140 to 230 MiB.
const headlessEvents = 16_000

// headless is how many events a cluster without a screen keeps in memory: as many as
// any other where they are recorded, for a slow disk may fall behind.
func (s *shape) headless() int {
	if s.record != "" {
		return 0
	}
	return headlessEvents
}
