// Package aggregator is kube-aggregator, the outermost layer of kube-apiserver: an APIService
// says who serves a group version: this server itself ("Local"), or a program in the cluster
// behind a Service, to which requests are proxied.
//
// It has four parts: one registers what is served here (aggregator.go; upstream's
// autoregister and crdregistration controllers), one finds out whether the others can be
// reached (available.go), one asks them what they serve (discovery.go, openapi.go), and
// the last is the proxy (proxy.go). Start reading at [Aggregator.Proxy]. [Host] is all
// that it needs of the server.
//
// Simplified: endpoints are probed one after the other; watches cannot go through the
// proxy.
package aggregator

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
	"kviz/cluster/workqueue"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "the aggregator probes the endpoints of an APIService one after the other, and watches cannot go through its proxy",
})

// syncRetry is how long it waits before it writes again what the store refused; upstream's
// queue begins with milliseconds and doubles.
const syncRetry = time.Second

// Aggregated is what other servers serve behind one; an [Aggregator] is one.
type Aggregated interface {
	// Serves reports whether another server serves the group version, or has been said to.
	Serves(gv schema.GroupVersion) bool
	// Groups are the discovery of all of those, the group with the highest priority first;
	// OpenAPI and OpenAPIv2 their documents, where they told some.
	Groups() []apidiscovery.APIGroupDiscovery
	OpenAPI() []OpenAPIDocument
	OpenAPIv2() []OpenAPIv2Document
}

// Aggregator is that of one server. All its parts begin when somebody first asks for an
// APIService: until then the store has none, and nothing is served by anybody else. Of
// several servers each has an aggregator, which all begin then.
type Aggregator struct {
	Config
	services *cacher.Cache // of the kind APIService; nil until it is used
	there    bool          // what is served here is registered
	came     sim.Cond
	why      trace.ID // the newest change
	wake     sim.Cond
	stale    bool // what is registered may have to be others

	started  bool                     // the parts that look after other servers
	queue    *workqueue.Queue[string] // of APIServices whose servers are to be asked
	backends map[string]*backend      // by the APIService's name
	changed  sim.Cond                 // one of them is to be asked what it serves
}

const (
	autoregister = "autoregister" // as the trace calls this part
	// automanaged is the label of APIServices that autoregister has made; those of
	// built-in groups are made when the server starts, the others kept for ever.
	automanaged, onStart, always = "kube-aggregator.kubernetes.io/automanaged", "onstart", "true"
)

// Config is what an aggregator has of its server.
type Config struct {
	Process  *sim.Process
	Rand     *rand.Rand
	Host     Host
	Caches   func(k *registry.Kind) *cacher.Cache // begins to fill when it is first asked for
	Revision func() int64                         // the newest that the store has shown
	Dial     Dial                                 // nil where there is no network
}

// Host is the server, as far as the aggregator asks it for something.
type Host interface {
	// ServiceEndpoints are the addresses (host:port) of the ready endpoints of a Service's
	// port: one at least, or an error.
	ServiceEndpoints(namespace, name string, port int32) ([]string, error)
	// FollowAPIServices has the aggregators of the other servers begin, too.
	FollowAPIServices(why trace.ID)
	// WriteAPIServices puts the first ones into the store.
	WriteAPIServices(t *sim.Task, all []*apiregistration.APIService)

	// The requests of the server to itself; client is the part of the aggregator that sends.
	CreateAPIService(t *sim.Task, client string, svc *apiregistration.APIService) error
	DeleteAPIService(t *sim.Task, client string, svc *apiregistration.APIService) error
	UpdateAPIServiceStatus(t *sim.Task, client string, svc *apiregistration.APIService) error
}

func New(cfg Config) *Aggregator {
	return &Aggregator{Config: cfg, backends: map[string]*backend{}}
}

func Kind() *registry.Kind {
	return registry.KindFor(client.APIServices.GroupVersionResource)
}

// Registered reports whether what is served here is registered, and when that changes.
func (a *Aggregator) Registered() (there *bool, came *sim.Cond) { return &a.there, &a.came }

// Await waits until what is served here is registered.
func (a *Aggregator) Await(t *sim.Task) {
	for !a.there {
		a.came.Wait(t)
	}
}

