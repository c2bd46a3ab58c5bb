// Package program is kube-scheduler as a program of a container: a second scheduler beside
// that of the control plane, as
// https://kubernetes.io/docs/tasks/extend-kubernetes/configure-multiple-schedulers/ deploys
// one from the image registry.k8s.io/kube-scheduler. It serves the pods whose schedulerName
// is that of one of its profiles.
//
// It is the same scheduler (package scheduler) in a process of its own, which acts as the
// pod's ServiceAccount and lives as long as the container. Its configuration is a file in the
// container, usually from a ConfigMap; with a wrong one the container ends, in upstream's words, and
// the kubelet starts it again after a back-off.
//
// Simplified: flags about serving and logging are taken and have no effect; a kubeconfig must be
// there if it is named, but the credentials are always the pod's; a Lease is not given up when the container is
// stopped; and it must be in kube-system. Start reading at [Start].
//
// Mirrors cmd/kube-scheduler/app/server.go.
package program

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/remote"
	"kviz/cluster/runtime"
	"kviz/cluster/scheduler"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Scheduling, How: simulated.Simplified,
	What: "a kube-scheduler in a pod (registry.k8s.io/kube-scheduler) is kviz' own scheduler as the pod's ServiceAccount; its flags about serving and logging have no effect, feature gates and a Lease outside kube-system are refused, and the Lease is not given up when its container is stopped",
	Seen: "the log of the pod",
})

// Image is the repository of the program's image.
const Image = "registry.k8s.io/kube-scheduler"

// Config is what the cluster says of every scheduler.
type Config struct {
	Limits throttle.Limits
}

// Start begins the program in a container.
func Start(in runtime.Instance, cfg Config) runtime.Program {
	in.Process.Go("main", func(t *sim.Task) {
		t.SetCauses(in.Process.Began())
		main(t, in, cfg)
	})
	return server{}
}

// main is kube-scheduler's main function.
func main(t *sim.Task, in runtime.Instance, cfg Config) {
	args, err := arguments(in)
	var o options
	if err == nil {
		o, err = parse(args)
	}
	if err != nil {
		in.Log("Error: " + err.Error())
		in.Exit(1, t.Causes()...)
		return
	}
	configured, told, err := o.configured(in)
	if err != nil {
		in.Error("run.go:72", err, "command failed")
		in.Exit(1, t.Causes()...)
		return
	}
	in.Info("server.go:187", "Starting Kubernetes Scheduler", "version", "v1.37.1")
	t.SetCauses(t.Emit(trace.Event{Kind: trace.SchedConfigured, Payload: told}))
	in.Process.Begin(t.Causes()[0])
	api := in.API
	if configured.LeaderElection.LeaderElect {
		api = elects{api, in}
		in.Info("leaderelection.go:258", "Attempting to acquire leader lease...", "lock", lock(configured.LeaderElection.ResourceName))
	}
	scheduler.Start(in.Process, api, scheduler.Config{
		Configuration: configured, Lease: configured.LeaderElection.ResourceName, Host: in.Host, Limits: cfg.Limits,
		Exit: func(why trace.ID) {
			in.Error("server.go:337", nil, "Leaderelection lost")
			in.Exit(1, why)
		},
	})
}

// arguments are those of kube-scheduler. The image's entry point, /go-runner, runs what it is given.
func arguments(in runtime.Instance) ([]string, error) {
	args := in.Command
	if len(args) > 0 && args[0] == "/go-runner" {
		args = args[1:]
	}
	switch {
	case len(args) == 0:
		return nil, errors.New("not enough arguments to run: /go-runner, the image's entry point, wants a program")
	case strings.HasPrefix(args[0], "-"):
		name, _, _ := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
		return nil, fmt.Errorf("flag provided but not defined: -%s: /go-runner, the image's entry point, wants a program before its flags, as in command: [kube-scheduler, %s]", name, args[0])
	case path.Base(args[0]) != "kube-scheduler":
		return nil, fmt.Errorf("exec: %q: executable file not found in $PATH", args[0])
	}
	return args[1:], nil
}

// options are the flags that have an effect.
type options struct {
	flags                 *pflag.FlagSet
	config, kubeconfig    string
	elect                 bool
	leaseName, leaseSpace string
	gates                 []string
	master, writeConfigTo string
	qps                   float32
	burst                 int32
}

