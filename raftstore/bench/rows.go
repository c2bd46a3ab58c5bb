package bench

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// definition is how a row is measured.
type definition struct {
	name, unit string
	lower      bool
	measure    func(context.Context, *Server) (float64, error)
}

func (d definition) wanted(only string) bool { return strings.Contains(d.name, only) }

func rows(opt Options) []definition {
	list := []definition{
		{"idle CPU", "%", true, func(ctx context.Context, s *Server) (float64, error) { return idle(ctx, s, opt.Idle) }},
		{"resident memory, 10,000 keys of 256 B", "MiB", true, func(_ context.Context, s *Server) (float64, error) { return s.Resident() }},
	}
	for _, n := range []int{1, 16, 64, 256} {
		list = append(list, definition{fmt.Sprintf("puts of 256 B, %d clients", n), "/s", false, rate(n, opt.For, put)})
	}
	for _, n := range []int{1, 64} {
		list = append(list, definition{fmt.Sprintf("linearizable gets, %d clients", n), "/s", false, rate(n, opt.For, get())})
	}
	for _, n := range []int{1, 64} {
		list = append(list, definition{fmt.Sprintf("serializable gets, %d clients", n), "/s", false, rate(n, opt.For, get(clientv3.WithSerializable()))})
	}
	return append(
		list,
		definition{"ranges of 500 keys, 16 clients", "/s", false, rate(16, opt.For, ranges)},
		definition{"events to 1,000 watchers, 1 writer", "/s", false, fanOut(opt.For)},
		definition{"leader killed to the next put", "ms", true, failover},
	)
}

const keys = 10_000

var value = bytes.Repeat([]byte("v"), 256)

func key(n int64) string { return fmt.Sprintf("key-%06d", n%keys) }

// operation is one request; n counts them.
type operation func(ctx context.Context, c *clientv3.Client, n int64) error

func put(ctx context.Context, c *clientv3.Client, n int64) error {
	_, err := c.Put(ctx, key(n), string(value))
	return err
}

func get(opts ...clientv3.OpOption) operation {
	return func(ctx context.Context, c *clientv3.Client, n int64) error {
		r, err := c.Get(ctx, key(n), opts...)
		if err == nil && len(r.Kvs) != 1 {
			err = fmt.Errorf("%s: %d keys", key(n), len(r.Kvs))
		}
		return err
	}
}

func ranges(ctx context.Context, c *clientv3.Client, n int64) error {
	from := n * 37 % (keys - 500)
	r, err := c.Get(ctx, key(from), clientv3.WithRange(key(from+500)))
	if err == nil && len(r.Kvs) != 500 {
		err = fmt.Errorf("a range of 500 keys has %d", len(r.Kvs))
	}
	return err
}

// connect opens the clients that so many callers share.
func connect(s *Server, callers int) ([]*clientv3.Client, func(), error) {
	var clients []*clientv3.Client
	closeAll := func() {
		for _, c := range clients {
			_ = c.Close() // nothing was left under way
		}
	}
	for range max(1, callers/16) {
		c, err := clientv3.New(clientv3.Config{Endpoints: s.Endpoints, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		clients = append(clients, c)
	}
	return clients, closeAll, nil
}

// rate measures how many operations a second so many callers get done, each
// with one under way at a time.
func rate(callers int, d time.Duration, op operation) func(context.Context, *Server) (float64, error) {
	return func(ctx context.Context, s *Server) (float64, error) {
		clients, closeAll, err := connect(s, callers)
		if err != nil {
			return 0, err
		}
		defer closeAll()
		for _, c := range clients { // every connection is there before the clock runs
			for range 2 * len(s.Endpoints) {
				if err := op(ctx, c, 0); err != nil {
					return 0, err
				}
			}
		}
		return hammer(ctx, clients, callers, d, op)
	}
}

func hammer(ctx context.Context, clients []*clientv3.Client, callers int, d time.Duration, op operation) (float64, error) {
	var wg sync.WaitGroup
	var next, done atomic.Int64
	errs := make(chan error, callers)
	start := time.Now()
	for i := range callers {
		wg.Go(func() {
			c := clients[i%len(clients)]
			for time.Since(start) < d {
				if err := op(ctx, c, next.Add(1)*7919); err != nil {
					errs <- err
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	select {
	case err := <-errs:
		return 0, err
	default:
		return float64(done.Load()) / took.Seconds(), nil
	}
}

// fill writes every key once.
func fill(ctx context.Context, s *Server) error {
	clients, closeAll, err := connect(s, 64)
	if err != nil {
		return err
	}
	defer closeAll()
	var wg sync.WaitGroup
	var next atomic.Int64
	errs := make(chan error, 64)
	for i := range 64 {
		wg.Go(func() {
			for n := next.Add(1); n <= keys; n = next.Add(1) {
				if err := put(ctx, clients[i%len(clients)], n); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// idle is how much of one processor the server takes while nobody asks it.
func idle(ctx context.Context, s *Server, d time.Duration) (float64, error) {
	if err := wait(ctx, time.Second); err != nil {
		return 0, err
	}
	before, err := s.Processor()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := wait(ctx, d); err != nil {
		return 0, err
	}
	after, err := s.Processor()
	return 100 * (after - before).Seconds() / time.Since(start).Seconds(), err
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failover kills the leader and puts until one is acknowledged. Then the
// member comes back.
func failover(ctx context.Context, s *Server) (float64, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: s.Endpoints, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := settle(ctx, c, 20); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := s.Kill(ctx); err != nil {
		return 0, err
	}
	for {
		try, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		_, err := c.Put(try, "after", "the leader")
		cancel()
		if err == nil {
			break
		}
		if time.Since(start) > time.Minute {
			return 0, fmt.Errorf("no put a minute after the leader was killed: %w", err)
		}
		if err := wait(ctx, time.Millisecond); err != nil {
			return 0, err
		}
	}
	took := time.Since(start)
	if err := s.Restart(ctx); err != nil {
		return 0, err
	}
	return took.Seconds() * 1000, settle(ctx, c, 50)
}

// settle puts until so many in a row were acknowledged: every member answers.
func settle(ctx context.Context, c *clientv3.Client, want int) error {
	start := time.Now()
	for got := 0; got < want; {
		try, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := c.Put(try, "settle", "down")
		cancel()
		got++
		if err != nil {
			got = 0
			if time.Since(start) > time.Minute {
				return fmt.Errorf("the members do not come to rest: %w", err)
			}
		}
		if err := wait(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
