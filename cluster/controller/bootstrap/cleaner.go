// Package bootstrap has the controllers of bootstrap tokens, with which machines join a
// cluster: the token cleaner deletes tokens that have expired, and the bootstrap signer signs
// for their bearers what the cluster says of itself.
//
// The worked idea. A token is the Secret kube-system/bootstrap-token-ID. A machine that is to
// join has the token, and the address of an API server that it cannot trust yet. It reads,
// as anybody may, the ConfigMap kube-public/cluster-info: there is a kubeconfig with the
// authority's certificate, and at jws-kubeconfig-ID a signature over it that only one who has
// the token's secret can have made. So it knows the authority, and then it is the API
// server's turn to know the machine by the token. At the time in the Secret's expiration the
// Secret goes, and with it the signature.
//
// Mirrors pkg/controller/bootstrap; kubeadm turns both on, kube-controller-manager by itself does
// not. Simplified: a kubeadm would have made cluster-info, here it is there when somebody makes it.
// Start reading at [Cleaner] and [Signer].
package bootstrap

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "the bootstrap signer signs the ConfigMap cluster-info, but nothing makes it, as kubeadm init would",
})

// The controllers' names and ServiceAccounts.
const (
	CleanerName    = "token-cleaner-controller"
	CleanerAccount = "token-cleaner"
	SignerName     = "bootstrap-signer-controller"
	SignerAccount  = "bootstrap-signer"
)

// Keys of a token's Secret (k8s.io/cluster-bootstrap token/api).
const (
	namePrefix    = "bootstrap-token-"
	keyID         = "token-id"
	keySecret     = "token-secret"
	keyExpiration = "expiration"
	keySigning    = "usage-bootstrap-signing"
)

// Cleaner deletes tokens that have expired.
type Cleaner struct {
	*reconcile.Env
	secrets *informer.Informer
	loop    *reconcile.Loop
}

// NewCleaner makes the controller; Start starts it.
func NewCleaner(env *reconcile.Env) *Cleaner {
	c := &Cleaner{Env: env, secrets: env.Informers.For(client.Secrets)}
	c.loop = reconcile.NewLoop(env, "token_cleaner", client.Secrets, c.sync)
	look := func(t *sim.Task, obj runtime.Object) {
		if isToken(obj) {
			c.loop.Add(t, informer.KeyOf(obj))
		}
	}
	c.secrets.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { look(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { look(t, obj) },
	})
	return c
}

// Start starts the workers.
func (c *Cleaner) Start() { c.loop.Start(c.secrets) }

func isToken(obj runtime.Object) bool {
	s := obj.(*corev1.Secret)
	return s.Type == corev1.SecretTypeBootstrapToken && s.Namespace == metav1.NamespaceSystem
}

// expiry is how long a token still holds; ends is false for one that does for ever. One whose time
// cannot be read has expired (util/secrets GetExpiration).
func expiry(s *corev1.Secret, now time.Time) (left time.Duration, ends bool) {
	text := string(s.Data[keyExpiration])
	if text == "" {
		return 0, false
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, true
	}
	return max(at.Sub(now), 0), true
}

// sync deletes one token if it is time (evalSecret).
func (c *Cleaner) sync(run *reconcile.Run) error {
	obj, ok := c.secrets.Get(run.Key)
	if !ok {
		return nil
	}
	s := obj.(*corev1.Secret)
	left, ends := expiry(s, run.T.Now())
	switch {
	case !ends:
		return nil
	case left > 0:
		run.Waits("the token %s holds until %s, for %s more: it is deleted then", s.Data[keyID], s.Data[keyExpiration], left)
		run.Again(left)
		return nil
	}
	run.Act("delete", client.RefOf(s), nil, nil, "the token %s held until %s, which is over: delete it", s.Data[keyID], s.Data[keyExpiration])
	err := c.Client.Delete(run.T, client.Secrets, s.Namespace, s.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(s.UID))})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting an expired token: %w", err) // upstream notes it and goes on; the token would stay
	}
	return nil
}
