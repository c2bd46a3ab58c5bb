package apiserver

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"kviz/cluster/apiserver/aggregator"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// metrics is an APIService behind which no server is yet.
func metrics() *apiregistration.APIService {
	port := int32(443)
	return &apiregistration.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1beta1.metrics.k8s.io"},
		Spec: apiregistration.APIServiceSpec{
			Group: "metrics.k8s.io", Version: "v1beta1", GroupPriorityMinimum: 100, VersionPriority: 100, InsecureSkipTLSVerify: true,
			Service: &apiregistration.ServiceReference{Namespace: "default", Name: "metrics-server", Port: &port},
		},
	}
}

// What another server serves goes on being sent there when a definition comes, changes
// and goes; the definition's own group version is registered beside it; and the same
// aggregator hears of the Services behind the others.
func TestDefinitionsLeaveTheAggregatorAsItIs(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		admin := w.admin()
		_, err := client.Create(task, admin, client.APIServices, "", metrics())
		w.must(err)
		task.Sleep(time.Second)
		served := func(when string) {
			t.Helper()
			if gv := (schema.GroupVersion{Group: "metrics.k8s.io", Version: "v1beta1"}); !w.s.Aggregated().Serves(gv) {
				t.Errorf("%s: requests for %s are not sent on", when, gv)
			}
			if groups := w.s.Aggregated().Groups(); len(groups) != 1 || groups[0].Name != "metrics.k8s.io" {
				t.Errorf("%s: discovery of others has %v", when, groups)
			}
			if stale := client.StaleGroups(admin); len(stale) != 1 {
				t.Errorf("%s: the namespace controller is told of %v, want the one server that cannot be asked", when, stale)
			}
		}
		reason := func() string {
			svc, err := client.Get[*apiregistration.APIService](task, admin, client.APIServices, "", "v1beta1.metrics.k8s.io")
			w.must(err)
			if c := helper.GetAPIServiceConditionByType(svc, apiregistration.Available); c != nil {
				return c.Reason
			}
			return ""
		}
		registered := func() bool {
			return w.s.caches.Of(aggregator.Kind()).Get("v1.stable.example.com") != nil
		}

		served("before any definition")
		w.define(task, cronTabs)
		served("after a definition came")
		if !registered() {
			t.Error("the definition's group version has no APIService")
		}
		if got := reason(); got != "ServiceNotFound" {
			t.Errorf("without its Service: %s", got)
		}
		_, err = client.Create(task, admin, client.Services, "default", &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "metrics-server"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
		})
		w.must(err)
		task.Sleep(time.Second)
		if got := reason(); got != "EndpointsNotFound" {
			t.Errorf("a second after its Service was made: %s, want EndpointsNotFound", got)
		}
		w.onDefinition(task, "delete", "crontabs.stable.example.com", "", "")
		task.Sleep(2 * time.Second)
		served("after the definition went")
		if registered() {
			t.Error("the APIService of the definition that is gone is still there")
		}
	})
}

// APIServices are made when somebody first asks for one. That of a definition is as old as
// the definition all the same, and says that it is available since then; a built-in group's
// is as old as the server.
func TestAnAPIServiceIsAsOldAsItsDefinition(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		task.Sleep(time.Minute)
		w.define(task, cronTabs)
		task.Sleep(time.Minute)
		admin := w.admin()
		crd, err := admin.Get(task, client.CustomResourceDefinitions, "", "crontabs.stable.example.com")
		w.must(err)
		defined := crd.(*apiextensionsv1.CustomResourceDefinition).CreationTimestamp
		for name, born := range map[string]metav1.Time{"v1.stable.example.com": defined, "v1.apps": metav1.NewTime(w.k.Epoch())} {
			svc, err := client.Get[*apiregistration.APIService](task, admin, client.APIServices, "", name)
			w.must(err)
			if !svc.CreationTimestamp.Equal(&born) {
				t.Errorf("%s is from %v, want %v", name, svc.CreationTimestamp, born)
			}
			if c := helper.GetAPIServiceConditionByType(svc, apiregistration.Available); c == nil || !c.LastTransitionTime.Equal(&born) {
				t.Errorf("%s says of being available %v, want that it is since %v", name, c, born)
			}
		}
	})
}
