// Package hostile looks for requests that stop an API server: a token that may do only a little
// sends random requests, built from parts that are known to be costly and from real objects
// that were changed at random, while another client asks for one namespace. What that
// other client waits is the result, with the requests that were served meanwhile.
//
// It speaks HTTPS, so that kviz and a real kube-apiserver get the same requests. Each request
// follows from a seed and its number alone ([At]), so that one that is slow can be sent again.
//
// Start reading at [Attack], then parts.go.
package hostile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"kviz/raftstore/bench"
)

// Options say how long and how hard.
type Options struct {
	Seed    uint64
	First   uint64        // the number of the first request
	Count   uint64        // how many requests; 0: until the time is over
	For     time.Duration // how long
	Clients int           // how many requests are served at once, 4 if 0
	Only    string        // only this part, if not ""
	// Patience is after how long a client goes, whether it has its answer or not; 3 s if 0.
	Patience time.Duration
	Stores   []string // of kviz, for [Kviz]
	// PIDs are the server's processes, whose memory is watched; none: it is not.
	PIDs []int
}

// Wait is one wait of the other client.
type Wait struct {
	Took   time.Duration
	Beside []Request // what was being served
}

// Report is what was found.
type Report struct {
	Sent     int
	Waits    int // how many waits were measured
	Median   time.Duration
	P999     time.Duration // what 999 of 1,000 waits are shorter than
	Longest  []Wait        // the longest, longest first
	Ready    float64       // resident memory before, in MiB; 0 where it is not watched
	Peak     float64
	AtPeak   []Request // what was being served when memory was at its peak
	Answered map[int]int
}

// longest is how many waits a report names.
const longest = 5

// between is how long the other client pauses between two requests.
const between = 10 * time.Millisecond

// Attack sends requests until the time is over, and measures what the other client waits.
// It returns an error where the server is no longer there, with what was sent last.
func Attack(ctx context.Context, t *Target, o Options) (*Report, error) {
	o.Clients = cmp.Or(o.Clients, 4)
	o.Patience = cmp.Or(o.Patience, 3*time.Second)
	ctx, cancel := context.WithTimeout(ctx, o.For)
	defer cancel()
	a := &attack{target: t, options: o, report: &Report{Answered: map[int]int{}}, now: map[uint64]Request{}}
	a.next.Store(o.First)
	if err := a.measureMemory(); err != nil {
		return nil, err
	}
	a.report.Ready = a.report.Peak

	var clients, observers sync.WaitGroup
	for range o.Clients {
		clients.Go(func() { a.send(ctx) })
	}
	observed, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var waited, measured error
	observers.Go(func() { waited = a.ask(observed) })
	observers.Go(func() { measured = a.watchMemory(observed) })
	clients.Wait()
	stop()
	observers.Wait()
	return a.done(), errors.Join(waited, measured)
}

type attack struct {
	target  *Target
	options Options
	next    atomic.Uint64

	mu     sync.Mutex
	now    map[uint64]Request // what is being served
	report *Report
	waits  []time.Duration
}

// send sends one request after the other.
func (a *attack) send(ctx context.Context) {
	client := a.target.client()
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		n := a.next.Add(1) - 1
		if a.options.Count > 0 && n >= a.options.First+a.options.Count {
			return
		}
		r := At(a.options.Seed, n, a.options.Only)
		a.mu.Lock()
		a.now[n] = r
		a.mu.Unlock()
		code := a.once(ctx, client, r)
		a.mu.Lock()
		delete(a.now, n)
		a.report.Sent++
		a.report.Answered[code]++
		a.mu.Unlock()
	}
}

// once sends a request and goes when it is answered or the client's patience ends; it gives the
// answer's code, 0 where there was none in time.
func (a *attack) once(ctx context.Context, client *http.Client, r Request) int {
	ctx, cancel := context.WithTimeout(ctx, a.options.Patience)
	defer cancel()
	resp, err := a.target.do(ctx, client, a.target.weak, r)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if r.Unread {
		<-ctx.Done()
		return resp.StatusCode
	}
	_, _ = io.Copy(io.Discard, resp.Body) // an answer that ends early is one too
	return resp.StatusCode
}

// ask is the other client. Requests that it would have sent while it waited for one are counted
// as they would have waited, so that one wait of a minute is not one among thousands.
func (a *attack) ask(ctx context.Context) error {
	client := a.target.client()
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		beside := a.beside()
		began := time.Now()
		resp, err := a.target.do(context.WithoutCancel(ctx), client, a.target.admin, Request{Method: http.MethodGet, Path: "/api/v1/namespaces/default"})
		if err != nil {
			return fmt.Errorf("the server is gone (%w); it was sent\n%s", err, names(append(beside, a.beside()...)))
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		took := time.Since(began)
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("the other client was answered %s; the server was sent\n%s", resp.Status, names(append(beside, a.beside()...)))
		}
		a.waited(took, beside)
		time.Sleep(between)
	}
	return nil
}

func (a *attack) waited(took time.Duration, before []Request) {
	beside := append(before, a.beside()...)
	a.mu.Lock()
	defer a.mu.Unlock()
	for left := took; left > 0; left -= between {
		a.waits = append(a.waits, left)
	}
	l := a.report.Longest
	at, _ := slices.BinarySearchFunc(l, took, func(w Wait, d time.Duration) int { return cmp.Compare(d, w.Took) })
	if at < longest {
		l = slices.Insert(l, at, Wait{took, distinct(beside)})
		a.report.Longest = l[:min(len(l), longest)]
	}
}

func distinct(all []Request) []Request {
	slices.SortFunc(all, func(a, b Request) int { return cmp.Compare(a.N, b.N) })
	return slices.CompactFunc(all, func(a, b Request) bool { return a.N == b.N })
}

// beside is what is being served.
func (a *attack) beside() []Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]Request, 0, len(a.now))
	for _, r := range a.now {
		r.Body = nil
		all = append(all, r)
	}
	return all
}

func (a *attack) watchMemory(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(50 * time.Millisecond):
		}
		if err := a.measureMemory(); err != nil {
			return err
		}
	}
}

func (a *attack) measureMemory() error {
	if len(a.options.PIDs) == 0 {
		return nil
	}
	m, err := bench.Resident(a.options.PIDs...)
	if err != nil {
		return err
	}
	if beside := a.beside(); m > a.report.Peak {
		a.report.Peak, a.report.AtPeak = m, distinct(beside)
	}
	return nil
}

func (a *attack) done() *Report {
	slices.Sort(a.waits)
	if n := len(a.waits); n > 0 {
		a.report.Waits = n
		a.report.Median, a.report.P999 = a.waits[n/2], a.waits[min(n-1, n*999/1000)]
	}
	return a.report
}
