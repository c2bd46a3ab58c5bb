package apiserver

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
	"kviz/raftstore"
)

// sink keeps the trace of a test.
type sink struct{ events []*trace.Event }

func (s *sink) Append(e *trace.Event) { s.events = append(s.events, e) }

// world is an API server over a bare store, and somebody who talks to it.
type world struct {
	t    testing.TB
	k    *sim.Kernel
	sink *sink
	st   *storage.Client
	s    *Server
	user *sim.Process
}

// run builds a world, waits until the server is ready, and runs fn as a task
// of the user.
func run(t testing.TB, cfg Config, fn func(w *world, t *sim.Task)) *world {
	t.Helper()
	return runFrom(t, cfg, func(*Server) {}, fn)
}

// runFrom is run of a server to which something is done before it begins.
func runFrom(t testing.TB, cfg Config, before func(*Server), fn func(w *world, t *sim.Task)) *world {
	t.Helper()
	w := &world{t: t, sink: &sink{}}
	w.k = sim.New(sim.Config{Seed: 7, Sink: w.sink})
	clock := storage.NewClock(w.k)
	store := raftstore.OpenBareWith(raftstore.Config{Clock: clock})
	defer store.Close()
	w.st = storage.New(w.k, store)
	w.st.Use(clock)
	w.s = New(w.k.NewProcess(trace.Lane{Component: trace.CompAPIServer}), w.st, cfg)
	before(w.s)
	w.user = w.k.NewProcess(trace.Lane{Component: trace.CompConsole})
	w.user.Go("test", func(task *sim.Task) {
		defer w.k.Stop()
		w.s.WaitReady(task)
		fn(w, task)
	})
	if err := w.k.Run(context.Background()); err != nil {
		t.Fatalf("seed 7: %v", err)
	}
	return w
}

// admin is a connection that may do everything.
func (w *world) admin() client.Interface { return w.s.Client(w.user.Lane, authn.Admin()) }

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Errorf("unexpected error: %v", err)
	}
}

func configMap(name string, data ...string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	for i := 0; i+1 < len(data); i += 2 {
		if cm.Data == nil {
			cm.Data = map[string]string{}
		}
		cm.Data[data[i]] = data[i+1]
	}
	return cm
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx"}}},
	}
}

// transcript writes requests and what the stages did with them.
func transcript(events []*trace.Event) string {
	var b strings.Builder
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *trace.Request:
			fmt.Fprintf(&b, "%s %s by %s\n", strings.ToUpper(p.Verb), p.Path, p.User)
		case *trace.Stage:
			mark := " "
			if p.Verdict == "refuse" {
				mark = "!"
			}
			by := ""
			if p.By != "" {
				by = " [" + p.By + "]"
			}
			fmt.Fprintf(&b, "  %s %-20s%s %s\n", mark, p.Stage, by, p.Note)
			for _, d := range p.Diff {
				fmt.Fprintf(&b, "       %s: %s -> %s\n", d.Path, or(d.From, "nothing"), or(d.To, "nothing"))
			}
		case *trace.Response:
			fmt.Fprintf(&b, "  = %d %s %s\n", p.Code, p.Reason, p.Message)
		case *trace.Commit:
			for _, ch := range p.Changes {
				fmt.Fprintf(&b, "    commit %d %s\n", p.Revision, ch.Key)
			}
		case *trace.CacheUpdate:
			fmt.Fprintf(&b, "    watch cache: %s %s at %d, to %d watchers\n", p.Type, e.Object, p.Revision, p.Watchers)
		case *trace.WatchEvent:
			fmt.Fprintf(&b, "    watch %d gets %s %s at %d\n", p.Watch, p.Type, e.Object, p.Revision)
		}
	}
	return b.String()
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
