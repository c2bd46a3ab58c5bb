package endpointslicemirroring

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	upstream "k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
	"pgregory.net/rapid"

	"kviz/cluster/controller/services/servicestest"
	"kviz/raftstore/steady"
)

// From the same Endpoints and the same slices Kubernetes' own controller creates, updates
// and deletes the same slices. (It leaves the order of endpoints in a slice to a hash map.)
// It runs with one worker, which takes, after what is compared, Endpoints that are gone and
// have a slice, and deletes that.
func TestControllerIsUpstreams(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		all, svcs, cached := servicestest.NewCache(), servicestest.NewCache(), servicestest.NewCache()
		done := make(chan struct{})
		c := &servicestest.Client{Deleted: func(name string) {
			if name == "last" {
				done <- struct{}{}
			}
		}}
		theirs := upstream.NewController(t.Context(), servicestest.EndpointsInformer{Cache: all}, servicestest.SliceInformer{Cache: cached},
			servicestest.ServiceInformer{Cache: svcs}, MaxEndpoints, c, 0)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { theirs.Run(ctx, 1); close(ended) }()
		defer func() { cancel(); <-ended }()

		last := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "last", Labels: map[string]string{
			discoveryv1.LabelServiceName: "last", discoveryv1.LabelManagedBy: ManagedBy,
		}}}
		svcs.Hold(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "db"}})
		e, have := anyEndpoints(r), anySlices(r)
		all.Hold(e)
		objs := []runtime.Object{last}
		for _, s := range have {
			objs = append(objs, s.DeepCopy())
		}
		cached.Hold(objs...)

		want, _, _ := groupsOf(e)
		if manyOfAFamily(have) {
			r.Skip("which of them stays upstream leaves to maps")
		}
		mine := planOf(e, want, have)
		recycled := slices.ContainsFunc(mine.update, func(s *discoveryv1.EndpointSlice) bool { return s.GenerateName != "" })
		if recycled && manyFamilies(slices.Concat(mine.create, mine.update)) {
			r.Skip("upstream takes the wrong one of two nameless slices off its list, writes one twice and the other not (removeSlice)")
		}
		all.Came(e)
		all.Came(&corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "last"}})
		<-done

		theirPlan := &plan{create: c.Creations, update: c.Updates}
		for _, name := range c.Deletions[:len(c.Deletions)-1] {
			theirPlan.remove = append(theirPlan.remove, &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		if got, want := mine.String(), theirPlan.String(); got != want {
			r.Fatalf("got\n%s\nupstream\n%s", got, want)
		}
	})
}

func anyEndpoints(r *rapid.T) *corev1.Endpoints {
	e := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "db", UID: types.UID(rapid.SampledFrom([]string{"uid-1", "uid-2"}).Draw(r, "uid"))}}
	if rapid.Bool().Draw(r, "labelled") {
		e.Labels = map[string]string{"team": "a"}
	}
	if rapid.Bool().Draw(r, "annotated") {
		e.Annotations = map[string]string{"note": "n", corev1.LastAppliedConfigAnnotation: "{}", corev1.EndpointsLastChangeTriggerTime: "t"}
	}
	addresses := []string{"10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2", "nonsense", "192.0.2.9"}
	for i := range rapid.IntRange(0, 3).Draw(r, "subsets") {
		draw := func(what string, of []string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 0, len(of), rapid.ID).Draw(r, fmt.Sprint(what, i))
		}
		list := func(what string) (out []corev1.EndpointAddress) {
			for _, ip := range draw(what, addresses) {
				a := corev1.EndpointAddress{IP: ip}
				if rapid.IntRange(0, 3).Draw(r, fmt.Sprint("host of ", ip, i)) == 0 {
					a.Hostname = "h"
				}
				out = append(out, a)
			}
			return out
		}
		s := corev1.EndpointSubset{Addresses: list("ready"), NotReadyAddresses: list("unready")}
		for _, p := range draw("ports", []string{"sql", "admin"}) {
			s.Ports = append(s.Ports, corev1.EndpointPort{Name: p, Port: int32(5000 + len(p)), Protocol: corev1.ProtocolTCP})
		}
		e.Subsets = append(e.Subsets, s)
	}
	return e
}

// anySlices are slices of before: of other ports and other addresses, with other labels, of
// Endpoints of the same name, or as they should be.
func anySlices(r *rapid.T) []*discoveryv1.EndpointSlice {
	var out []*discoveryv1.EndpointSlice
	of := anyEndpoints(r)
	if rapid.Bool().Draw(r, "same labels") {
		of.Labels = map[string]string{"team": "a"}
	}
	groups, _, _ := groupsOf(of)
	for i, s := range planOf(of, groups, nil).create {
		s.Name, s.GenerateName = fmt.Sprint("db-", i), ""
		out = append(out, s)
	}
	return out
}

func manyFamilies(list []*discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(list, func(s *discoveryv1.EndpointSlice) bool { return s.AddressType != list[0].AddressType })
}

func manyOfAFamily(list []*discoveryv1.EndpointSlice) bool {
	seen := map[string]bool{}
	for _, s := range list {
		key := string(s.AddressType)
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}

// String is what is written, with the names that stay and those that go.
func (p *plan) String() string {
	return fmt.Sprintf("%d created, %d updated\n%s\nupdated %v\ndeleted %v", len(p.create), len(p.update),
		strings.Join(texts(slices.Concat(p.create, p.update)), "\n"), names(p.update), names(p.remove))
}

func texts(list []*discoveryv1.EndpointSlice) []string {
	var out []string
	for _, s := range list {
		s = s.DeepCopy()
		slices.SortFunc(s.Endpoints, func(a, b discoveryv1.Endpoint) int { return slices.Compare(a.Addresses, b.Addresses) })
		if len(s.Annotations) == 0 {
			s.Annotations = nil
		}
		s.Name, s.GenerateName = "", ""
		b, err := json.Marshal(s)
		if err != nil {
			panic(err)
		}
		out = append(out, string(b))
	}
	slices.Sort(out)
	return out
}

func names(list []*discoveryv1.EndpointSlice) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.Name)
	}
	slices.Sort(out)
	return out
}
