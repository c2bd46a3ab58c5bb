package proxy_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/proxy"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// mistaken is a way to the API server on which one Service arrives as something else.
type mistaken struct{ client.Interface }

func (m mistaken) Watch(t *sim.Task, r client.Resource, namespace string, opts metav1.ListOptions) (client.Watch, error) {
	w, err := m.Interface.Watch(t, r, namespace, opts)
	return mistakenWatch{w}, err
}

type mistakenWatch struct{ client.Watch }

func (m mistakenWatch) Recv(t *sim.Task) (client.WatchEvent, bool) {
	e, ok := m.Watch.Recv(t)
	if s, is := e.Object.(*corev1.Service); is && s.Name == "bad" {
		e.Object = apiruntime.Object(&corev1.Pod{ObjectMeta: s.ObjectMeta})
	}
	return e, ok
}

// A Service whose rules cannot be made is named in the trace and in a Warning; the others have their
// rules, those that come later too, and so they have from a proxy that finds it stored.
func TestAPanicIsOfOneService(t *testing.T) {
	b := run(t, 1, false, func(b *bench) {
		begin := func() {
			b.p = b.Kernel.NewProcess(trace.Lane{Component: trace.CompProxy, Instance: "node-a"})
			b.px = proxy.Start(b.p, mistaken{b.Client()}, b.cfg)
		}
		begin()
		b.settle()
		b.service("bad", "10.96.0.9", "", "10.244.0.4")
		b.service("web", "10.96.0.10", "", "10.244.0.5")
		b.settle()
		b.p.Kill()
		begin()
		b.t.Sleep(2 * time.Minute)
		b.service("later", "10.96.0.11", "", "10.244.0.6")
		b.settle()
		rules := b.px.Save()
		for _, ip := range []string{"10.244.0.5:8080", "10.244.0.6:8080"} {
			if !strings.Contains(rules, ip) {
				panic("no rule for " + ip + ":\n" + rules)
			}
		}
	})
	panics, warned := map[string]int{}, 0
	for _, e := range b.Events {
		switch p := e.Payload.(type) {
		case *trace.Panicked:
			panics[e.Object.Name+" "+p.Doing]++
		case *trace.KubeEvent:
			if p.Reason == "ProxyPanic" && p.Type == corev1.EventTypeWarning && p.Regarding.Name == "bad" {
				warned++
			}
		}
	}
	// Every half a minute, and when there is news of the Service.
	if n := panics["bad the rules of the Service"]; n < 4 || n > 12 || panics["bad a handler of services"] != 2 || warned == 0 {
		t.Errorf("panics: %v, %d Warnings", panics, warned)
	}
}
