package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/raftstore/steady"
)

// soakFor is how long the faults of TestClientsUnderFaults go on: one round of
// them, unless KVIZ_SOAK says for how long (KVIZ_SOAK=10m).
func soakFor(t *testing.T) time.Duration {
	text := os.Getenv("KVIZ_SOAK")
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("KVIZ_SOAK: %v", err)
	}
	return d
}

// soak is a served cluster, and programs outside that use it over HTTPS with
// client-go's own code.
type soak struct {
	t   *testing.T
	c   *cluster.Cluster
	rng *rand.Rand
	cfg *rest.Config
	api kubernetes.Interface

	mu    sync.Mutex
	conns map[net.Conn]bool // that are open, of every client
	wrote int               // requests that were answered well
	lost  int               // those that were not
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

const soakSpace = "soak"

// client-go's informers, leader election and retrying watches stay right while the
// API server restarts, connections and the store's watches are cut or stall, members
// and the leader die, and history is compacted: at the end every cache is what the
// store has, nobody has seen a version twice or out of order, a watch that
// was resumed has missed nothing, and there was never more than one leader.
func TestClientsUnderFaults(t *testing.T) {
	s := newSoak(t)
	caches := s.caches()
	ctx, end := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, c := range caches {
		all.Go(func() { c.informer.RunWithContext(ctx) })
	}
	watched := &resumed{s: s}
	all.Go(func() { watched.run(ctx) })
	all.Go(func() { watched.follow(ctx) })
	election := &election{s: s}
	all.Go(func() { election.run(ctx, "left") })
	all.Go(func() { election.run(ctx, "right") })
	writing, rest := context.WithCancel(ctx)
	var writers sync.WaitGroup
	for i := range 2 {
		writers.Go(func() { s.write(writing, i) })
	}
	s.await("every informer is in sync", func() string {
		for _, c := range caches {
			if !c.informer.HasSynced() {
				return c.name + " is not"
			}
		}
		return ""
	})
	rounds := 0
	for until := time.Now().Add(soakFor(t)); rounds == 0 || time.Now().Before(until); rounds++ {
		s.round(election, rounds)
	}
	s.await("a write after the faults", func() string { return s.put("last") })
	rest()
	writers.Wait()

	// A request that a writer has given up may still be carried out: what the store has is
	// asked anew for each comparison.
	var truth map[string]string
	against := func(differs func(map[string]string) string) func() string {
		return func() (wrong string) {
			if truth, wrong = s.truth(); wrong != "" {
				return wrong
			}
			return differs(truth)
		}
	}
	for _, c := range caches {
		s.await("the cache of "+c.name+" equals the store", against(c.differs))
		c.judge()
	}
	s.await("the resumed watch has seen everything", against(watched.behind))
	watched.judge()
	election.judge()
	end()
	all.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrote == 0 {
		t.Error("nothing was written")
	}
	t.Logf("%d rounds, %d writes and %d refused, %d objects; the watch was resumed %d times and began anew %d times; %d leaders", rounds, s.wrote, s.lost, len(truth), watched.resumes, len(watched.segments)-1, election.terms)
}

func newSoak(t *testing.T) *soak {
	steady.RealTime(t, "the clients are programs outside")
	s := &soak{t: t, rng: rand.New(rand.NewPCG(steady.Seed(), 1)), conns: map[net.Conn]bool{}}
	s.c = boot(t, cluster.Config{Nodes: -1, Seed: 1})
	// Real programs have real time: so has the cluster, ten times as fast.
	if err := s.c.Kernel().Do(func() { s.c.Kernel().SetDemand(false); s.c.Kernel().SetSpeed(10) }); err != nil {
		t.Fatal(err)
	}
	l, err := s.c.Listen(0, filepath.Join(t.TempDir(), "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if s.cfg, err = clientcmd.BuildConfigFromFlags("", l.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	s.cfg.QPS, s.cfg.Timeout = -1, 0
	s.cfg.Dial = s.dial
	s.api = s.client(nil)
	if _, err := s.api.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: soakSpace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// client is one with connections of its own.
func (s *soak) client(change func(*rest.Config)) *kubernetes.Clientset {
	c, err := kubernetes.NewForConfig(s.config(change))
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *soak) dynamic() dynamic.Interface {
	c, err := dynamic.NewForConfig(s.config(nil))
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *soak) config(change func(*rest.Config)) *rest.Config {
	cfg := rest.CopyConfig(s.cfg)
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		return s.dial(ctx, network, address)
	}
	if change != nil {
		change(cfg)
	}
	return cfg
}

// dial remembers the connection, so that it can be cut.
func (s *soak) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
	}
	return c, err
}

// cut ends every connection there is.
func (s *soak) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
		delete(s.conns, c)
	}
}

