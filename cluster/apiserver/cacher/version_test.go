package cacher

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
)

// What the hub's cache has is decoded when somebody looks, with the times that were stored.
func TestAnotherVersionIsMadeWhenItIsRead(t *testing.T) {
	core, events := registry.KindFor(client.Events.GroupVersionResource), registry.KindFor(client.NewEvents.GroupVersionResource)
	cfg := &Config{Transformer: func(*registry.Kind) *encrypt.Transformer { return &encrypt.Transformer{} }}
	hub, c := New(cfg, core), New(cfg, events)
	c.Hub = hub

	e := &corev1.Event{
		TypeMeta:       metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta:     metav1.ObjectMeta{Namespace: "demo", Name: "web.1", UID: "u1", ResourceVersion: "7"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "web"},
		Reason:         "Pulled", Message: "It was there already.", Type: "Normal", Count: 2,
		Source:        corev1.EventSource{Component: "kubelet", Host: "node-1"},
		LastTimestamp: metav1.NewTime(time.Unix(1767225600, 7e8).UTC()),
	}
	value, err := registry.Encode(core, e)
	if err != nil {
		t.Fatal(err)
	}
	before := e.DeepCopy()
	hub.put("demo/web.1", &Entry{Object: e, Value: value, Revision: 7})

	if c.ofHub("demo/web.1", 8) != nil {
		t.Error("another revision was taken")
	}
	en := c.ofHub("demo/web.1", 7)
	if en == nil || en.as != events || en.Object != e {
		t.Fatalf("got %+v, want the hub's object as it is", en)
	}
	c.put("demo/web.1", en)
	want, err := registry.Decode(events, value, 7)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, c.Get("demo/web.1").Object); diff != "" {
		t.Errorf("not what the bytes say:\n%s", diff)
	}
	if diff := cmp.Diff(before, e); diff != "" {
		t.Errorf("the hub's object was changed:\n%s", diff)
	}
}
