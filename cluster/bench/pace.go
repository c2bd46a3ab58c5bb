package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
)

// PaceRow is how fast virtual time ran at speed 1 while other programs and the
// console were at work.
type PaceRow struct {
	Store     string  // mvcc, raft
	Beside    string  // what was open meanwhile: "", "10 watches", "get -w in the console"
	Rate      int     // requests a second that were to be made
	Made      float64 // that were answered
	Pace      float64 // virtual seconds in a real one
	Processor float64 // cores that this process had, the clients among it
	Said      string  // what the trace says of the pace: "" or "0.62x: the machine is busy"
}

// PaceRates are how many requests a second [Pace] makes.
var PaceRates = []int{0, 1, 10, 100, 1000}

// Pace measures virtual seconds in a real one on both stores, each time for d: alone,
// with watches held, with kubectl get -w in the console, and beside each at every rate of
// requests over HTTPS. Nine of ten list the pods, the tenth writes a ConfigMap. tell is
// given each row as it is known.
func Pace(ctx context.Context, d time.Duration, tell func(PaceRow)) error {
	for _, bare := range []bool{true, false} {
		if err := paceOf(ctx, bare, d, tell); err != nil {
			return err
		}
	}
	return nil
}

func paceOf(ctx context.Context, bare bool, d time.Duration, tell func(PaceRow)) error {
	c, err := cluster.Boot(ctx, cluster.Config{Bare: bare, Speed: 1})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.WaitReady(ctx); err != nil {
		return err
	}
	if err := runPods(ctx, c, 3); err != nil {
		return err
	}
	o, err := newOutsider(c)
	if err != nil {
		return err
	}
	defer o.close()
	if err := o.configMaps(ctx); err != nil {
		return err
	}
	beside := []struct {
		name string
		open func(context.Context)
	}{
		{"", func(context.Context) {}},
		{"10 watches", func(ctx context.Context) { o.watches(ctx, 10) }},
		{"get -w in the console", func(ctx context.Context) {
			c.Exec(ctx, "kubectl get pods -w", control.Streams{Out: io.Discard, Err: io.Discard, Source: "console"})
		}},
	}
	for _, b := range beside {
		for _, rate := range PaceRates {
			row, err := o.row(ctx, d, rate, b.open)
			if err != nil {
				return err
			}
			row.Beside, row.Store = b.name, "raft"
			if bare {
				row.Store = "mvcc"
			}
			tell(row)
		}
	}
	return nil
}

// outsider is another program: a client of the API server over HTTPS.
type outsider struct {
	c      *cluster.Cluster
	url    string
	http   *http.Client
	folder string
	shut   func() error
}

func newOutsider(c *cluster.Cluster) (*outsider, error) {
	folder, err := os.MkdirTemp("", "kviz-bench-")
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(folder, "kubeconfig")
	l, err := c.Listen(0, kubeconfig)
	if err != nil {
		return nil, err
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	return &outsider{c: c, url: cfg.Host, http: client, folder: folder, shut: l.Close}, nil
}

func (o *outsider) close() {
	o.http.CloseIdleConnections()
	_ = o.shut()
	_ = os.RemoveAll(o.folder)
}

func (o *outsider) request(ctx context.Context, method, path, contentType, body string) error {
	r, err := http.NewRequestWithContext(ctx, method, o.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	res, err := o.http.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s", method, path, res.Status)
	}
	return nil
}

const benchConfigMaps = "/api/v1/namespaces/default/configmaps"

// configMaps makes one for each of the requests that may be under way at once: who
// patches one object with many others gets a 409 after five tries.
func (o *outsider) configMaps(ctx context.Context) error {
	for i := range clientsAtOnce {
		if err := o.request(ctx, http.MethodPost, benchConfigMaps, "application/json", fmt.Sprintf(`{"metadata":{"name":"bench-%d"}}`, i)); err != nil {
			return err
		}
	}
	return nil
}

// watches holds n watches of pods until ctx ends.
func (o *outsider) watches(ctx context.Context, n int) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			_ = o.request(ctx, http.MethodGet, "/api/v1/namespaces/default/pods?watch=true", "", "") // ends with ctx
		})
	}
	all.Wait()
}

// row makes requests at a rate for as long as d while something is open.
func (o *outsider) row(ctx context.Context, d time.Duration, rate int, open func(context.Context)) (PaceRow, error) {
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { open(ctx) })
	defer beside.Wait()
	defer cancel()
	settled := time.NewTimer(300 * time.Millisecond)
	select {
	case <-settled.C:
	case <-ctx.Done():
		return PaceRow{}, ctx.Err()
	}
	from, err := o.elapsed()
	if err != nil {
		return PaceRow{}, err
	}
	seen, begun := o.c.Trace().Len(), time.Now()
	before, err := processorTime()
	if err != nil {
		return PaceRow{}, err
	}
	made, err := o.load(ctx, d, rate)
	if err != nil {
		return PaceRow{}, err
	}
	to, err := o.elapsed()
	if err != nil {
		return PaceRow{}, err
	}
	real := time.Since(begun).Seconds()
	after, err := processorTime()
	return PaceRow{
		Rate: rate, Made: float64(made) / real, Pace: (to - from).Seconds() / real,
		Processor: (after - before).Seconds() / real, Said: o.said(seen),
	}, err
}

// elapsed is the virtual time now.
func (o *outsider) elapsed() (at time.Duration, err error) {
	err = o.c.Kernel().Do(func() { at = o.c.Kernel().Elapsed() })
	return at, err
}

// said is the worst that the trace says of the pace since an event.
func (o *outsider) said(from uint64) (worst string) {
	least := 0.0
	events, _, _ := o.c.Trace().Read(from, 1<<30)
	for _, e := range events {
		if p, ok := e.Payload.(*trace.Pace); ok && p.Why != "" && (worst == "" || p.Actual < least) {
			least, worst = p.Actual, fmt.Sprintf("%.2fx: %s", p.Actual, p.Why)
		}
	}
	return worst
}

// clientsAtOnce is how many requests are under way at most.
const clientsAtOnce = 32

// load makes requests at a rate, each when its time has come or as soon after as one
// of the clients is free, and gives how many were answered.
func (o *outsider) load(ctx context.Context, d time.Duration, rate int) (int64, error) {
	end := time.Now().Add(d)
	if rate == 0 {
		select {
		case <-time.After(d):
			return 0, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	var next, made atomic.Int64
	var failed atomic.Pointer[error]
	var clients sync.WaitGroup
	begun := time.Now()
	for range min(clientsAtOnce, rate) {
		clients.Go(func() {
			for failed.Load() == nil && ctx.Err() == nil {
				i := next.Add(1) - 1
				at := begun.Add(time.Duration(i) * time.Second / time.Duration(rate))
				if !at.Before(end) {
					time.Sleep(time.Until(end))
					return
				}
				time.Sleep(time.Until(at))
				if time.Now().After(end) {
					return
				}
				if err := o.one(ctx, i); err != nil {
					failed.Store(&err)
					return
				}
				made.Add(1)
			}
		})
	}
	clients.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return made.Load(), ctx.Err()
}

func (o *outsider) one(ctx context.Context, i int64) error {
	if i%10 == 9 {
		name := fmt.Sprintf("/bench-%d", i/10%clientsAtOnce)
		return o.request(ctx, http.MethodPatch, benchConfigMaps+name, "application/merge-patch+json", fmt.Sprintf(`{"data":{"n":"%d"}}`, i))
	}
	return o.request(ctx, http.MethodGet, "/api/v1/namespaces/default/pods", "", "")
}
