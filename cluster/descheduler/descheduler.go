// Package descheduler is kubernetes-sigs/descheduler v0.36 as a program of a container: it
// evicts pods that stand where they would not be placed today, so that the scheduler places
// their successors better. The scheduler itself never moves a pod.
//
// It is deployed as the real one is, from the image registry.k8s.io/descheduler/descheduler
// with a DeschedulerPolicy (descheduler/v1alpha2) in a file, as in manifests/descheduler.yaml;
// it acts as the pod's ServiceAccount, evicts by pods/eviction, which a
// PodDisruptionBudget can refuse, and does so once, or every --descheduling-interval. A policy
// that is wrong ends the container in upstream's words.
//
// The plugins are ports: DefaultEvictor, LowNodeUtilization (by requests), RemoveDuplicates,
// RemovePodsViolatingNodeTaints, RemovePodsViolatingInterPodAntiAffinity, RemovePodsHavingTooManyRestarts and
// RemovePodsViolatingTopologySpreadConstraint. Simplified: a policy with another plugin, or with
// metrics, is refused; where upstream walks a map, nodes, pods and owners are taken in the order of their
// names; no leader is elected. Start reading at [descheduler.cycle].
package descheduler

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/events"
	"kviz/cluster/informer"
	"kviz/cluster/remote"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Scheduling, How: simulated.Simplified,
	What: "the descheduler (registry.k8s.io/descheduler/descheduler, v0.36) has the plugins DefaultEvictor, LowNodeUtilization by requests, RemoveDuplicates, RemovePodsViolatingNodeTaints, RemovePodsViolatingInterPodAntiAffinity, RemovePodsHavingTooManyRestarts and RemovePodsViolatingTopologySpreadConstraint; a policy with another one, with metrics, or with protected storage classes is refused, and so is --leader-elect; what upstream takes in the order of a map it takes by name",
	Seen: "the log of the pod",
})

// Image is the repository of the program's image.
const Image = "registry.k8s.io/descheduler/descheduler"

// name is whom the Events are from.
const name = "sigs.k8s.io/descheduler"

// descheduler is the program in one container.
type descheduler struct {
	in        runtime.Instance
	api       client.Interface
	events    *events.Recorder
	verbosity int
	dryRun    bool

	nodes, pods, namespaces, budgets *informer.Informer // budgets only where a policy asks about them

	policy   *policy
	selector labels.Selector // of nodes
	profiles []*profile
	counts   counts
}

// Start begins the program in a container.
func Start(in runtime.Instance) runtime.Program {
	in.Process.Go("main", func(t *sim.Task) {
		t.SetCauses(in.Process.Began())
		code := int32(0)
		if err := run(t, in); err != nil {
			code = 1
		}
		in.Exit(code, t.Causes()...)
	})
	return server{}
}

// run is the program's main function; it returns when there is nothing more to do.
//
// Mirrors pkg/descheduler/descheduler.go Run, RunDeschedulerStrategies.
func run(t *sim.Task, in runtime.Instance) error {
	o, err := parse(in.Command)
	if err == errHelp {
		in.Log("The descheduler evicts pods which may be bound to less desired nodes")
		return nil
	}
	if err != nil {
		in.Log("Error: " + err.Error())
		return err
	}
	d := &descheduler{in: in, api: throttle.New(in.Process, in.Process.Lane, in.API, "descheduler", throttle.Limits{QPS: o.qps, Burst: int(o.burst)}), verbosity: o.verbosity, dryRun: o.dryRun}
	if err = d.configure(t, o); err != nil {
		in.Error("server.go:74", err, "failed to run descheduler server")
		in.Error("run.go:72", err, "command failed")
		return err
	}
	d.events = events.New(in.Process, throttle.New(in.Process, in.Process.Lane, in.API, "events", throttle.Limits{}), name, in.Host)
	f := informer.NewFactory(in.Process, in.Process.Lane, d.api)
	d.nodes, d.pods, d.namespaces = f.For(client.Nodes), f.For(client.Pods), f.For(client.Namespaces)
	d.pods.AddIndex(byNode, func(obj apiruntime.Object) []string { return []string{obj.(*corev1.Pod).Spec.NodeName} })
	d.pods.AddIndex(byOwner, func(obj apiruntime.Object) (owners []string) {
		for _, o := range obj.(*corev1.Pod).OwnerReferences {
			owners = append(owners, string(o.UID))
		}
		return owners
	})
	if slices.ContainsFunc(d.profiles, func(p *profile) bool { return p.evictor.has(podsWithoutPDB) }) {
		d.budgets = f.For(client.PodDisruptionBudgets)
	}
	f.Start()
	f.WaitForSync(t)
	for {
		began := t.Elapsed()
		t.SetCauses(in.Process.Began())
		d.cycle(t)
		if o.interval <= 0 {
			t.Sleep(time.Second) // the Events are on their way
			return nil
		}
		t.Sleep(max(0, began+o.interval-t.Elapsed()))
	}
}

// The indexes of pods.
const (
	byNode  = "spec.nodeName"
	byOwner = "metadata.ownerReferences"
)

