package apiserver

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/controlplane"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// The Service kubernetes, its Endpoints and its slice lead to the server. What somebody
// deletes or changes is written again within ten seconds; while nothing is wrong, nothing
// is asked or written.
func TestKubernetesServiceIsKept(t *testing.T) {
	run(t, Config{AdvertiseIP: "192.168.0.10"}, func(w *world, task *sim.Task) {
		c := w.s.controllers.Client
		wrong := func() string {
			e, err := client.Get[*corev1.Endpoints](task, c, client.Endpoints, "default", "kubernetes")
			if err != nil {
				return err.Error()
			}
			if e.Labels[discoveryv1.LabelSkipMirror] != "true" || len(e.Subsets) != 1 || len(e.Subsets[0].Addresses) != 1 || e.Subsets[0].Addresses[0].IP != "192.168.0.10" ||
				len(e.Subsets[0].Ports) != 1 || e.Subsets[0].Ports[0] != (corev1.EndpointPort{Name: "https", Port: 6443, Protocol: corev1.ProtocolTCP}) {
				return "Endpoints " + e.String()
			}
			s, err := client.Get[*discoveryv1.EndpointSlice](task, c, client.EndpointSlices, "default", "kubernetes")
			if err != nil {
				return err.Error()
			}
			if len(s.Endpoints) != 1 || s.Endpoints[0].Addresses[0] != "192.168.0.10" || *s.Ports[0].Port != 6443 {
				return "slice " + s.String()
			}
			if _, err := client.Get[*corev1.Service](task, c, client.Services, "default", "kubernetes"); err != nil {
				return err.Error()
			}
			return ""
		}
		if why := wrong(); why != "" {
			t.Errorf("in a new cluster: %s", why)
		}
		before := w.s.st.Revision()
		task.Sleep(time.Minute)
		if now := w.s.st.Revision(); now != before {
			t.Errorf("at rest the store went from revision %d to %d", before, now)
		}
		for _, r := range []client.Resource{client.Endpoints, client.EndpointSlices, client.Services} {
			w.must(c.Delete(task, r, "default", "kubernetes", metav1.DeleteOptions{}))
			if wrong() == "" {
				t.Errorf("%s: nothing was deleted", r.Kind)
			}
			task.Sleep(controlplane.ReconcileEvery + time.Second)
			if why := wrong(); why != "" {
				t.Errorf("after its %s was deleted: %s", r.Kind, why)
			}
		}
		e, err := client.Get[*corev1.Endpoints](task, c, client.Endpoints, "default", "kubernetes")
		w.must(err)
		e.Labels, e.Subsets[0].Addresses[0].IP = nil, "10.0.0.1"
		_, err = client.Update(task, c, client.Endpoints, "default", e)
		w.must(err)
		task.Sleep(controlplane.ReconcileEvery + time.Second)
		if why := wrong(); why != "" {
			t.Errorf("after they were changed: %s", why)
		}
	})
}
