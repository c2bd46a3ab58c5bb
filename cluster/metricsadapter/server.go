// Package metricsadapter is a metrics adapter, the program behind the aggregated APIs
// custom.metrics.k8s.io and external.metrics.k8s.io: what a HorizontalPodAutoscaler asks about
// requests per second, and about the length of a queue outside the cluster.
//
// In Kubernetes it is a Deployment that has to be installed
// (sigs.k8s.io/prometheus-adapter, which asks a Prometheus, which asks the pods); so it is here, from
// manifests/metrics-adapter.yaml. It runs in a container, as a program of its image, finds
// pods through an informer as its ServiceAccount, and is reached through its pod's address only.
//
// Simplified: there is no Prometheus behind it, and nothing is measured: a metric is what a person
// has set with kviz load (package load), at the moment of the request; metrics of pods have
// no labels of their own; of objects other than pods each is asked for by its name; there is no OpenAPI
// document. Start reading at [Start]; what it answers is in answer.go.
package metricsadapter

import (
	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/extension"
	"kviz/cluster/informer"
	"kviz/cluster/load"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Nodes, How: simulated.Simulated,
	What: "the metrics adapter measures nothing: custom and external metrics are what kviz load sets",
	Seen: "kubectl get --raw /apis/custom.metrics.k8s.io/…",
})

// Image is the repository of the program's image.
const Image = "registry.k8s.io/prometheus-adapter/prometheus-adapter"

// Source is where metrics come from; on the kernel's goroutine.
type Source interface {
	// Pod is what is set for a pod; nil if nothing is.
	Pod(uid string) *load.Pod
	// Loads is all that is set.
	Loads() []*load.Figure
}

// server is the program in one container.
type server struct {
	source  Source
	reviews client.Interface // for SubjectAccessReviews
	pods    *informer.Informer
}

// Start begins the program in a container.
func Start(in runtime.Instance, source Source) runtime.Program {
	s := &server{source: source, reviews: throttle.New(in.Process, in.Process.Lane, in.API, "authorization", extension.ReviewLimits)}
	f := informer.NewFactory(in.Process, in.Process.Lane, throttle.New(in.Process, in.Process.Lane, in.API, "prometheus-adapter", throttle.Limits{}))
	s.pods = f.For(client.Pods)
	f.Start()
	in.Process.Go("serve", func(t *sim.Task) {
		s.pods.WaitForSync(t)
		in.Log("Serving securely on [::]:6443")
	})
	return s
}
