package console_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"kviz/assets"
	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/console"
	"kviz/cluster/console/verbs"
	"kviz/cluster/control"
	"kviz/cluster/serve"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// bench is an API server on the bare store with a console before it: no
// controllers, no nodes, so that nothing moves but what a command moves.
type bench struct {
	*console.Console
	kernel *sim.Kernel
	server *apiserver.Server
	stream *trace.Stream
	api    *serve.Handler
}

// actor is a component that a test adds: it runs from the beginning.
type actor func(t *sim.Task, c client.Interface)

func newBench(tb testing.TB, cfg console.Config, actors ...actor) *bench {
	tb.Helper()
	b := &bench{stream: trace.NewStream(0)}
	b.kernel = sim.New(sim.Config{Seed: 1, Sink: b.stream})
	b.kernel.SetDemand(true)
	store := raftstore.OpenBare()
	etcd := storage.New(b.kernel, store)
	lane := trace.Lane{Component: trace.CompAPIServer}
	b.server = apiserver.New(b.kernel.NewProcess(lane), etcd, apiserver.Config{})
	b.api = serve.New(serve.Config{Kernel: b.kernel, API: func() serve.API { return b.server }, Documents: assets.Documents()})
	cfg.Kernel, cfg.API, cfg.Manifests = b.kernel, b.api, assets.Manifests()
	if cfg.Verbs.Cluster == nil {
		m := machine{b}
		cfg.Verbs.Cluster = &verbs.Cluster{Trace: b.stream, Clock: m, Faults: m, Endpoints: m.Endpoints}
	}
	if cfg.User.Name == "" {
		cfg.User = authn.Admin()
	}
	b.Console = console.New(cfg)

	ready := make(chan struct{})
	boot := b.kernel.NewProcess(trace.Lane{Component: trace.CompSimulation})
	boot.Go("boot", func(t *sim.Task) {
		b.server.WaitReady(t)
		me := trace.Lane{Component: "test"}
		c := b.server.Client(me, authn.Admin())
		for i, a := range append([]actor{accounts}, actors...) {
			b.kernel.NewProcess(me).Go(fmt.Sprintf("actor %d", i), func(t *sim.Task) { a(t, c) })
		}
		t.Sleep(time.Second)
		b.kernel.AddDemand(-1)
		close(ready)
	})
	b.kernel.AddDemand(1)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.kernel.Run(ctx) }()
	select {
	case <-ready:
	case err := <-ended:
		tb.Fatalf("the cluster ended: %v", err)
	}
	tb.Cleanup(func() {
		b.api.Close()
		b.Console.Close()
		cancel()
		if err := <-ended; err != nil {
			var p *sim.PanicError
			if errors.As(err, &p) {
				tb.Errorf("%v\n%s", err, p.Stack)
			}
			tb.Error(err)
		}
		store.Close()
	})
	return b
}

// accounts gives every namespace the service account without which no pod is
// admitted, as the controller manager's serviceaccount controller does.
func accounts(t *sim.Task, c client.Interface) {
	send := true
	w, err := c.Watch(t, client.Namespaces, "", metav1.ListOptions{SendInitialEvents: &send, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true})
	if err != nil {
		panic(err)
	}
	for {
		e, ok := w.Recv(t)
		if !ok {
			return
		}
		if ns, is := e.Object.(*corev1.Namespace); is && e.Type == watch.Added {
			t.SetCauses(e.ID)
			if _, err := c.Create(t, client.ServiceAccounts, ns.Name, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: ns.Name}}); err != nil {
				panic(err)
			}
		}
	}
}

// machine drives the bench's clock.
type machine struct{ b *bench }

func (m machine) Clock() (c control.Clock) {
	_ = m.b.kernel.Do(func() {
		c = control.Clock{Paused: m.b.kernel.Paused(), Speed: m.b.kernel.Speed(), Elapsed: m.b.kernel.Elapsed(), Last: m.b.kernel.Last(), Waiting: m.b.kernel.Waiting()}
	})
	return c
}
func (m machine) Pause() error             { return m.b.kernel.Do(m.b.kernel.Pause) }
func (m machine) Resume() error            { return m.b.kernel.Do(m.b.kernel.Resume) }
func (m machine) Step(g trace.Grain) error { return m.b.kernel.Do(func() { m.b.kernel.Step(g) }) }
func (m machine) Speed(x float64) error    { return m.b.kernel.Do(func() { m.b.kernel.SetSpeed(x) }) }
func (m machine) Endpoints() control.Endpoints {
	return control.Endpoints{APIServer: "https://127.0.0.1:6443", Kubeconfig: "/run/kviz/kubeconfig", Etcd: "https://127.0.0.1:2379", EtcdCA: "/run/kviz/etcd/ca.crt"}
}

func (m machine) SkipIdle() error { return m.b.kernel.Do(m.b.kernel.SkipIdle) }
func (m machine) Faults() []control.FaultKind {
	return []control.FaultKind{
		{Name: "stop", Target: "member", Means: "stop it"},
		{Name: "crash", Target: "member", Means: "crash it"},
		{Name: "stop", Target: "node", Means: "stop it"},
	}
}
func (m machine) Targets() []string { return []string{"member/a", "member/b"} }
func (m machine) Fault(_ context.Context, f control.Fault) error {
	return fmt.Errorf("%s %s: the test has no faults", f.Name, f.Target)
}

// run runs lines and gives what a person would see: the line after a prompt,
// then its output, then the exit status if it is not 0.
func (b *bench) run(tb testing.TB, lines ...string) string {
	tb.Helper()
	var out bytes.Buffer
	for _, line := range lines {
		fmt.Fprintf(&out, "$ %s\n", line)
		ctx, cancel := context.WithTimeout(context.Background(), steady.Patience(tb))
		exit := b.Exec(ctx, line, control.Streams{Out: &out, Err: &out, Source: "test"})
		cancel()
		if b := out.Bytes(); len(b) > 0 && b[len(b)-1] != '\n' {
			out.WriteByte('\n')
		}
		if exit != 0 {
			fmt.Fprintf(&out, "(exit %d)\n", exit)
		}
	}
	return out.String()
}

// golden compares with testdata/NAME, or writes it when KVIZ_REWRITE=1.
func golden(tb testing.TB, name, got string) {
	tb.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("KVIZ_REWRITE") == "1" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			tb.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatalf("%v (write it with KVIZ_REWRITE=1)", err)
	}
	same(tb, path+"; rewrite with KVIZ_REWRITE=1 if it is meant", string(want), got)
}

func same(tb testing.TB, what, want, got string) {
	tb.Helper()
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		tb.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}
