package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// row is one line of the table.
type row struct {
	name    string
	unit    string
	lower   bool // less is better
	measure measurement
}

// measurement takes about as long as it is told.
type measurement func(ctx context.Context, s *side, d time.Duration) (float64, error)

func (r row) wanted(only string) bool { return strings.Contains(r.name, only) }

const (
	namespace = "default"
	listed    = 500 // objects that a LIST gives
	watched   = "watched"

	watchedWriters = 4
)

var rows = []row{
	{"POST, 1 client", "/s", false, rate(1, post)},
	{"POST, 16 clients", "/s", false, rate(16, post)},
	{"GET, 1 client", "/s", false, rate(1, get)},
	{"GET, 16 clients", "/s", false, rate(16, get)},
	{"LIST of 500, 1 client", "/s", false, rate(1, list(""))},
	{"LIST of 500, 4 clients", "/s", false, rate(4, list(""))},
	{"LIST of 500 at version 0, 4 clients", "/s", false, rate(4, list("0"))},
	{"PUT, 1 client", "/s", false, rate(1, put())},
	{"PUT, 16 clients", "/s", false, rate(16, put())},
	{"events to 100 watchers", "/s", false, fanOut(100)},
	{"events to 1,000 watchers", "/s", false, fanOut(1000)},
}

// object is a ConfigMap of about a kilobyte.
func object(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "bench"}},
		Data:       map[string]string{"text": strings.Repeat("kilobyte", 128)},
	}
}

// fill makes what is read: objects to list and get, and a namespace for what is
// posted and one for what is watched.
func (s *side) fill(ctx context.Context) error {
	for _, ns := range []string{"posted", watched, "put"} {
		if _, err := s.api.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for i := range listed {
		if _, err := s.api.CoreV1().ConfigMaps(namespace).Create(ctx, object(numbered(i)), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	// Those that are written while others watch are there before, so that a watch that has told of them
	// is known to have begun.
	for i := range watchedWriters {
		if _, err := s.api.CoreV1().ConfigMaps(watched).Create(ctx, object(numbered(i)), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// work is what a client does again and again; n is how often it has before.
type work func(ctx context.Context, s *side, client, n int) error

// rate measures how often clients get something done in a second.
func rate(clients int, do work) measurement {
	return func(ctx context.Context, s *side, d time.Duration) (float64, error) {
		var done atomic.Int64
		begin := time.Now()
		errs := make([]error, clients)
		var all sync.WaitGroup
		for c := range clients {
			all.Go(func() {
				for n := 0; time.Since(begin) < d && errs[c] == nil; n++ {
					errs[c] = do(ctx, s, c, n)
					done.Add(1)
				}
			})
		}
		all.Wait()
		return float64(done.Load()) / time.Since(begin).Seconds(), errors.Join(errs...)
	}
}

var posted atomic.Int64 // so that no two objects share a name

func post(ctx context.Context, s *side, _, _ int) error {
	_, err := s.api.CoreV1().ConfigMaps("posted").Create(ctx, object(numbered(int(posted.Add(1)))), metav1.CreateOptions{})
	return err
}

func get(ctx context.Context, s *side, client, n int) error {
	_, err := s.api.CoreV1().ConfigMaps(namespace).Get(ctx, numbered((client+n)%listed), metav1.GetOptions{})
	return err
}

func list(version string) work {
	return func(ctx context.Context, s *side, _, _ int) error {
		l, err := s.api.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=bench", ResourceVersion: version})
		if err == nil && len(l.Items) != listed {
			err = fmt.Errorf("a list of %d, want %d", len(l.Items), listed)
		}
		return err
	}
}

// put updates an object of the client's own, from what the last update gave.
func put() work {
	var mine sync.Map
	return func(ctx context.Context, s *side, client, n int) error {
		type key struct {
			s      *side
			client int
		}
		k, maps := key{s, client}, s.api.CoreV1().ConfigMaps("put")
		had, ok := mine.Load(k)
		if !ok {
			made, err := maps.Create(ctx, object(fmt.Sprintf("of-%d-%d", client, posted.Add(1))), metav1.CreateOptions{})
			mine.Store(k, made)
			return err
		}
		o := had.(*corev1.ConfigMap)
		o.Data["n"] = strconv.Itoa(n)
		made, err := maps.Update(ctx, o, metav1.UpdateOptions{})
		mine.Store(k, made)
		return err
	}
}

// fanOut measures how many events a second reach watchers of one namespace, when
// four clients have written there as fast as they can for a while: until all
// watchers have all of it.
func fanOut(watchers int) measurement {
	return func(ctx context.Context, s *side, d time.Duration) (float64, error) {
		ctx, cancel := context.WithTimeout(ctx, d+time.Minute)
		var seen atomic.Int64
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		for range watchers {
			body, err := s.api.CoreV1().RESTClient().Get().Namespace(watched).Resource("configmaps").
				Param("watch", "true").Param("resourceVersion", "0").SetHeader("Accept", "application/json").Stream(ctx)
			if err != nil {
				return 0, err
			}
			all.Go(func() { count(body, &seen) })
		}
		// They have heard of what was there before, as each begins with that.
		there, err := s.api.CoreV1().ConfigMaps(watched).List(ctx, metav1.ListOptions{})
		if err != nil {
			return 0, err
		}
		before := int64(len(there.Items) * watchers)
		if err := until(ctx, &seen, before); err != nil {
			return 0, err
		}
		var written atomic.Int64
		begin := time.Now()
		if _, err := rate(watchedWriters, func(ctx context.Context, s *side, client, n int) error {
			o := object(numbered(client))
			o.Data["n"] = strconv.FormatInt(posted.Add(1), 10)
			_, err := s.api.CoreV1().ConfigMaps(watched).Update(ctx, o, metav1.UpdateOptions{})
			if err == nil {
				written.Add(1)
			}
			return err
		})(ctx, s, d); err != nil {
			return 0, err
		}
		want := written.Load() * int64(watchers)
		if err := until(ctx, &seen, before+want); err != nil {
			return 0, err
		}
		return float64(want) / time.Since(begin).Seconds(), nil
	}
}

func until(ctx context.Context, seen *atomic.Int64, want int64) error {
	for ; seen.Load() < want; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			return fmt.Errorf("%d events have come, want %d", seen.Load(), want)
		}
	}
	return nil
}

// count counts the events of a watch as they come, a line each, without decoding
// them: the servers are measured, not the client.
func count(body io.ReadCloser, seen *atomic.Int64) {
	defer body.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		seen.Add(int64(bytes.Count(buf[:n], []byte{'\n'})))
		if err != nil {
			return // it is over when the measurement is
		}
	}
}
