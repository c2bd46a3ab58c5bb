package apiserver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kviz/cluster/apiserver/request"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// serving is a world in which there are two node ports, and Services are asked for.
type serving struct {
	*world
	task *sim.Task
}

func runServing(t *testing.T, fn func(w serving)) {
	run(t, Config{NodePorts: [2]int{30000, 30001}}, func(w *world, task *sim.Task) { fn(serving{w, task}) })
}

func (w serving) create(name, spec string, dryRun bool) (*corev1.Service, error) {
	r := w.ask(w.task, &request.Request{
		Verb: "create", Resource: client.Services.GroupVersionResource, Namespace: "default", DryRun: dryRun,
		Body: fmt.Appendf(nil, `{"metadata":{"name":%q},"spec":{%s}}`, name, spec),
	})
	w.task.Sleep(10 * time.Millisecond)
	svc, _ := r.Object.(*corev1.Service)
	return svc, r.Err
}

func (w serving) must(svc *corev1.Service, err error) *corev1.Service {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	return svc
}

func (w serving) refused(err error, why string) {
	w.t.Helper()
	if err == nil || !strings.Contains(err.Error(), why) {
		w.t.Errorf("%v, want %q", err, why)
	}
}

func (w serving) patch(name, patch string) *request.Request {
	return &request.Request{Verb: "patch", Resource: client.Services.GroupVersionResource, Namespace: "default", Name: name, PatchType: types.MergePatchType, Patch: []byte(patch)}
}

const (
	oneIP    = `"ports":[{"port":80}]`
	nodePort = `"type":"NodePort",` + oneIP
)

// What a Service got is free again when it is not written after all: of two node ports
// both can still be had after many requests that came to nothing.
func TestServicesGiveBackWhatIsNotWritten(t *testing.T) {
	runServing(t, func(w serving) {
		for range 3 {
			svc := w.must(w.create("dry", nodePort, true))
			if svc.Spec.ClusterIP != "10.96.0.0" || svc.Spec.Ports[0].NodePort != 32769 {
				t.Errorf("a dry run is told %s and %d, which is nobody's upstream", svc.Spec.ClusterIP, svc.Spec.Ports[0].NodePort)
			}
		}
		a := w.must(w.create("a", nodePort, false))
		for range 3 {
			_, err := w.create("a", nodePort, false)
			w.refused(err, "already exists")
			_, err = w.create("bad", nodePort+`,"sessionAffinity":"Sometimes"`, false)
			w.refused(err, "Unsupported value")
		}
		w.must(w.create("c", oneIP, false))
		for i := range 3 { // another is faster, so that there is a second round
			w.user.Go("other", func(o *sim.Task) {
				w.world.must(w.ask(o, w.patch("c", fmt.Sprintf(`{"metadata":{"labels":{"i":"%d"}}}`, i))).Err)
			})
			for _, kind := range []string{"NodePort", "ClusterIP"} {
				w.world.must(w.ask(w.task, w.patch("c", `{"spec":{"type":"`+kind+`"}}`)).Err)
				w.task.Sleep(10 * time.Millisecond)
			}
		}
		b := w.must(w.create("b", nodePort, false))
		if a.Spec.Ports[0].NodePort == b.Spec.Ports[0].NodePort {
			t.Errorf("both Services have the node port %d", b.Spec.Ports[0].NodePort)
		}
		_, err := w.create("d", nodePort, false)
		w.refused(err, "failed to allocate a nodePort: range is full")
	})
}

// What a Service has nobody else gets, not even one of its name, whatever is refused or
// only tried.
func TestServicesKeepWhatTheyHave(t *testing.T) {
	runServing(t, func(w serving) {
		a := w.must(w.create("a", nodePort, false))
		same := fmt.Sprintf(`"clusterIP":%q`, a.Spec.ClusterIP)
		port := fmt.Sprintf(`"type":"NodePort","ports":[{"port":80,"nodePort":%d}]`, a.Spec.Ports[0].NodePort)
		taken := func() {
			t.Helper()
			for _, name := range []string{"a", "b"} {
				_, err := w.create(name, oneIP+","+same, false)
				w.refused(err, "provided IP is already allocated")
				for _, dryRun := range []bool{true, false} {
					_, err = w.create(name, port, dryRun)
					w.refused(err, "provided port is already allocated")
				}
			}
		}
		taken()
		w.world.must(w.ask(w.task, &request.Request{Verb: "delete", Resource: client.Services.GroupVersionResource, Namespace: "default", Name: "a", DryRun: true}).Err)
		taken()
		w.refused(w.ask(w.task, w.patch("a", `{"spec":{"sessionAffinity":"Sometimes"}}`)).Err, "Unsupported value")
		taken()
		w.world.must(w.ask(w.task, &request.Request{Verb: "delete", Resource: client.Services.GroupVersionResource, Namespace: "default", Name: "a"}).Err)
		w.task.Sleep(10 * time.Millisecond)
		w.must(w.create("b", port+","+same, false))
	})
}
