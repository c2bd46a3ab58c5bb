package apiserver

import (
	"bytes"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"kviz/cluster/apiserver/request"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// TestUpkeep: Events go after an hour, history after ten minutes.
func TestUpkeep(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		ev := &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "default"}, Reason: "Test", Type: "Normal",
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "p"}, LastTimestamp: metav1.NewTime(task.Now()),
		}
		_, err := w.admin().Create(task, client.Events, "default", ev)
		w.must(err)
		first := w.s.Store().Revision()
		w.put(task, "a", "1")
		task.Sleep(50 * time.Minute)
		if _, err := w.admin().Get(task, client.Events, "default", "e"); err != nil {
			t.Errorf("after 50 minutes: %v", err)
		}
		u := authn.Admin()
		old := w.s.Handle(task, &request.Request{
			Verb: "list", Resource: client.ConfigMaps.GroupVersionResource, User: &u,
			List: metav1.ListOptions{ResourceVersion: object.FormatRevision(first), ResourceVersionMatch: metav1.ResourceVersionMatchExact},
		})
		if !apierrors.IsResourceExpired(old.Err) {
			t.Errorf("history of 50 minutes ago gave %v, want 410", old.Err)
		}
		task.Sleep(12 * time.Minute)
		if _, err := w.admin().Get(task, client.Events, "default", "e"); !apierrors.IsNotFound(err) {
			t.Errorf("after an hour: %v, want NotFound", err)
		}
	})
}

// TestStoredBytes: Kubernetes' own codec reads what is in the store, and a
// stringData of a Secret is not in it.
func TestStoredBytes(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		_, err := w.admin().Create(task, client.Secrets, "default", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"k": "v"}})
		w.must(err)
		resp, err := w.st.Range(task, &pb.RangeRequest{Key: []byte("/registry/secrets/default/s")})
		w.must(err)
		value := resp.Kvs[0].Value
		if !bytes.HasPrefix(value, []byte("k8s\x00")) {
			t.Fatalf("the value begins with %q", value[:4])
		}
		obj, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(core.SchemeGroupVersion), value)
		w.must(err)
		s := obj.(*core.Secret)
		if string(s.Data["k"]) != "v" || s.Type != core.SecretTypeOpaque || s.ResourceVersion != "" {
			t.Errorf("the store holds %+v", s)
		}
	})
}

// TestWatchLimit: a watch with a time limit ends when it is over.
func TestWatchLimit(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		wa := w.open(task, client.ConfigMaps, "default", metav1.ListOptions{TimeoutSeconds: ptr.To(int64(30))})
		before := task.Elapsed()
		expect(t, next(task, wa), "ended")
		if took := task.Elapsed() - before; took < 29*time.Second || took > 31*time.Second {
			t.Errorf("the watch lasted %v, want 30 s", took)
		}
	})
}