// Follow begins, if it has not.
func (a *Aggregator) Follow(why trace.ID) {
	if a.services != nil {
		return
	}
	a.why = why
	a.services = a.Caches(Kind())
	a.services.Changed = a.hear
	a.Process.Go("kube-aggregator", a.run)
}

// hear is called with each change of an APIService.
func (a *Aggregator) hear(name string, obj runtime.Object) {
	a.why = a.Process.Kernel().Last()
	svc, _ := obj.(*apiregistration.APIService)
	if svc != nil && svc.Spec.Service != nil {
		a.startRemote()
		b := a.backends[name]
		if b == nil {
			b = &backend{}
			a.backends[name] = b
		}
		b.dirty, b.why = true, a.why
		a.changed.Signal()
		a.queue.Add(nil, name, a.why)
	} else {
		delete(a.backends, name)
	}
	a.register()
}

// DefinitionChanged hears that custom kinds may be served, or no longer.
func (a *Aggregator) DefinitionChanged() {
	if a.services != nil {
		a.why = a.Process.Kernel().Last()
		a.register()
	}
}

func (a *Aggregator) register() {
	a.stale = true
	a.wake.Signal()
}

// run is a task of the server. It registers what is served here.
func (a *Aggregator) run(t *sim.Task) {
	if !a.why.IsZero() {
		t.SetCauses(a.why)
	}
	a.services.AwaitFilled(t)
	if a.services.Len() == 0 {
		a.begin(t)
	} else {
		a.services.Scan("", func(name string, en *cacher.Entry) bool {
			_ = t.HandleCrashOn(client.APIServices.Ref("", name), "the APIService", func() { a.hear(name, en.Object) })
			return true
		})
		a.attempt(t, func() bool { return a.sync(t, a.wanted()) })
	}
	a.there = true
	a.came.Broadcast()
	a.Host.FollowAPIServices(a.why)
	for {
		for !a.stale {
			a.wake.Wait(t)
		}
		a.stale = false
		t.SetCauses(a.why)
		if !a.attempt(t, func() bool { return a.sync(t, a.custom()) }) {
			t.Sleep(syncRetry)
			a.stale = true
		}
	}
}

// attempt reports whether fn succeeds; a panic is a failure, too.
func (a *Aggregator) attempt(t *sim.Task, fn func() bool) (ok bool) {
	_ = t.HandleCrashOn(trace.Ref{}, "the registration of what is served", func() { ok = fn() })
	return ok
}

// custom are the wanted APIServices but those that are registered at the start alone.
func (a *Aggregator) custom() map[string]*apiregistration.APIService {
	custom := a.wanted()
	for name, svc := range custom { // order does not matter: it is a set
		if svc.Labels[automanaged] == onStart {
			delete(custom, name)
		}
	}
	return custom
}

// begin puts the APIServices of a new cluster into a store that has none, as if they
// had been there from the start.
func (a *Aggregator) begin(t *sim.Task) {
	var all []*apiregistration.APIService
	boot := metav1.NewTime(a.Process.Kernel().Epoch())
	wanted, born := a.wanted(), a.born()
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		svc := wanted[name]
		since, ok := born[svc.Spec.Group+"/"+svc.Spec.Version]
		if !ok {
			since = boot
		}
		svc.UID, svc.CreationTimestamp = object.NewUID(a.Rand), since
		local := helper.NewLocalAvailableAPIServiceCondition()
		local.LastTransitionTime = since
		helper.SetAPIServiceCondition(svc, local)
		svc.SetGroupVersionKind(client.APIServices.GVK())
		all = append(all, svc)
	}
	a.Host.WriteAPIServices(t, all)
	for !a.services.Wait(t, a.Revision(), time.Hour) {
	}
}

// born is since when there is a definition of a group version that is no built-in one.
func (a *Aggregator) born() map[string]metav1.Time {
	out := map[string]metav1.Time{}
	a.Caches(crd.DefinitionKind()).Scan("", func(_ string, en *cacher.Entry) bool {
		crd := en.Object.(*apiextensionsv1.CustomResourceDefinition)
		for _, v := range crd.Spec.Versions {
			gv := crd.Spec.Group + "/" + v.Name
			if was, ok := out[gv]; v.Served && (!ok || crd.CreationTimestamp.Before(&was)) {
				out[gv] = crd.CreationTimestamp
			}
		}
		return true
	})
	return out
}

