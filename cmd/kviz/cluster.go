package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"kviz/cluster"
	"kviz/cluster/client/throttle"
	"kviz/cluster/control"
	"kviz/cluster/nearest"
	"kviz/cluster/secrets"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// shape are the flags that say what cluster to boot.
type shape struct {
	seed    uint64
	speed   string
	store   string
	members members
	certs   string
	quota   int64
	nodes   int
	servers int
	qps     float32
	burst   int
	dataDir string
	record  string
	epoch   string
	sched   string
	without []string
	why     bool
	cloud   string
}

// What a command's clusters have as virtual time 0 unless --epoch says otherwise.
var (
	// fixedEpoch is for scripts and lessons, which are to give the same trace any day.
	fixedEpoch = sim.DefaultEpoch.Format(time.RFC3339)
	// liveEpoch is for a cluster that is used from outside: programs there compare its
	// dates with the machine's clock.
	liveEpoch = "now"
)

func (s *shape) register(f *pflag.FlagSet, speed, epoch string) {
	f.Uint64Var(&s.seed, "seed", 1, "what decides every random choice; the same seed and inputs give the same trace")
	f.StringVar(&s.speed, "speed", speed, "virtual seconds in a real one: 0.02, 1, 10, or max")
	f.StringVar(&s.store, "store", "raft", "raft: replicated over members; mvcc: the state machine alone")
	s.members = members{n: 3}
	f.Var(&s.members, "members", "members of the raft store: how many, 1 to 9, in this process (an odd number bears most); or the addresses of processes that are one each (kviz member), host:port,host:port,…")
	f.StringVar(&s.certs, "certs", "", "with addresses in --members: the folder with the driver's certificate (kviz member certs)")
	f.Int64Var(&s.quota, "quota", 0, "how many bytes a member's database may have before the NOSPACE alarm (0: etcd's 2 GiB)")
	f.IntVar(&s.nodes, "nodes", 3, "nodes of the cluster")
	f.IntVar(&s.servers, "apiservers", 1, fmt.Sprintf("API servers, 1 to %d; two or more stand behind a load balancer", cluster.MostServers))
	f.Float32Var(&s.qps, "kube-api-qps", 0, "requests a second of each controller's client and the scheduler's (0: 20 and 50; -1: no limit)")
	f.IntVar(&s.burst, "kube-api-burst", 0, "requests that such a client may send at once after a rest (0: 30 and 100)")
	f.StringVar(&s.sched, "scheduler-config", "", "kube-scheduler's configuration, a KubeSchedulerConfiguration in a `FILE`")
	f.StringSliceVar(&s.without, "without", nil, "`COMPONENTS` not to start, so that programs of yours can take their places: scheduler, controller-manager, cloud-controller-manager")
	f.StringVar(&s.cloud, "cloud-provider", "", "external: each node waits until cloud-controller-manager has initialized it (kviz help cloud)")
	f.BoolVar(&s.why, "experimental-why-annotation", false, "annotate pods that fit nowhere with what would have to change (kviz help scheduler)")
	f.StringVar(&s.dataDir, "data-dir", "", "where the members keep their logs; a later run goes on from them (default: a temporary directory)")
	f.StringVar(&s.epoch, "epoch", epoch, "the cluster's date when its time begins: now, or a time as 2026-01-01T00:00:00Z")
	f.StringVar(&s.record, "trace", "", "write a recording to this `FILE`")
}

// leastQuota is a quota with which a cluster comes up, and little more.
const leastQuota = 1 << 20

