package aggregator

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/cluster/workqueue"
)

// The availability controller finds out whether the server behind an APIService can be
// reached, and says so in the condition Available (kube-aggregator
// pkg/controllers/status/remote/remote_available_controller.go). Where it cannot,
// nothing is sent there any more: the proxy looks at the condition.

const (
	remoteAvailability = "remote-availability-controller"
	// availabilityResync is how often each is looked at, whatever happens.
	availabilityResync = 30 * time.Second
	// availabilityTimeout is how long a server has to answer.
	availabilityTimeout = 5 * time.Second
	availabilityMaxWait = 30 * time.Second // of the back-off
	// availabilityTries is how many endpoints are tried. Upstream sends five requests at
	// once and takes the first good answer; here they go one after the other, each to an
	// endpoint that was not tried, while the time lasts.
	availabilityTries = 5
)

// startRemote starts the parts that look after other servers, with the first of them.
func (a *Aggregator) startRemote() {
	if a.started {
		return
	}
	a.started = true
	a.queue = workqueue.New[string]("RemoteAvailabilityController", a.Process.Lane, a.Process)
	a.queue.SetMaxDelay(availabilityMaxWait)
	a.Process.Go(remoteAvailability, func(t *sim.Task) {
		for {
			name, _, _ := a.queue.Get(t)
			var err error
			if broken := t.HandleCrashOn(client.APIServices.Ref("", name), "the availability of the APIService", func() { err = a.checkAvailability(t, name) }); broken != nil {
				err = broken
			}
			if err != nil {
				a.queue.AddRateLimited(t, name)
			} else {
				a.queue.Forget(name)
			}
			a.queue.Done(t, name)
			t.SetCauses()
		}
	})
	a.Process.Go(remoteAvailability+"-resync", func(t *sim.Task) {
		for {
			t.Sleep(availabilityResync)
			for _, name := range slices.Sorted(maps.Keys(a.backends)) {
				a.queue.Add(t, name)
			}
		}
	})
	a.Process.Go("discovery-manager", a.discover)
}

// ServiceChanged is called with each change of a Service, sliceChanged with each of
// an EndpointSlice: the APIServices that lead there are checked.
func (a *Aggregator) ServiceChanged(key string) {
	a.eachRemote(func(svc *apiregistration.APIService) {
		if r := svc.Spec.Service; r.Namespace+"/"+r.Name == key {
			a.queue.Add(nil, svc.Name, a.Process.Kernel().Last())
		}
	})
}

func (a *Aggregator) SliceChanged(key string, obj runtime.Object) {
	namespace, _, _ := strings.Cut(key, "/")
	slice, _ := obj.(*discoveryv1.EndpointSlice)
	a.eachRemote(func(svc *apiregistration.APIService) {
		r := svc.Spec.Service
		if r.Namespace == namespace && (slice == nil || slice.Labels[discoveryv1.LabelServiceName] == r.Name) {
			a.queue.Add(nil, svc.Name, a.Process.Kernel().Last())
		}
	})
}

// eachRemote calls fn with each APIService that another server is behind.
func (a *Aggregator) eachRemote(fn func(*apiregistration.APIService)) {
	for _, name := range slices.Sorted(maps.Keys(a.backends)) {
		if svc := a.remote(name); svc != nil {
			fn(svc)
		}
	}
}

// remote is the APIService of the name if another server is behind it; else nil.
func (a *Aggregator) remote(name string) *apiregistration.APIService {
	if a.services == nil {
		return nil
	}
	en := a.services.Get(name)
	if en == nil {
		return nil
	}
	if svc := en.Object.(*apiregistration.APIService); svc.Spec.Service != nil {
		return svc
	}
	return nil
}

// checkAvailability looks at one APIService. An error asks for another look soon.
func (a *Aggregator) checkAvailability(t *sim.Task, name string) error {
	svc := a.remote(name)
	if svc == nil {
		return nil
	}
	c := &availability{a: a, t: t, svc: svc, began: t.Elapsed()}
	cond, failed := c.judge()
	was := helper.GetAPIServiceConditionByType(svc, apiregistration.Available)
	told := &trace.APIServiceCheck{
		APIService: name, Service: svc.Spec.Service.Namespace + "/" + svc.Spec.Service.Name, Endpoint: c.endpoint,
		Available: string(cond.Status), Reason: cond.Reason, Message: cond.Message, Took: t.Elapsed() - c.began,
		Changed: was == nil || was.Status != cond.Status || was.Reason != cond.Reason,
	}
	t.SetCauses(t.Emit(trace.Event{Kind: trace.APIServiceChecked, Object: client.APIServices.Ref("", name), Payload: told}))
	next := svc.DeepCopy()
	cond.Type, cond.LastTransitionTime = apiregistration.Available, metav1.NewTime(t.Now().Truncate(time.Second))
	helper.SetAPIServiceCondition(next, cond)
	if !object.Equal(svc.Status, next.Status) {
		if err := a.Host.UpdateAPIServiceStatus(t, remoteAvailability, next); err != nil {
			return err
		}
	}
	return failed
}

