package bench

import (
	"context"
	"errors"
	"io"

	"kviz/raftstore"
	"kviz/raftstore/etcdapi"
)

// ServeStore serves three members of kviz' own store with their data in dir,
// until in ends; see [Serve].
func ServeStore(ctx context.Context, dir string, in io.Reader, out io.Writer) (err error) {
	store, err := raftstore.Open(raftstore.Config{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	served, err := etcdapi.Serve(store, etcdapi.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, served.Close()) }()
	killed := ""
	kill := func() error {
		killed = store.Leader()
		return store.Crash(killed)
	}
	restart := func() error { return store.Restart(killed) }
	done := make(chan error, 1)
	go func() { done <- Serve(in, out, served.Endpoints, kill, restart) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
