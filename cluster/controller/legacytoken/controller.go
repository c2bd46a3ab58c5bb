// Package legacytoken is the legacy service account token cleaner: it deletes tokens that
// Kubernetes once made by itself and that nobody uses any more.
//
// The worked idea. Until version 1.24 each service account got a Secret with a token that never
// expires, and listed it in its field secrets. Such a token outlives everybody who knows what it
// was for. The API server writes into the Secret on which day its token was last used
// (kubernetes.io/legacy-token-last-used), and into a ConfigMap since which day it has done so.
//
//  1. the token was not used for a year, though the API server would have noticed: the Secret
//     gets the label kubernetes.io/legacy-token-invalid-since. The API server refuses the token
//     from now on, and notes the day of the attempt
//  2. somebody complains: remove the label, and the token is good again
//  3. nobody has complained for another year: the Secret is deleted
//
// A Secret that a person made for a service account is never touched: the service account does
// not list it. Neither is one that a pod mounts.
//
// Mirrors pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner.go. Upstream looks at
// all Secrets every 24 hours; here a Secret waits in a queue for the look at which its time will
// be over, so that nothing happens in a cluster without such tokens. Start reading at
// [Controller.sync].
package legacytoken

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "the cleaner of legacy service account tokens has each Secret wait for the daily look at which its time is over, where upstream's looks at all of them every day",
})

// The controller's name, and its ServiceAccount.
const (
	Name    = "legacy-serviceaccount-token-cleaner-controller"
	Account = "legacy-service-account-token-cleaner"
)

// Upstream's numbers.
const (
	// CleanUpPeriod is how long nobody may have used a token
	// (--legacy-service-account-token-clean-up-period).
	CleanUpPeriod = 365 * 24 * time.Hour
	// syncInterval is how far looks are apart (DefaultCleanerSyncInterval).
	syncInterval = 24 * time.Hour
)

// What the API server writes (pkg/serviceaccount legacy.go, pkg/controlplane/controller/
// legacytokentracking).
const (
	lastUsedLabel     = "kubernetes.io/legacy-token-last-used"
	invalidSinceLabel = "kubernetes.io/legacy-token-invalid-since"
	trackingName      = "kube-apiserver-legacy-service-account-token-tracking"
	trackingSince     = "since"
	dateFormat        = "2006-01-02"
)

// Controller is the cleaner.
type Controller struct {
	*reconcile.Env
	secrets, accounts, pods *informer.Informer
	loop                    *reconcile.Loop

	began   time.Time            // the first look; the others are days later
	changed map[string]time.Time // when a Secret, or whose it is, last became another
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	c := &Controller{Env: env, changed: map[string]time.Time{}}
	c.secrets, c.accounts, c.pods = env.Informers.For(client.Secrets), env.Informers.For(client.ServiceAccounts), env.Informers.For(client.Pods)
	c.loop = reconcile.NewLoop(env, "legacy_service_account_token_cleaner", client.Secrets, c.sync)
	c.secrets.AddHandler(informer.Handler{
		Resync: informer.NoResync,
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.see(t, obj.(*corev1.Secret)) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { c.see(t, obj.(*corev1.Secret)) },
		Delete: func(_ *sim.Task, obj runtime.Object, _ trace.ID) { delete(c.changed, informer.KeyOf(obj)) },
	})
	env.Informers.For(client.ConfigMaps).AddHandler(informer.Handler{
		Resync: informer.NoResync,
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { c.seeTracking(t, obj) },
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.seeTracking(t, obj) },
	})
	c.accounts.AddHandler(informer.Handler{
		Resync: informer.NoResync,
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.seeAccount(t, obj.(*corev1.ServiceAccount), nil) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			c.seeAccount(t, obj.(*corev1.ServiceAccount), old.(*corev1.ServiceAccount).Secrets)
		},
	})
	return c
}

// Start starts the worker.
func (c *Controller) Start() {
	c.Process.Go("first-look", func(t *sim.Task) {
		for _, i := range []*informer.Informer{c.secrets, c.accounts, c.pods} {
			i.WaitForSync(t)
		}
		c.began = t.Now()
		c.loop.Start()
	})
}

// see has a Secret looked at that has the token of a service account.
func (c *Controller) see(t *sim.Task, s *corev1.Secret) {
	if s.Type == corev1.SecretTypeServiceAccountToken {
		c.changed[informer.KeyOf(s)] = t.Now()
		c.loop.Add(t, informer.KeyOf(s))
	}
}

// seeAccount has the Secrets looked at that a service account lists since now.
func (c *Controller) seeAccount(t *sim.Task, sa *corev1.ServiceAccount, before []corev1.ObjectReference) {
	for _, ref := range sa.Secrets {
		key := sa.Namespace + "/" + ref.Name
		if _, token := c.changed[key]; token && !lists(before, ref.Name) {
			c.changed[key] = t.Now()
			c.loop.Add(t, key)
		}
	}
}

// seeTracking has all Secrets looked at when it changes since when the use of tokens is written
// down.
func (c *Controller) seeTracking(t *sim.Task, obj runtime.Object) {
	if informer.KeyOf(obj) != metav1.NamespaceSystem+"/"+trackingName {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(c.changed)) {
		c.changed[key] = t.Now()
		c.loop.Add(t, key)
	}
}

func lists(refs []corev1.ObjectReference, secret string) bool {
	return slices.ContainsFunc(refs, func(ref corev1.ObjectReference) bool { return ref.Name == secret })
}

// account is the service account that a Secret is of; nil where there is none of the name, or it
// is another one (getServiceAccount).
func (c *Controller) account(s *corev1.Secret) *corev1.ServiceAccount {
	obj, ok := c.accounts.Get(s.Namespace + "/" + s.Annotations[corev1.ServiceAccountNameKey])
	if !ok || s.Annotations[corev1.ServiceAccountNameKey] == "" {
		return nil
	}
	sa := obj.(*corev1.ServiceAccount)
	if uid := types.UID(s.Annotations[corev1.ServiceAccountUIDKey]); uid != "" && uid != sa.UID {
		return nil
	}
	return sa
}
