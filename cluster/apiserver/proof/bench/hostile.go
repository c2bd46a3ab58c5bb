package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"kviz/cluster/bench/hostile"
)

// attack is the bench "hostile": what another client waits while a weak one sends what is costly, of
// the real kube-apiserver and of kviz, one after the other with the same requests.
func attack(ctx context.Context, w io.Writer, args []string) (err error) {
	flags := pflag.NewFlagSet("hostile", pflag.ContinueOnError)
	o := hostile.Options{}
	kviz := flags.String("kviz", "", "the kviz `binary` to attack")
	flags.Uint64Var(&o.Seed, "seed", 1, "of the requests")
	flags.Uint64Var(&o.First, "first", 0, "the number of the first request")
	flags.Uint64Var(&o.Count, "count", 0, "how many requests; 0: until the time is over")
	flags.DurationVar(&o.For, "for", time.Minute, "how long each server is attacked")
	flags.StringSliceVar(&o.Stores, "stores", []string{"mvcc", "raft"}, "the stores of kviz")
	flags.StringVar(&o.Only, "only", "", "only this part: "+strings.Join(hostile.Parts(), ", "))
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kviz-hostile-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	hostile.Head(w)
	var explain []func()
	tell := func(name string, r *hostile.Report) {
		r.Print(w, name)
		explain = append(explain, func() { r.Explain(w, name) })
	}
	err = errors.Join(attackUpstream(ctx, self, dir, o, tell), hostile.Kviz(ctx, *kviz, dir, o, tell))
	for _, e := range explain {
		e()
	}
	return err
}

func attackUpstream(ctx context.Context, self, dir string, o hostile.Options, tell func(string, *hostile.Report)) (err error) {
	data, err := os.MkdirTemp(dir, "upstream-")
	if err != nil {
		return err
	}
	s, err := upstream(self)(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	t, err := hostile.Prepare(ctx, s.url, s.token)
	if err != nil {
		return err
	}
	o.PIDs = s.pids[:1]
	report, err := hostile.Attack(ctx, t, o)
	if report != nil {
		tell(s.name, report)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}
