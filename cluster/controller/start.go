// Package controller starts the controllers of kube-controller-manager: each a loop
// that compares the desired state with the observed one and takes one step towards
// it.
//
// They know nothing of one another. That a Deployment ends up as running pods
// is the work of five loops (Deployment, ReplicaSet, scheduler, kubelet,
// EndpointSlice) that meet only in the API server's objects; kill any of them and
// start it again, and it goes on from what it finds there.
//
// In each package, start reading at New (what it watches), then at sync (what it
// does). What they share is in the packages reconcile (the loop), ownerref (what
// belongs to whom), expect (what is on its way) and pods.
//
// Simplified: the controllers of many kinds that the API server serves (Ingresses, …)
// are missing; all informers are shared, the garbage collector's
// too. Start reading at [Start].
package controller

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/controller/certificates"
	"kviz/cluster/controller/nodeipam"
	"kviz/cluster/controller/policystatus"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/serviceaccounttoken"
	"kviz/cluster/informer"
	"kviz/cluster/leaderelection"
	"kviz/cluster/record"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Absent,
	What: "the controllers of many kinds that the API server serves, such as Ingresses",
	Seen: "kviz why of such an object ends at \"created\"",
})

// Lease is the name of the Lease in kube-system that the active copy holds.
const Lease = "kube-controller-manager"

// Config says how the controllers run. The zero value is upstream's defaults
// except for one worker a controller.
type Config struct {
	// Identity names this copy in the Lease; default: the process's lane and a
	// random part, so that a restarted copy waits until the Lease of the one
	// before has run out, as upstream's does.
	Identity string
	// ClientFor gives the connection a controller uses, as upstream gives each
	// its own ServiceAccount ("deployment-controller" …); nil: all use c.
	ClientFor func(controller string) client.Interface
	// Limits are how fast each client of it may send (--kube-api-qps, --kube-api-burst).
	Limits throttle.Limits
	// Exit ends the process because of an event, the loss of the Lease; nil:
	// it is killed.
	Exit func(why trace.ID)
	// Workers is how many workers each controller has; default 1.
	Workers int
	// RootCA is the certificate published as ConfigMap kube-root-ca.crt in
	// each namespace.
	RootCA string
	// CheckTypes finds wrong types in the expressions of a ValidatingAdmissionPolicy; nil:
	// nobody does.
	CheckTypes policystatus.Check
	// SignToken signs the token of a Secret of type kubernetes.io/service-account-token
	// (--service-account-private-key-file); nil: such Secrets stay without.
	SignToken serviceaccounttoken.Sign
	// Sign signs what CertificateSigningRequests ask for with the cluster's authority
	// (--cluster-signing-key-file); nil: nothing is signed.
	Sign certificates.Sign
	// PodRanges is where the nodes get the addresses of their pods from (--allocate-node-cidrs).
	PodRanges nodeipam.Config
	// Around is what stands around the runs of each queue; nil: nothing.
	Around func(queue string, sync reconcile.Sync) reconcile.Sync
	// Controllers are what can be done to each of them; nil: nothing.
	Controllers *Controllers
}

// Start begins the election for the Lease kube-controller-manager in process p
// and, once it is won, runs every controller in children of p. When the Lease is
// lost, the process exits, as the real one does.
func Start(p *sim.Process, c client.Interface, cfg Config) {
	elect(p, c, cfg, Lease, func(*sim.Task) { Run(p, c, cfg) })
}

// elect begins the election for the Lease that has the program's name, and runs what run
// starts once it is won.
func elect(p *sim.Process, c client.Interface, cfg Config, name string, run func(*sim.Task)) {
	if cfg.Identity == "" {
		cfg.Identity = leaderelection.Identity(p)
	}
	if cfg.Exit == nil {
		cfg.Exit = func(trace.ID) { p.Kill() }
	}
	clients := clients{p, c, cfg}
	events := record.New(p, clients.root(name), name)
	election := clients.root("leader-election")
	p.Go("leader-election", func(t *sim.Task) {
		leaderelection.Run(t, election, events, name, cfg.Identity, run, cfg.Exit)
	})
}

// MinResyncPeriod is the shortest time after which the caches tell the
// controllers of everything again (--min-resync-period).
const MinResyncPeriod = 12 * time.Hour

// resyncPeriod is up to twice that, so that the copies of a cluster do not all
// do it at the same time (controllermanager.go ResyncPeriod).
func resyncPeriod(p *sim.Process) time.Duration {
	r := p.Kernel().Rand(fmt.Sprintf("%s resync period at %s", p.Lane, p.Kernel().Elapsed()))
	return time.Duration((r.Float64() + 1) * float64(MinResyncPeriod))
}

// Run runs every controller without an election.
func Run(p *sim.Process, c client.Interface, cfg Config) {
	run(p, c, cfg, "kube-controller-manager", all(cfg))
}

// run runs the controllers of a program.
func run(p *sim.Process, c client.Interface, cfg Config, program string, list []descriptor) {
	if cfg.Controllers == nil {
		cfg.Controllers = NewControllers()
	}
	clients := clients{p, c, cfg}
	informers := informer.NewFactory(p, p.Lane, clients.root("shared-informers"))
	informers.Resync = resyncPeriod(p)
	var events *record.Recorder // made when there is something to tell
	informers.Crashed = func(t *sim.Task, object trace.Ref, broken *sim.PanicError) {
		if events == nil {
			events = record.New(p, c, program)
		}
		events.EventRef(t, object, corev1.EventTypeWarning, "ControllerPanic", "%s", broken.Note(program, "controller"))
	}
	cfg.Controllers.run(p, func(life *sim.Process, name, source string) *reconcile.Env {
		own := clients
		own.p = life
		since := trace.ID{}
		if life.Began() != p.Began() {
			since = life.Began()
		}
		e := reconcile.NewEnv(life, name, source, own.of(name), informers.Share(since), cfg.Workers)
		e.Around, e.Lag = cfg.Around, cfg.Controllers.lag(name)
		return e
	}, list)
	informers.Start()
}