// config checks the flags.
func (s *shape) config(demand bool) (cluster.Config, error) {
	cfg := cluster.Config{Seed: s.seed, Members: s.members.n, Quota: s.quota, Nodes: s.nodes, Servers: s.servers, DataDir: s.dataDir, Demand: demand, Version: version()}
	switch s.store {
	case "raft":
		if err := s.reach(&cfg); err != nil {
			return cfg, err
		}
	case "mvcc":
		if s.members.addrs != nil {
			return cfg, &usageError{text: "--store mvcc is a state machine in this process; --members can give no addresses then"}
		}
		cfg.Bare = true
	default:
		text := fmt.Sprintf("--store %q: want raft or mvcc", s.store)
		if near := nearest.To(s.store, []string{"raft", "mvcc"}); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
		}
		return cfg, &usageError{text: text}
	}
	if s.quota > 0 && s.quota < leastQuota {
		return cfg, &usageError{text: fmt.Sprintf("--quota %d: a control plane alone needs %d bytes; 0 is etcd's 2 GiB", s.quota, leastQuota)}
	}
	if s.nodes < 0 || s.nodes > 5000 {
		return cfg, &usageError{text: fmt.Sprintf("--nodes %d: want 0 to 5000", s.nodes)}
	}
	if s.servers < 1 || s.servers > cluster.MostServers {
		return cfg, &usageError{text: fmt.Sprintf("--apiservers %d: want 1 to %d", s.servers, cluster.MostServers)}
	}
	if s.burst < 0 {
		return cfg, &usageError{text: fmt.Sprintf("--kube-api-burst %d: want 1 or more, or 0 for 30 and 100", s.burst)}
	}
	cfg.Limits = throttle.Limits{QPS: s.qps, Burst: s.burst}
	cfg.WhyAnnotation = s.why
	if s.sched != "" {
		var err error
		if cfg.Scheduler, err = os.ReadFile(s.sched); err == nil {
			err = cluster.CheckScheduler(cfg.Scheduler)
		}
		if err != nil {
			return cfg, fmt.Errorf("--scheduler-config %s: %w", s.sched, err)
		}
	}
	if err := s.leaveOut(&cfg); err != nil {
		return cfg, err
	}
	if s.cloud != "" && s.cloud != "external" {
		return cfg, &usageError{text: fmt.Sprintf("--cloud-provider %q: want external, as kubelets have it; without it the machines are no cloud's", s.cloud)}
	}
	cfg.External = s.cloud == "external"
	if s.nodes == 0 {
		cfg.Nodes = -1
	}
	if s.epoch == "now" {
		cfg.Epoch = time.Now().UTC().Truncate(time.Second)
	} else if s.epoch != "" {
		at, err := time.Parse(time.RFC3339, s.epoch)
		if err != nil {
			return cfg, &usageError{text: fmt.Sprintf("--epoch %q: want now, or a time as 2026-01-01T00:00:00Z", s.epoch)}
		}
		cfg.Epoch = at.UTC()
	}
	speed, err := control.ParseSpeed(s.speed)
	if err != nil {
		return cfg, &usageError{text: fmt.Sprintf("--speed %q: want virtual seconds in a real one (%g to %d), or max", s.speed, control.Slowest, control.Fastest)}
	}
	cfg.Speed = speed
	return cfg, nil
}

// leaveOut checks --without.
func (s *shape) leaveOut(cfg *cluster.Config) error {
	if err := cluster.CheckWithout(s.without); err != nil {
		return &usageError{text: fmt.Sprintf("--without: %v", err)}
	}
	cfg.Without = slices.Compact(slices.Sorted(slices.Values(s.without)))
	if s.sched != "" && slices.Contains(cfg.Without, trace.CompScheduler) {
		return &usageError{text: "--scheduler-config is read by the scheduler that --without scheduler leaves out; give the file to the one that you run in its place (kube-scheduler --config)"}
	}
	return nil
}

// boot starts a cluster and, if asked, its recording. The function it returns
// ends both; call it once. inputs say in the recording how the run came about.
func (s *shape) boot(ctx context.Context, cfg cluster.Config, inputs ...string) (c *cluster.Cluster, end func() error, err error) {
	remove, err := scratch()
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			remove()
		}
	}()
	if err := s.takeUpClock(&cfg); err != nil {
		return nil, nil, err
	}
	var file *os.File
	if s.record != "" { // when all else is known to be well: what the file held is gone then
		if file, err = createRecording(s.record); err != nil {
			return nil, nil, fmt.Errorf("--trace: %w", err)
		}
		defer func() {
			if err != nil { // there is nothing to record
				file.Close()
				os.Remove(s.record)
			}
		}()
	}
	c, err = cluster.Boot(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	stopRecording := func() error { return nil }
	if file != nil {
		stopRecording, err = record(c, file, s.header(c, cfg, inputs...))
		if err != nil {
			return nil, nil, errors.Join(err, c.Close())
		}
	}
	return c, func() error {
		defer remove()
		keepErr := s.keepClock(c)
		err := c.Close()
		return errors.Join(err, stopRecording(), keepErr)
	}, nil
}

// header is that of a recording of the run.
func (s *shape) header(c *cluster.Cluster, cfg cluster.Config, inputs ...string) trace.Header {
	return trace.Header{
		Version: cfg.Version, Seed: cfg.Seed, Epoch: c.Kernel().Epoch(),
		Store: s.store, Members: s.members.n, Nodes: s.nodes, Inputs: inputs,
	}
}

