// Package metricsserver is metrics-server, the program behind the aggregated API
// metrics.k8s.io: it asks every node's kubelet four times a minute what its pods use,
// keeps the last two answers in memory, and serves what kubectl top shows.
//
// In Kubernetes it is a Deployment that has to be installed
// (sigs.k8s.io/metrics-server); so it is here, from manifests/metrics-server.yaml. It
// runs in a container, as a program of its image, finds nodes and pods through informers
// as its ServiceAccount, and is reached through its pod's address only. It stores
// nothing in etcd: when its pods are gone, the API is.
//
// Simplified: kubelets are asked without packets, though not across links that are cut;
// what containers use is simulated (runtime/usage.go); a figure needs two answers of
// the kubelet, as upstream's, but is that of the last one and not taken from a counter;
// it asks back with a SubjectAccessReview each time whether the user that the API server
// names may do it, where upstream remembers the answer for ten seconds. Start reading at [Start]; what it
// answers is in answer.go.
package metricsserver

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/extension"
	"kviz/cluster/informer"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Nodes, How: simulated.Simplified,
	What: "metrics-server reaches the kubelets without packets, though not across links that are cut; a figure is the kubelet's last one, not the difference of two counters",
	Seen: "kubectl top",
})

// Image is the repository of the program's image.
const Image = "registry.k8s.io/metrics-server/metrics-server"

// Resolution is how often kubelets are asked (--metric-resolution).
const Resolution = 15 * time.Second

// Scrape asks a node's kubelet, from a pod on another, what is used there
// (/metrics/resource).
type Scrape func(from, node string) (Sample, error)

// Sample is a kubelet's answer: what the node uses and what its pods do.
type Sample struct {
	CPU, Memory int64 // nanocores, bytes
	Pods        []runtime.PodUsage
	At          time.Time
}

// pod finds a pod in the sample; nil if it was not there.
func (s *Sample) pod(namespace, name string) *runtime.PodUsage {
	if s == nil {
		return nil
	}
	for i := range s.Pods {
		if p := &s.Pods[i]; p.Namespace == namespace && p.Name == name {
			return p
		}
	}
	return nil
}

// server is the program in one container.
type server struct {
	in          runtime.Instance
	scrape      Scrape
	reviews     client.Interface // for SubjectAccessReviews
	nodes, pods *informer.Informer
	last, prev  map[string]*Sample // by node
}

// Start begins the program in a container.
func Start(in runtime.Instance, scrape Scrape) runtime.Program {
	s := &server{in: in, scrape: scrape, reviews: throttle.New(in.Process, in.Process.Lane, in.API, "authorization", extension.ReviewLimits), last: map[string]*Sample{}, prev: map[string]*Sample{}}
	f := informer.NewFactory(in.Process, in.Process.Lane, throttle.New(in.Process, in.Process.Lane, in.API, "metrics-server", throttle.Limits{}))
	s.nodes, s.pods = f.For(client.Nodes), f.For(client.Pods)
	f.Start()
	in.Process.Go("scrape", func(t *sim.Task) {
		s.nodes.WaitForSync(t)
		s.pods.WaitForSync(t)
		in.Log("Serving securely on [::]:10250")
		for {
			s.tick(t)
			t.Sleep(Resolution)
		}
	})
	return s
}

// tick asks all kubelets. Of one that does not answer there are no metrics.
func (s *server) tick(t *sim.Task) {
	s.prev, s.last = s.last, map[string]*Sample{}
	for _, obj := range s.nodes.List() {
		_ = t.HandleCrashOn(client.RefOf(obj), "the metrics of the node", func() { s.ask(obj.(*corev1.Node), t.Now()) })
	}
}

// ask asks one kubelet.
func (s *server) ask(n *corev1.Node, now time.Time) {
	sample, err := s.scrape(s.in.Node, n.Name)
	if err != nil {
		address := n.Name
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				address = a.Address
			}
		}
		why := fmt.Sprintf("Get \"https://%[1]s:10250/metrics/resource\": dial tcp %[1]s:10250: %[2]v", address, err)
		s.in.Log(fmt.Sprintf("\"Failed to scrape node\" err=%q node=%q", why, n.Name))
		return
	}
	sample.At = now
	s.last[n.Name] = &sample
}

// both reports whether a pod's containers ran through the last two answers.
func both(last, prev *runtime.PodUsage) bool {
	if last == nil || prev == nil || last.UID != prev.UID || len(last.Containers) != len(prev.Containers) {
		return false
	}
	for i := range last.Containers {
		if last.Containers[i].Name != prev.Containers[i].Name || !last.Containers[i].Started.Equal(prev.Containers[i].Started) {
			return false
		}
	}
	return true
}

func part(parts []string, n int) string { return extension.Part(parts, n) }

// below are the parts of a path below the group version.
func below(path string) []string { return extension.Below(path, root) }