// parse reads the flags (cmd/kube-scheduler/app/options/options.go initFlags).
func parse(args []string) (options, error) {
	o := options{flags: pflag.NewFlagSet("kube-scheduler", pflag.ContinueOnError)}
	f := o.flags
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	f.StringVar(&o.config, "config", "", "")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "")
	f.StringVar(&o.master, "master", "", "")
	f.StringVar(&o.writeConfigTo, "write-config-to", "", "")
	f.BoolVar(&o.elect, "leader-elect", true, "")
	f.StringVar(&o.leaseName, "leader-elect-resource-name", scheduler.Lease, "")
	f.StringVar(&o.leaseSpace, "leader-elect-resource-namespace", metav1.NamespaceSystem, "")
	f.StringSliceVar(&o.gates, "feature-gates", nil, "")
	f.Float32Var(&o.qps, "kube-api-qps", 0, "")
	f.Int32Var(&o.burst, "kube-api-burst", 0, "")
	for _, name := range strings.Fields(`authentication-kubeconfig authorization-kubeconfig bind-address secure-port cert-dir tls-cert-file
		tls-private-key-file tls-cipher-suites tls-min-version client-ca-file requestheader-client-ca-file requestheader-allowed-names
		requestheader-extra-headers-prefix requestheader-group-headers requestheader-username-headers authorization-always-allow-paths
		authentication-token-webhook-cache-ttl authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
		http2-max-streams-per-connection logging-format log-flush-frequency vmodule kube-api-content-type leader-elect-lease-duration
		leader-elect-renew-deadline leader-elect-retry-period leader-elect-resource-lock show-hidden-metrics-for-version
		disabled-metrics allow-metric-labels emulated-version`) {
		f.String(name, "", "")
	}
	f.IntP("v", "v", 0, "")
	for _, name := range strings.Fields(`profiling contention-profiling authentication-skip-lookup authentication-tolerate-lookup-failure
		permit-address-sharing permit-port-sharing disable-http2-serving`) {
		f.Bool(name, false, "")
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	for _, arg := range f.Args() {
		if arg != "" {
			return o, fmt.Errorf("%q does not take any arguments, got %q", "kube-scheduler", f.Args())
		}
	}
	if len(o.gates) > 0 {
		return o, fmt.Errorf("--feature-gates=%s: feature gates are not simulated; the scheduler has those of v1.37 that are on by default", strings.Join(o.gates, ","))
	}
	if o.writeConfigTo != "" {
		return o, errors.New("--write-config-to is not simulated: a container has no way to keep what its program writes")
	}
	return o, nil
}

// configured is the configuration with the flags that override it (options.go ApplyTo).
func (o *options) configured(in runtime.Instance) (*config.KubeSchedulerConfiguration, *trace.SchedConfiguration, error) {
	var file []byte
	if o.config != "" {
		var err error
		if file, err = in.Read(o.config); err != nil {
			return nil, nil, err
		}
	}
	cfg, told, err := scheduler.Configured(file)
	if err != nil {
		return nil, nil, err
	}
	if o.flags.Changed("leader-elect") {
		cfg.LeaderElection.LeaderElect = o.elect
	}
	if o.flags.Changed("leader-elect-resource-name") {
		cfg.LeaderElection.ResourceName = o.leaseName
	}
	if o.flags.Changed("leader-elect-resource-namespace") {
		cfg.LeaderElection.ResourceNamespace = o.leaseSpace
	}
	if o.config == "" {
		if o.flags.Changed("kubeconfig") {
			cfg.ClientConnection.Kubeconfig = o.kubeconfig
		}
		if o.flags.Changed("kube-api-qps") {
			cfg.ClientConnection.QPS = o.qps
		}
		if o.flags.Changed("kube-api-burst") {
			cfg.ClientConnection.Burst = o.burst
		}
	}
	if file := cfg.ClientConnection.Kubeconfig; file != "" {
		if _, err := in.Read(file); err != nil {
			return nil, nil, &fs.PathError{Op: "stat", Path: file, Err: syscall.ENOENT}
		}
	}
	if space := cfg.LeaderElection.ResourceNamespace; cfg.LeaderElection.LeaderElect && space != metav1.NamespaceSystem {
		return nil, nil, fmt.Errorf("leaderElection.resourceNamespace is %q: here the Lease of an election is always in kube-system", space)
	}
	return cfg, told, nil
}

// elects logs why the Lease cannot be read, such as that the ServiceAccount may not
// (client-go/tools/leaderelection/leaderelection.go tryAcquireOrRenew).
type elects struct {
	client.Interface
	in runtime.Instance
}

// Get implements [client.Interface].
func (e elects) Get(t *sim.Task, r client.Resource, namespace, name string) (apiruntime.Object, error) {
	obj, err := e.Interface.Get(t, r, namespace, name)
	if err != nil && r == client.Leases && !apierrors.IsNotFound(err) {
		e.in.Error("leaderelection.go:473", err, "Error retrieving lease lock", "lock", lock(name))
	}
	return obj, err
}

// lock is a Lease as client-go's election names it.
func lock(name string) string { return metav1.NamespaceSystem + "/" + name }

// server answers what is asked of its port.
type server struct{}

// Serve implements [runtime.Program].
func (server) Serve(_ *sim.Task, r *remote.Request) (remote.Answer, error) {
	text := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	switch r.Path {
	case "/healthz", "/livez", "/readyz":
		return remote.Answer{Code: http.StatusOK, Header: text, Body: []byte("ok")}, nil
	}
	return remote.Answer{Code: http.StatusForbidden, Header: text, Body: fmt.Appendf(nil, "Forbidden: User %q cannot get path %q\n", "system:anonymous", r.Path)}, nil
}