// wanted are the APIServices of what is served here.
func (a *Aggregator) wanted() map[string]*apiregistration.APIService {
	out := map[string]*apiregistration.APIService{}
	add := func(gv schema.GroupVersion, p priority, kept string) {
		name := gv.Version + "." + gv.Group
		out[name] = &apiregistration.APIService{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{automanaged: kept}},
			Spec:       apiregistration.APIServiceSpec{Group: gv.Group, Version: gv.Version, GroupPriorityMinimum: p.group, VersionPriority: p.version},
		}
	}
	a.Caches(crd.DefinitionKind()).Scan("", func(_ string, en *cacher.Entry) bool {
		crd := en.Object.(*apiextensionsv1.CustomResourceDefinition)
		for _, v := range crd.Spec.Versions {
			if v.Served {
				add(schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}, priority{1000, 100}, always)
			}
		}
		return true
	})
	for _, k := range registry.Kinds {
		if p, ok := priorities[k.GroupVersion()]; ok {
			add(k.GroupVersion(), p, onStart)
		}
	}
	return out
}

// sync makes those that are missing, and takes those away that autoregister has made
// and that nobody wants any more (autoregister_controller.go checkAPIService). It
// reports whether all could be written.
func (a *Aggregator) sync(t *sim.Task, wanted map[string]*apiregistration.APIService) bool {
	var spare []*apiregistration.APIService
	missing := slices.Sorted(maps.Keys(wanted))
	a.services.Scan("", func(name string, en *cacher.Entry) bool {
		missing = slices.DeleteFunc(missing, func(m string) bool { return m == name })
		if svc := en.Object.(*apiregistration.APIService); svc.Labels[automanaged] == always && wanted[name] == nil {
			spare = append(spare, svc)
		}
		return true
	})
	well := true
	for _, name := range missing {
		if err := a.Host.CreateAPIService(t, autoregister, wanted[name]); err != nil && !apierrors.IsAlreadyExists(err) {
			well = false
		}
	}
	for _, svc := range spare {
		if err := a.Host.DeleteAPIService(t, autoregister, svc); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			well = false
		}
	}
	return well
}

// priority is where discovery lists a group version: that of the group, that of the
// version in it; the highest comes first.
type priority struct{ group, version int32 }

// priorities are those of the built-in groups (cmd/kube-apiserver/app/aggregator.go
// apiVersionPriorities; pkg/controlplane/apiserver DefaultGenericAPIServicePriorities).
var priorities = map[schema.GroupVersion]priority{
	{Group: "", Version: "v1"}:                             {18000, 1},
	{Group: "apps", Version: "v1"}:                         {17800, 15},
	{Group: "events.k8s.io", Version: "v1"}:                {17750, 15},
	{Group: "authentication.k8s.io", Version: "v1"}:        {17700, 15},
	{Group: "authorization.k8s.io", Version: "v1"}:         {17600, 15},
	{Group: "autoscaling", Version: "v1"}:                  {17500, 15},
	{Group: "autoscaling", Version: "v2"}:                  {17500, 30},
	{Group: "batch", Version: "v1"}:                        {17400, 15},
	{Group: "certificates.k8s.io", Version: "v1"}:          {17300, 15},
	{Group: "networking.k8s.io", Version: "v1"}:            {17200, 15},
	{Group: "policy", Version: "v1"}:                       {17100, 15},
	{Group: "rbac.authorization.k8s.io", Version: "v1"}:    {17000, 15},
	{Group: "storage.k8s.io", Version: "v1"}:               {16800, 15},
	{Group: "apiextensions.k8s.io", Version: "v1"}:         {16700, 15},
	{Group: "admissionregistration.k8s.io", Version: "v1"}: {16700, 15},
	{Group: "scheduling.k8s.io", Version: "v1"}:            {16600, 15},
	{Group: "coordination.k8s.io", Version: "v1"}:          {16500, 15},
	{Group: "node.k8s.io", Version: "v1"}:                  {16300, 15},
	{Group: "discovery.k8s.io", Version: "v1"}:             {16200, 15},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}: {16100, 21},
}