// availability is one look at an APIService.
type availability struct {
	a        *Aggregator
	t        *sim.Task
	svc      *apiregistration.APIService
	began    time.Duration
	endpoint string // that was asked last
}

type apiCondition = apiregistration.APIServiceCondition

func unavailable(reason, format string, args ...any) apiCondition {
	return apiCondition{Status: apiregistration.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// judge finds the condition (sync). An error asks for another look soon.
func (c *availability) judge() (apiCondition, error) {
	r := c.svc.Spec.Service
	en := c.a.Caches(registry.KindFor(client.Services.GroupVersionResource)).Get(r.Namespace + "/" + r.Name)
	if en == nil {
		return unavailable("ServiceNotFound", "service/%s in %q is not present", r.Name, r.Namespace), nil
	}
	if service := en.Object.(*corev1.Service); service.Spec.Type == corev1.ServiceTypeClusterIP {
		at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == *r.Port })
		if at < 0 {
			return unavailable("ServicePortError", "service/%s in %q is not listening on port %d", r.Name, r.Namespace, *r.Port), nil
		}
		port := service.Spec.Ports[at].Name
		slices, active := c.a.slicesOf(r.Namespace, r.Name, port)
		switch {
		case slices == 0:
			return unavailable("EndpointsNotFound", "cannot find endpointslices for service/%s in %q", r.Name, r.Namespace), nil
		case !active:
			return unavailable("MissingEndpoints", "endpointslices for service/%s in %q have no addresses with port name %q", r.Name, r.Namespace, port), nil
		}
	}
	if err := c.ask(); err != nil {
		return unavailable("FailedDiscoveryCheck", "%v", err), err
	}
	return apiCondition{Status: apiregistration.ConditionTrue, Reason: "Passed", Message: "all checks passed"}, nil
}

// slicesOf counts a Service's EndpointSlices, and says whether one has a ready
// endpoint with a port of the name (hasAvailableEndpoint).
func (a *Aggregator) slicesOf(namespace, name, port string) (n int, active bool) {
	a.Caches(registry.KindFor(client.EndpointSlices.GroupVersionResource)).Scan(namespace, func(_ string, en *cacher.Entry) bool {
		slice := en.Object.(*discoveryv1.EndpointSlice)
		if slice.Labels[discoveryv1.LabelServiceName] != name {
			return true
		}
		n++
		active = active || slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool {
			return e.Conditions.Ready == nil || *e.Conditions.Ready
		}) && slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool {
			return p.Name != nil && *p.Name == port && p.Port != nil
		})
		return true
	})
	return n, active
}

// ask asks the server for the path that every aggregated API must serve.
func (c *availability) ask() (err error) {
	r := c.svc.Spec.Service
	ready, err := c.a.Host.ServiceEndpoints(r.Namespace, r.Name, *r.Port)
	if err != nil {
		return err
	}
	path := "/apis/" + c.svc.Spec.Group + "/" + c.svc.Spec.Version
	if c.svc.Name == "v1." {
		path = "/api/" + c.svc.Spec.Version
	}
	deadline := c.began + availabilityTimeout
	for range availabilityTries {
		if len(ready) == 0 || c.t.Elapsed() >= deadline {
			break
		}
		at := c.a.Rand.IntN(len(ready))
		e := ready[at]
		ready = slices.Delete(ready, at, at+1)
		c.endpoint = e
		url := "https://" + e + path
		answer, failed := c.a.send(c.t, e, &remote.Request{Method: http.MethodGet, Path: path, Header: asUser(aggregatorUser)}, deadline)
		switch {
		case failed != nil:
			err = fmt.Errorf("failing or missing response from %s: Get %q: %w", url, url, failed.inClient())
		case answer.Code < http.StatusOK || answer.Code >= http.StatusMultipleChoices:
			err = fmt.Errorf("failing or missing response from %s: bad status from %s: %d", url, url, answer.Code)
		default:
			return nil
		}
	}
	return err
}
