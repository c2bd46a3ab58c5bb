package aggregator

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"kviz/cluster/client"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Discovery of what other servers serve (kube-aggregator
// pkg/apiserver/handler_discovery.go): each is asked for its own discovery document
// when its APIService changes and every minute, and what it said is part of /apis. One
// that cannot be reached is listed all the same, as Stale and with nothing in it, so
// that a client that needs everything that is served (kubectl api-resources, the
// namespace controller) sees that something is missing.

// backend is a server behind an APIService, as discovery knows it.
type backend struct {
	version   apidiscovery.APIVersionDiscovery
	known     bool
	dirty     bool // it is to be asked
	why       trace.ID
	due       time.Duration // when it is to be asked again
	fails     int
	openAPI   OpenAPIDocument   // its Hash is "" where the server told none
	openAPIv2 OpenAPIv2Document // likewise
}

// How long it is until a server is asked again: what it serves may have changed; it
// could not be asked.
const (
	discoveryRefresh = time.Minute
	discoveryRetry   = 500 * time.Millisecond
	discoveryTimeout = 5 * time.Second
)

// discover is a task of the server, the discovery manager.
func (a *Aggregator) discover(t *sim.Task) {
	for {
		next := time.Duration(-1)
		for _, name := range slices.Sorted(maps.Keys(a.backends)) {
			b := a.backends[name]
			if b == nil {
				continue // deleted while another was asked
			}
			if b.dirty || b.known && t.Elapsed() >= b.due {
				if broken := t.HandleCrashOn(client.APIServices.Ref("", name), "discovery of the APIService", func() { a.learn(t, name, b) }); broken != nil {
					b.dirty, b.due = false, t.Elapsed()+discoveryRefresh
				}
			}
			if next < 0 || b.due < next {
				next = b.due
			}
		}
		switch {
		case slices.ContainsFunc(slices.Sorted(maps.Keys(a.backends)), func(name string) bool { return a.backends[name].dirty }):
		case next < 0:
			a.changed.Wait(t)
		default:
			a.changed.WaitTimeout(t, max(next-t.Elapsed(), time.Millisecond))
		}
	}
}

// learn asks one server (syncAPIService).
func (a *Aggregator) learn(t *sim.Task, name string, b *backend) {
	svc := a.remote(name)
	if svc == nil {
		b.dirty, b.due = false, t.Elapsed()+discoveryRefresh
		return
	}
	b.dirty = false
	t.SetCauses(b.why)
	v := apidiscovery.APIVersionDiscovery{Version: svc.Spec.Version, Freshness: apidiscovery.DiscoveryFreshnessStale}
	if helper.IsAPIServiceConditionTrue(svc, apiregistration.Available) {
		if resources, ok := a.fetch(t, svc, b); ok {
			v.Resources, v.Freshness = resources, apidiscovery.DiscoveryFreshnessCurrent
		}
	}
	b.version, b.known = v, true
	if v.Freshness == apidiscovery.DiscoveryFreshnessCurrent {
		b.fails, b.due = 0, t.Elapsed()+discoveryRefresh
		return
	}
	b.due = t.Elapsed() + min(discoveryRetry<<min(b.fails, 10), discoveryRefresh)
	b.fails++
}

// fetch gets the resources of a group version: from the aggregated document, else from
// that of the version.
func (a *Aggregator) fetch(t *sim.Task, svc *apiregistration.APIService, b *backend) ([]apidiscovery.APIResourceDiscovery, bool) {
	r := svc.Spec.Service
	ready, err := a.Host.ServiceEndpoints(r.Namespace, r.Name, *r.Port)
	if err != nil {
		return nil, false
	}
	header := asUser(aggregatorUser)
	header.Set("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	e := ready[a.Rand.IntN(len(ready))]
	answer, failed := a.send(t, e, &remote.Request{Method: http.MethodGet, Path: "/apis", Header: header}, t.Elapsed()+discoveryTimeout)
	if failed != nil || answer.Code != http.StatusOK || !strings.Contains(answer.Header.Get("Content-Type"), "as=APIGroupDiscoveryList") {
		return nil, false
	}
	list := &apidiscovery.APIGroupDiscoveryList{}
	if json.Unmarshal(answer.Body, list) != nil {
		return nil, false
	}
	a.learnOpenAPI(t, svc, b, e)
	for _, g := range list.Items {
		for _, v := range g.Versions {
			if g.Name == svc.Spec.Group && v.Version == svc.Spec.Version {
				return v.Resources, true
			}
		}
	}
	return nil, true // the server does not have the version
}

// Groups is the discovery of what other servers serve: the group with the
// highest priority first.
func (a *Aggregator) Groups() []apidiscovery.APIGroupDiscovery {
	var services []*apiregistration.APIService
	a.eachRemote(func(svc *apiregistration.APIService) { services = append(services, svc) })
	slices.SortStableFunc(services, func(x, y *apiregistration.APIService) int {
		if d := y.Spec.GroupPriorityMinimum - x.Spec.GroupPriorityMinimum; d != 0 && x.Spec.Group != y.Spec.Group {
			return int(d)
		}
		if d := strings.Compare(x.Spec.Group, y.Spec.Group); d != 0 {
			return d
		}
		if d := y.Spec.VersionPriority - x.Spec.VersionPriority; d != 0 {
			return int(d)
		}
		return version.CompareKubeAwareVersionStrings(y.Spec.Version, x.Spec.Version)
	})
	var groups []apidiscovery.APIGroupDiscovery
	for _, svc := range services {
		v := apidiscovery.APIVersionDiscovery{Version: svc.Spec.Version, Freshness: apidiscovery.DiscoveryFreshnessStale}
		if b := a.backends[svc.Name]; b.known {
			v = b.version
		}
		if n := len(groups); n > 0 && groups[n-1].Name == svc.Spec.Group {
			groups[n-1].Versions = append(groups[n-1].Versions, v)
			continue
		}
		groups = append(groups, apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: svc.Spec.Group}, Versions: []apidiscovery.APIVersionDiscovery{v}})
	}
	return groups
}

// StaleGroups are the group versions whose servers cannot be asked what they serve.
func (a *Aggregator) StaleGroups() (out []client.StaleGroup) {
	a.eachRemote(func(svc *apiregistration.APIService) {
		if b := a.backends[svc.Name]; !b.known || b.version.Freshness == apidiscovery.DiscoveryFreshnessStale {
			out = append(out, client.StaleGroup{GroupVersion: schema.GroupVersion{Group: svc.Spec.Group, Version: svc.Spec.Version}, Why: b.why})
		}
	})
	return out
}