// clockFile, in a data directory, says when the next run on it begins: virtual
// time goes on where it ended, so that nothing in the store is of the future.
const clockFile = "clock"

// clockDir is where the file is: with members elsewhere, whose folders are
// elsewhere too, beside the driver's certificate.
func (s *shape) clockDir() string { return cmp.Or(s.dataDir, s.certs) }

func (s *shape) takeUpClock(cfg *cluster.Config) error {
	if s.clockDir() == "" || cfg.Bare {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(s.clockDir(), clockFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: when the last run ended: %w", s.clockDir(), err)
	}
	ended, err := time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("%s: when the last run ended: %w", s.clockDir(), err)
	}
	if !cfg.Epoch.Before(ended) {
		return nil // the cluster was off for a while
	}
	if s.epoch != "" && s.epoch != liveEpoch && s.epoch != fixedEpoch {
		return &usageError{text: fmt.Sprintf("--epoch %s: the last run on %s ended at %s, and what it wrote would be of the future", s.epoch, s.clockDir(), ended.Format(time.RFC3339))}
	}
	cfg.Epoch = ended
	return nil
}

func (s *shape) keepClock(c *cluster.Cluster) error {
	if s.clockDir() == "" || c.Raft() == nil {
		return nil
	}
	var now time.Time
	if c.Kernel().Do(func() { now = c.Kernel().Now() }) != nil {
		return nil // it has ended by itself, which is reported elsewhere
	}
	next := now.UTC().Truncate(time.Second).Add(time.Second).Format(time.RFC3339)
	return os.WriteFile(filepath.Join(s.clockDir(), clockFile), []byte(next+"\n"), 0o644)
}

// record copies the stream into a recording until the function it returns is
// called, which writes the rest. What is secret stays in this process.
func record(c *cluster.Cluster, file *os.File, h trace.Header) (stop func() error, err error) {
	r, err := trace.NewRecorder(file, h)
	if err != nil {
		return nil, fmt.Errorf("--trace: %w", err)
	}
	archive, err := trace.NewArchive(r, file, 0)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--trace: %w", err), r.Close())
	}
	hide := secrets.New()
	archive.Restore = hide.Restore
	c.Trace().SetArchive(archive) // so that viewers see more of the past than memory holds
	changed, quiet := c.Trace().Notify()
	ending, ended := make(chan struct{}), make(chan struct{})
	var at, missed uint64
	copyAll := func() {
		for {
			events, next, lost := c.Trace().Read(at, 4096)
			at, missed = next, missed+lost
			if lost > 0 {
				r.Gap()
			}
			if len(events) == 0 {
				return
			}
			for _, e := range events {
				r.Append(hide.Hide(e))
			}
		}
	}
	go func() {
		defer close(ended)
		for {
			copyAll()
			select {
			case <-changed:
			case <-ending:
				copyAll()
				return
			}
		}
	}()
	return func() error {
		close(ending)
		<-ended
		quiet()
		c.Trace().SetArchive(nil)
		archive.Close()
		err := errors.Join(r.Close(), file.Close())
		if missed > 0 {
			err = errors.Join(err, fmt.Errorf("the recording misses %d events: the disk could not keep up", missed))
		}
		return err
	}, nil
}

// broken reports a broken invariant: what is needed to run it again, and what
// came before it.
func broken(w io.Writer, c *cluster.Cluster, err error) {
	var p *sim.PanicError
	if !errors.As(err, &p) {
		return
	}
	fmt.Fprintf(w, "\nkviz found something that must never happen. Please report it, with what follows.\n\n")
	fmt.Fprintf(w, "version %s, seed %d, after event #%s\n%v\n\n", version(), p.Seed, p.After, err)
	lastEvents(w, c)
	fmt.Fprintf(w, "\n%s\n", p.Stack)
}

// reportCrash says after a breakdown of the explorer what is needed to see it
// again.
func reportCrash(w io.Writer, c *cluster.Cluster, seed uint64) {
	fmt.Fprintf(w, "\nThe explorer broke down, not the cluster. Please report it, with what follows.\n\nversion %s, seed %d\n\n", version(), seed)
	lastEvents(w, c)
}

// lastEvents prints how a trace ends.
func lastEvents(w io.Writer, c *cluster.Cluster) {
	if c == nil {
		return
	}
	n := c.Trace().Len()
	events, _, _ := c.Trace().Read(n-min(n, 20), 20)
	_ = trace.Text(w, events, view.Explain)
}
