// Package clustertrustbundlepublisher keeps one ClusterTrustBundle with the certificate
// that clients need to trust the API server, for pods that mount it by the name of its
// signer.
//
// The worked idea. A ClusterTrustBundle says whom to trust in the name of a signer. That of
// kubernetes.io/kube-apiserver-serving, who signs the certificates that API servers serve
// with, is the cluster's own authority. A pod that wants to talk to the API server may mount
// its bundles (a projected volume, clusterTrustBundle.signerName), as it may mount the
// ConfigMap kube-root-ca.crt. The object's name has a hash of the certificate in it: a new
// authority gets a new object, and only once that is there the older ones go, so that
// nobody who mounts all of the signer's bundles is ever without.
//
// Mirrors pkg/controller/certificates/clustertrustbundlepublisher. Simplified: the cache
// has the bundles of all signers, as the other controllers have it, where upstream watches
// those of this signer; a key of the queue is the signer's name, where upstream's only key
// is empty; older bundles go in the order of their names. Start reading at
// [Controller.sync].
package clustertrustbundlepublisher

import (
	"crypto/sha256"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
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
	What: "the publisher of ClusterTrustBundles has those of all signers in its cache, and deletes older ones of its signer in the order of their names",
})

// Name is the controller's name, Account that of its ServiceAccount, and Signer the signer
// whose bundle it keeps.
const (
	Name    = "kube-apiserver-serving-clustertrustbundle-publisher-controller"
	Account = "kube-apiserver-serving-clustertrustbundle-publisher"
	Signer  = "kubernetes.io/kube-apiserver-serving"
)

// Controller is the publisher.
type Controller struct {
	*reconcile.Env
	certificate string
	name        string // of the bundle that has it
	bundles     *informer.Informer
	loop        *reconcile.Loop
}

// New makes the controller for certificates in PEM; Start starts it.
func New(env *reconcile.Env, certificate string) *Controller {
	c := &Controller{Env: env, certificate: certificate, name: bundleName(Signer, certificate), bundles: env.Informers.For(client.ClusterTrustBundles)}
	c.loop = reconcile.NewLoop(env, "ca_cert_publisher_cluster_trust_bundles", client.ClusterTrustBundles, c.sync)
	c.loop.RefOf = func(string) trace.Ref { return client.ClusterTrustBundles.Ref("", c.name) }
	look := func(t *sim.Task, obj runtime.Object) {
		if obj.(*certificatesv1.ClusterTrustBundle).Spec.SignerName == Signer { // it never changes
			c.loop.Add(t, Signer)
		}
	}
	c.bundles.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { look(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { look(t, obj) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { look(t, obj) },
	})
	return c
}

// Start starts the worker, which looks once because it has started (Run).
func (c *Controller) Start() {
	c.Process.Go("first", func(t *sim.Task) {
		c.bundles.WaitForSync(t)
		c.loop.Add(t, Signer, c.Process.Began())
	})
	c.loop.Start(c.bundles)
}

// bundleName is constructBundleName.
func bundleName(signer, certificate string) string {
	hash := sha256.Sum256([]byte(certificate))
	return fmt.Sprintf("%s:%x", strings.ReplaceAll(signer, "/", ":"), hash[:12])
}

// sync writes the bundle that is missing or was changed, and then deletes the signer's
// others (syncClusterTrustBundle).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.bundles.Get(c.name)
	ref := client.ClusterTrustBundles.Ref("", c.name)
	switch {
	case !ok:
		run.Act("create", ref, c.name, nil, "signer %s has no ClusterTrustBundle with the API server's certificate authority: create %s", Signer, c.name)
		bundle := &certificatesv1.ClusterTrustBundle{
			ObjectMeta: metav1.ObjectMeta{Name: c.name},
			Spec:       certificatesv1.ClusterTrustBundleSpec{SignerName: Signer, TrustBundle: c.certificate},
		}
		if _, err := c.Client.Create(run.T, client.ClusterTrustBundles, "", bundle); err != nil {
			return err
		}
	case obj.(*certificatesv1.ClusterTrustBundle).Spec.TrustBundle != c.certificate:
		bundle := obj.(*certificatesv1.ClusterTrustBundle).DeepCopy()
		bundle.Spec.TrustBundle = c.certificate
		run.Act("update", client.RefOf(bundle), nil, nil, "somebody changed the certificates in %s, and its name is their hash: put the API server's certificate authority back", c.name)
		if _, err := c.Client.Update(run.T, client.ClusterTrustBundles, "", bundle, ""); err != nil {
			return err
		}
	}
	return c.deleteOthers(run)
}

// deleteOthers deletes the signer's bundles with other certificates than those of now. It
// tries all of them; the last error counts.
func (c *Controller) deleteOthers(run *reconcile.Run) error {
	all := c.bundles.List()
	run.Look(len(all))
	var others []*certificatesv1.ClusterTrustBundle
	for _, obj := range all {
		if is := obj.(*certificatesv1.ClusterTrustBundle); is.Spec.SignerName == Signer && is.Name != c.name {
			others = append(others, is)
		}
	}
	var failed error
	for _, is := range others {
		run.Act("delete", client.RefOf(is), 1, 1+len(others), "%s is of signer %s, too, which has 1 bundle now, %s: delete it", is.Name, Signer, c.name)
		err := c.Client.Delete(run.T, client.ClusterTrustBundles, "", is.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			failed = err
		}
	}
	return failed
}
