// Package storageversionmigrator is the storage version migrator: it has the objects of a
// resource written once more, so that each is stored as the API server would store it today.
//
// The worked idea. The definition of hats.example.com has served v1beta1, in which 3 hats are
// stored, and now stores v1. A hat stays v1beta1 in etcd until somebody writes it, so v1beta1
// cannot be dropped. Somebody creates a StorageVersionMigration for hats.example.com:
//
//  1. the migration runner sees that no other migration of hats runs: it gives the definition the
//     condition StorageMigrating, and the migration the condition Running
//  2. the resource version controller notes the revision at which the store is, in
//     status.resourceVersion: what is older must be written, what is newer is new already
//  3. the migrator waits until the cache has seen that revision, and sends for each hat a patch
//     that changes nothing. The API server encodes the hat, finds other bytes than are stored, and
//     writes them. A hat that somebody else has written meanwhile (409) or deleted (404) needs
//     no patch
//  4. the migration gets the condition Succeeded
//  5. the migration runner sees that: if nobody has changed the definition meanwhile, it takes
//     v1beta1 off status.storedVersions, and the condition Running becomes False
//
// For a built-in kind steps 1 and 5 leave out the definition. Its bytes are other ones after an
// upgrade, or when encryption at rest has a new key.
//
// Mirrors pkg/controller/storageversionmigrator, three controllers with a queue each. Simplified:
// one worker migrates, where upstream has five; what other API servers serve, behind an
// APIService, is not migrated. Nothing is watched before the first migration. Start reading at
// runner.go.
package storageversionmigrator

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	svmv1 "k8s.io/api/storagemigration/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "the storage version migrator migrates one resource after another, where upstream's has five workers, and not what other API servers serve behind an APIService",
})

// Name is the controller's name.
const Name = "storage-version-migrator-controller"

// The controllers beside it. Upstream's two queues both have the first name.
const (
	revisionName = "resource-version-controller"
	runnerName   = "migration-runner-controller"
)

// Upstream's reasons.
const (
	runningReason   = "MigrationRunning"
	succeededReason = "StorageVersionMigrationSucceeded"
	failedReason    = "StorageVersionMigrationFailed"
)

// Controller is the storage version migrator.
type Controller struct {
	*reconcile.Env
	migrations *informer.Informer // nil before there is one
	migrator   *reconcile.Loop
	revisions  *reconcile.Loop
	runner     *reconcile.Loop // of resources
	newest     map[string]string
	used       map[client.Resource]bool // custom kinds that have, or had, objects
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	return &Controller{Env: env, newest: map[string]string{}, used: map[client.Resource]bool{}}
}

// Start waits for the first migration and then begins to work.
func (c *Controller) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.StorageVersionMigrations)
		c.watch()
	})
}

func (c *Controller) watch() {
	if u, ok := client.As[client.Usage](c.Client); ok {
		c.Process.Go("discovery-custom", func(t *sim.Task) { c.discover(t, u) })
	}
	c.migrations = c.Informers.For(client.StorageVersionMigrations)
	c.migrator = reconcile.NewLoop(c.Env, Name, client.StorageVersionMigrations, c.migrate)
	c.revisions = reconcile.NewLoop(c.Env, revisionName, client.StorageVersionMigrations, c.revision)
	c.runner = reconcile.NewLoop(c.Env, runnerName, client.StorageVersionMigrations, c.run)
	c.runner.RefOf = func(key string) trace.Ref { return client.StorageVersionMigrations.Ref("", c.newest[key]) }
	c.migrations.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.see(t, obj.(*svmv1.StorageVersionMigration)) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { c.see(t, obj.(*svmv1.StorageVersionMigration)) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.enqueue(t, obj.(*svmv1.StorageVersionMigration)) },
	})
	c.migrator.Start(c.migrations)
	c.revisions.Start(c.migrations)
	c.runner.Start(c.migrations)
}

func (c *Controller) see(t *sim.Task, m *svmv1.StorageVersionMigration) {
	c.migrator.Add(t, m.Name)
	c.revisions.Add(t, m.Name)
	c.enqueue(t, m)
}

// enqueue has all migrations of a resource looked at.
func (c *Controller) enqueue(t *sim.Task, m *svmv1.StorageVersionMigration) {
	key := resourceOf(m).String()
	c.newest[key] = m.Name
	c.runner.Add(t, key)
}

func resourceOf(m *svmv1.StorageVersionMigration) schema.GroupResource {
	return schema.GroupResource{Group: m.Spec.Resource.Group, Resource: m.Spec.Resource.Resource}
}

// discover notes which custom kinds have objects: the garbage collector follows these, and the
// others have nothing to migrate.
func (c *Controller) discover(t *sim.Task, u client.Usage) {
	for state := uint64(0); ; {
		var kinds []client.CustomKind
		kinds, state = u.AwaitCustomKinds(t, state)
		clear(c.used)
		for _, k := range kinds {
			c.used[k.Versions[0]] = k.Used
		}
	}
}

// mayHaveObjects reports whether there are, or were, objects of a kind.
func (c *Controller) mayHaveObjects(r client.Resource) bool {
	if _, ok := client.As[client.Usage](c.Client); !ok || c.used[r] {
		return true
	}
	for _, used := range client.InUse(c.Client) {
		if used == r {
			return true
		}
	}
	return false
}

// served is what discovery says of the resource of a migration (resourceFor).
func (c *Controller) served(m *svmv1.StorageVersionMigration) (client.ServedResource, bool) {
	d, ok := client.As[client.Discovery](c.Client)
	if !ok {
		return client.ServedResource{}, false
	}
	return d.Served(resourceOf(m))
}

// get is a copy of a migration, from the cache; nil if it is gone.
func (c *Controller) get(run *reconcile.Run) *svmv1.StorageVersionMigration {
	obj, ok := c.migrations.Get(run.Key)
	if !ok {
		run.Gone()
		return nil
	}
	return obj.(*svmv1.StorageVersionMigration).DeepCopy()
}