// await asks until the answer is "", which is what is wrong still.
func (s *soak) await(what string, wrong func() string) {
	s.t.Helper()
	steady.Await(s.t, what, func() error {
		if w := wrong(); w != "" {
			return errors.New(w)
		}
		return nil
	})
}

// fault breaks or mends something.
func (s *soak) fault(name, target string) {
	s.t.Helper()
	if err := s.c.Fault(s.t.Context(), control.Fault{Name: name, Target: target}); err != nil {
		s.t.Fatalf("%s %s: %v", name, target, err)
	}
}

// written waits for n more answered writes: so long goes life on before the next
// thing happens.
func (s *soak) written(n int) {
	s.t.Helper()
	count := func() int { s.mu.Lock(); defer s.mu.Unlock(); return s.wrote }
	from := count()
	s.await("more writes", func() string {
		if got := count() - from; got < n {
			return fmt.Sprintf("%d of %d", got, n)
		}
		return ""
	})
}

// round is every fault once, the first round in this order and later ones in any.
func (s *soak) round(e *election, number int) {
	watch := "watch/configmaps"
	steps := []func(){
		func() { s.cut() },
		func() { s.fault("restart", "apiserver") },
		func() {
			s.fault("stall", watch)
			s.written(5)
			s.fault("heal", watch)
		},
		func() { s.fault("compact", "store") },
		func() {
			s.fault("stall", watch) // and what it misses is compacted: the watch cache begins anew
			s.written(5)
			s.fault("compact", "store")
			s.fault("heal", watch)
		},
		func() {
			leader := "member/" + s.c.Raft().Leader()
			s.fault("crash", leader)
			s.written(5)
			s.fault("start", leader)
		},
		func() {
			for _, id := range s.c.Raft().IDs() {
				if id != s.c.Raft().Leader() {
					s.fault("crash", "member/"+id)
					s.written(5)
					s.fault("start", "member/"+id)
					break
				}
			}
		},
		func() { e.handOver() },
	}
	order := s.rng.Perm(len(steps))
	if number == 0 {
		slices.Sort(order)
	}
	for _, i := range order {
		s.written(10)
		steps[i]()
	}
	s.written(10)
}

// write creates, updates and deletes, as long as ctx lasts.
func (s *soak) write(ctx context.Context, writer int) {
	rng := rand.New(rand.NewPCG(uint64(writer), 2))
	maps := s.client(func(c *rest.Config) {
		if writer == 0 {
			c.ContentType, c.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
		}
		c.Timeout = 5 * time.Second
	}).CoreV1().ConfigMaps(soakSpace)
	for n := 0; ctx.Err() == nil; n++ {
		name := fmt.Sprintf("w%d-%d", writer, rng.IntN(10))
		value := map[string]string{"n": strconv.Itoa(n)}
		cm, err := maps.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: value}, metav1.CreateOptions{})
		case err != nil:
		case rng.IntN(4) == 0:
			err = maps.Delete(ctx, name, metav1.DeleteOptions{})
		default:
			cm.Data = value
			_, err = maps.Update(ctx, cm, metav1.UpdateOptions{})
		}
		s.mu.Lock()
		if err == nil {
			s.wrote++
		} else {
			s.lost++
		}
		s.mu.Unlock()
		if err != nil {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// put writes one object; "" when it is there.
func (s *soak) put(name string) string {
	ctx, cancel := context.WithTimeout(s.t.Context(), steady.Patience(s.t))
	defer cancel()
	_, err := s.api.CoreV1().ConfigMaps(soakSpace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err.Error()
	}
	return ""
}

// truth is what the store has: names and versions, which a list tells that was asked
// of the store itself; wrong says where its names are not those of the keys there are.
func (s *soak) truth() (all map[string]string, wrong string) {
	all = map[string]string{}
	list, err := s.api.CoreV1().ConfigMaps(soakSpace).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	exact, err := s.api.CoreV1().ConfigMaps(soakSpace).List(s.t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, cm := range exact.Items {
		all[cm.Name] = cm.ResourceVersion
	}
	held, err := s.c.Held()
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for key := range held {
		if name, ok := strings.CutPrefix(key, "/registry/configmaps/"+soakSpace+"/"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if listed := slices.Sorted(maps.Keys(all)); !slices.Equal(names, listed) {
		return nil, fmt.Sprintf("the store has %v, listed are %v", names, listed)
	}
	return all, ""
}