// cycle runs what deschedules, of all profiles, and then what balances.
//
// Mirrors pkg/descheduler/descheduler.go runDeschedulerLoop, runProfiles.
func (d *descheduler) cycle(t *sim.Task) {
	d.info(3, "descheduler.go:235", "Resetting pod evictor counters")
	d.counts = counts{node: map[string]uint{}, namespace: map[string]uint{}, dry: map[string]bool{}}
	nodes := d.ready(d.selector)
	if len(nodes) <= 1 {
		d.info(0, "descheduler.go:281", "Skipping descheduling cycle: requires >=2 nodes", "found", len(nodes))
	} else {
		for _, p := range d.profiles {
			d.run(t, p, "Deschedule", p.deschedule, nodes)
		}
		for _, p := range d.profiles {
			d.run(t, p, "Balance", p.balance, nodes)
		}
	}
	d.info(1, "descheduler.go:252", "Number of evictions/requests", "totalEvicted", d.counts.total, "evictionRequests", 0)
}

// run runs a profile's plugins of one extension point.
//
// Mirrors pkg/framework/profile/profile.go RunDeschedulePlugins, RunBalancePlugins.
func (d *descheduler) run(t *sim.Task, p *profile, point string, steps []step, nodes []*corev1.Node) {
	from := "profile.go:387"
	if point == "Balance" {
		from = "profile.go:417"
	}
	for _, s := range steps {
		before := d.counts.total
		s.run(&turn{descheduler: d, t: t, profile: p, plugin: s.plugin, point: point}, nodes)
		d.info(1, from, "Total number of evictions/requests", "extension point", point, "evictedPods", d.counts.total-before, "evictionRequests", 0)
	}
}

// step is a plugin at its extension point.
type step struct {
	plugin string
	run    func(tn *turn, nodes []*corev1.Node)
}

// turn is one run of a plugin.
type turn struct {
	*descheduler
	t             *sim.Task
	profile       *profile
	plugin, point string
}

// info and error log what a plugin says.
func (tn *turn) info(verbosity int, from, message string, pairs ...any) {
	tn.descheduler.info(verbosity, from, message, append(pairs, "plugin", tn.plugin, "ExtensionPoint", tn.point)...)
}

func (tn *turn) error(from string, err error, message string, pairs ...any) {
	tn.in.Error(from, err, message, append(pairs, "plugin", tn.plugin, "ExtensionPoint", tn.point)...)
}

// info logs a message if the program was asked for so many words (-v).
func (d *descheduler) info(verbosity int, from, message string, pairs ...any) {
	if verbosity <= d.verbosity {
		d.in.Info(from, message, pairs...)
	}
}

// options are the flags that have an effect.
type options struct {
	policy    string
	interval  time.Duration
	verbosity int
	dryRun    bool
	qps       float32
	burst     int32
}

// errHelp is that the program was asked what it does.
var errHelp = errors.New("help")

// parse reads the command line (cmd/descheduler/app/options/options.go AddFlags).
func parse(command []string) (o options, err error) {
	if len(command) == 0 {
		return o, errHelp // the image's own command is /bin/descheduler --help
	}
	if path.Base(command[0]) != "descheduler" {
		return o, fmt.Errorf("%q is not the descheduler", command[0])
	}
	f := pflag.NewFlagSet("descheduler", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	f.StringVar(&o.policy, "policy-config-file", "", "")
	f.DurationVar(&o.interval, "descheduling-interval", 0, "")
	f.IntVarP(&o.verbosity, "v", "v", 0, "")
	f.BoolVar(&o.dryRun, "dry-run", false, "")
	f.Float32Var(&o.qps, "client-connection-qps", 0, "")
	f.Int32Var(&o.burst, "client-connection-burst", 0, "")
	elect := f.Bool("leader-elect", false, "")
	gates := f.String("feature-gates", "", "")
	for _, name := range strings.Fields(`kubeconfig client-connection-kubeconfig otel-collector-endpoint otel-transport-ca-cert otel-service-name
		otel-trace-namespace otel-sample-rate bind-address secure-port cert-dir tls-cert-file tls-private-key-file logging-format vmodule
		leader-elect-lease-duration leader-elect-renew-deadline leader-elect-retry-period leader-elect-resource-lock
		leader-elect-resource-name leader-elect-resource-namespace log-flush-frequency tls-cipher-suites tls-min-version`) {
		f.String(name, "", "")
	}
	for _, name := range strings.Fields(`disable-metrics otel-fallback-no-op-on-error enable-http2 permit-address-sharing permit-port-sharing`) {
		f.Bool(name, false, "")
	}
	if err := f.Parse(command[1:]); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return o, errHelp
		}
		return o, err
	}
	switch {
	case *elect && o.interval == 0:
		return o, errors.New("leaderElection must be used with deschedulingInterval")
	case *elect:
		return o, errors.New("--leader-elect: the election of a descheduler is not simulated; let one replica run")
	case *gates != "":
		return o, fmt.Errorf("--feature-gates=%s: the descheduler's feature gates are not simulated", *gates)
	}
	return o, nil
}

// server answers what is asked of its port.
type server struct{}

// Serve implements [runtime.Program].
func (server) Serve(_ *sim.Task, r *remote.Request) (remote.Answer, error) {
	text := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	if r.Path == "/healthz" {
		return remote.Answer{Code: http.StatusOK, Header: text, Body: []byte("ok")}, nil
	}
	return remote.Answer{Code: http.StatusNotFound, Header: text, Body: []byte("404 page not found\n")}, nil
}
