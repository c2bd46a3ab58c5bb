// Package operator is an operator: a custom controller that is not part of Kubernetes
// and knows how to run one application. A PostgresCluster says what is wanted; the
// operator creates the Secret, the Service and the Deployment that this takes, keeps
// them that way, and reports its progress in the status.
//
// It is built from what the built-in controllers are built from (informers, a work
// queue, a level-triggered loop) and differs from them in two ways only: its kind comes
// from a CustomResourceDefinition, and it runs in a container, as its ServiceAccount,
// which may do what a ClusterRole says. Without it a PostgresCluster is a record in
// etcd that nobody acts on. It is installed from manifests/operator/operator.yaml.
//
// Simplified, beside real operators (Crunchy's, Zalando's, CloudNativePG): the members
// are a Deployment's pods without volumes and without replication between them, there is
// no failover and no backup; the operator is meant to run with one replica, since it
// elects no leader. Start reading at [operator.sync]; what it makes is in children.go.
package operator

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Containers, How: simulated.Simulated,
	What: "the operator and what it makes are a Deployment's pods without volumes and without replication between them; there is no failover and no backup",
})

// Image is the repository of the operator's image.
const Image = "docker.io/kviz/postgres-operator"

// Name is the operator's name: of its queue, of its lane, of who its Events are from.
const Name = "postgres-operator"

// PostgresClusters is the kind that it serves.
var PostgresClusters = client.Resource{
	GroupVersionResource: schema.GroupVersionResource{Group: "databases.example.com", Version: "v1", Resource: "postgresclusters"},
	Kind:                 "PostgresCluster", Namespaced: true,
}

type operator struct {
	*reconcile.Env
	clusters *informer.Informer
	children [3]child
	loop     *reconcile.Loop
}

// Start begins the operator in a container. It sets no rate limit, so its client has
// client-go's.
func Start(in runtime.Instance) runtime.Program {
	in.API = throttle.New(in.Process, trace.Lane{Component: Name}, in.API, Name, throttle.Limits{})
	f := informer.NewFactory(in.Process, in.Process.Lane, in.API)
	o := &operator{Env: reconcile.NewEnv(in.Process, Name, Name, in.API, f, 1), clusters: f.For(PostgresClusters)}
	o.children = [3]child{
		{client.Secrets, f.For(client.Secrets), o.secret},
		{client.Services, f.For(client.Services), o.service},
		{client.Deployments, f.For(client.Deployments), o.deployment},
	}
	o.loop = reconcile.NewLoop(o.Env, Name, PostgresClusters, o.sync)
	add := func(t *sim.Task, obj apiruntime.Object, _ trace.ID) { o.loop.Add(t, informer.KeyOf(obj)) }
	o.clusters.AddHandler(informer.Handler{
		Add: add, Delete: add,
		Update: func(t *sim.Task, _, obj apiruntime.Object, _ trace.ID) { o.loop.Add(t, informer.KeyOf(obj)) },
	})
	waits := []*informer.Informer{o.clusters}
	for _, c := range o.children {
		c.watch(o.loop)
		waits = append(waits, c.cache)
	}
	in.Process.Go("start", func(t *sim.Task) {
		for _, i := range waits {
			i.WaitForSync(t)
		}
		in.Log("caches have synced, reconciling PostgresClusters")
	})
	o.loop.Start(waits...)
	f.Start()
	return nil
}

// sync looks at one PostgresCluster and takes what is there towards what it asks for.
func (o *operator) sync(run *reconcile.Run) error {
	obj, there := o.clusters.Get(run.Key)
	if !there {
		run.Gone()
		return nil // the garbage collector takes the children: they name their owner
	}
	pg := obj.(*unstructured.Unstructured)
	if pg.GetDeletionTimestamp() != nil {
		return nil
	}
	for _, c := range o.children {
		if err := o.keep(run, pg, c); err != nil {
			return err
		}
	}
	return o.tell(run, pg)
}

// wanted is a PostgresCluster's spec, as its schema has it.
type wanted struct {
	replicas int64
	version  string
}

func wantedOf(pg *unstructured.Unstructured) wanted {
	var w wanted
	// The schema of the definition has these as an integer and a string.
	w.replicas, _, _ = unstructured.NestedInt64(pg.Object, "spec", "replicas")
	w.version, _, _ = unstructured.NestedString(pg.Object, "spec", "version")
	return w
}

// tell writes into the status how many members are ready.
func (o *operator) tell(run *reconcile.Run, pg *unstructured.Unstructured) error {
	want, ready := wantedOf(pg), o.ready(run)
	phase := "Creating"
	if ready >= want.replicas {
		phase = "Running"
	}
	status := map[string]any{"phase": phase, "readyReplicas": ready, "observedGeneration": pg.GetGeneration()}
	was, _, _ := unstructured.NestedMap(pg.Object, "status")
	ref := client.RefOf(pg)
	if !equal(was, status) {
		run.Act("update-status", ref, say(status), say(was), "%d of %d members of %s are ready: say so in its status", ready, want.replicas, run.Name)
		pg = pg.DeepCopy()
		pg.Object["status"] = status
		if _, err := o.Client.Update(run.T, PostgresClusters, run.Namespace, pg, "status"); err != nil {
			return err
		}
		if was["phase"] != "Running" && phase == "Running" {
			o.Events.Event(run.T, pg, corev1.EventTypeNormal, "Ready", "%d members are ready at %s.%s.svc", ready, run.Name, run.Namespace)
		}
	}
	run.Converged(ref, pg.GetGeneration(), phase == "Running")
	return nil
}

func equal(was, now map[string]any) bool { return say(was) == say(now) }

func say(status map[string]any) string {
	var parts []string
	for _, k := range []string{"phase", "readyReplicas", "observedGeneration"} {
		if v, ok := status[k]; ok {
			parts = append(parts, fmt.Sprintf("%s %v", k, v))
		}
	}
	return strings.Join(parts, ", ")
}

// owns is the reference by which a child names the PostgresCluster that it belongs to:
// with it the garbage collector knows what to delete, and the operator whom to look at.
func owns(pg *unstructured.Unstructured) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(pg, PostgresClusters.GVK())}
}
