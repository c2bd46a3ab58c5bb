package apiserver

import (
	"fmt"
	"strings"
	"testing"

	"kviz/cluster/apiserver/request"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// Who pages through a list that has been compacted away meanwhile gets, with the
// refusal, a token by which he goes on with what there is now.
func TestPagingGoesOnAfterCompaction(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		for i := range 6 {
			_, err := w.admin().Create(task, client.ConfigMaps, "default", configMap(fmt.Sprint("cm-", i)))
			w.must(err)
		}
		page := func(token string) *request.Response {
			return w.ask(task, &request.Request{
				Verb: "list", Resource: client.ConfigMaps.GroupVersionResource, Namespace: "default",
				List: metav1.ListOptions{Limit: 2, Continue: token, FieldSelector: "metadata.name!=kube-root-ca.crt"},
			})
		}
		names := func(r *request.Response) string {
			var all []string
			for _, o := range r.Items {
				all = append(all, object.Meta(o).GetName())
			}
			return strings.Join(all, " ")
		}
		first := page("")
		if got := names(first); got != "cm-0 cm-1" || first.ListMeta.Continue == "" {
			t.Fatalf("%s %+v %v", got, first.ListMeta, first.Err)
		}
		w.must(w.admin().Delete(task, client.ConfigMaps, "default", "cm-2", metav1.DeleteOptions{}))
		w.must(w.st.Compact(task, w.s.Store().Revision()))
		gone := page(first.ListMeta.Continue)
		if !apierrors.IsResourceExpired(gone.Err) || !strings.Contains(gone.Err.Error(), "use the continue token in this response") {
			t.Fatalf("%v", gone.Err)
		}
		again := gone.Status().Continue
		second := page(again)
		if got := names(second); got != "cm-3 cm-4" || second.ListMeta.ResourceVersion != object.FormatRevision(w.s.Store().Revision()) {
			t.Errorf("%s %+v %v", got, second.ListMeta, second.Err)
		}
		if got := names(page(second.ListMeta.Continue)); got != "cm-5" {
			t.Errorf("then %s", got)
		}
	})
}
