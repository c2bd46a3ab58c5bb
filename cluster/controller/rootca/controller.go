// Package rootca is the root CA certificate publisher: it puts the certificate
// that pods need to trust the API server into the ConfigMap kube-root-ca.crt of
// each namespace, from where it is mounted into every pod beside its token.
//
// Mirrors pkg/controller/certificates/rootcacertpublisher. Start reading at
// [Controller.sync].
package rootca

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Name is the controller's name; ConfigMap the object it keeps.
const (
	Name      = "root-ca-certificate-publisher-controller"
	ConfigMap = "kube-root-ca.crt"
)

const (
	describes   = "kubernetes.io/description"
	description = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. " +
		"No other usage is guaranteed across distributions of Kubernetes clusters."
)

// Controller is the publisher.
type Controller struct {
	*reconcile.Env
	certificate string
	namespaces  *informer.Informer
	configMaps  *informer.Informer
	loop        *reconcile.Loop
}

// New makes the controller for a certificate in PEM; Start starts it.
func New(env *reconcile.Env, certificate string) *Controller {
	c := &Controller{Env: env, certificate: certificate, namespaces: env.Informers.For(client.Namespaces), configMaps: env.Informers.For(client.ConfigMaps)}
	c.loop = reconcile.NewLoop(env, "root_ca_cert_publisher", client.Namespaces, c.sync)
	c.namespaces.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.loop.Add(t, informer.KeyOf(obj)) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) {
			if obj.(*corev1.Namespace).Status.Phase == corev1.NamespaceActive {
				c.loop.Add(t, informer.KeyOf(obj))
			}
		},
	})
	mine := func(t *sim.Task, obj runtime.Object) {
		if cm := obj.(*corev1.ConfigMap); cm.Name == ConfigMap {
			c.loop.Add(t, cm.Namespace)
		}
	}
	c.configMaps.AddHandler(informer.Handler{
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { mine(t, obj) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { mine(t, obj) },
	})
	return c
}

// Start starts the workers.
func (c *Controller) Start() { c.loop.Start(c.namespaces, c.configMaps) }

// sync keeps the ConfigMap of one namespace (syncNamespace).
func (c *Controller) sync(run *reconcile.Run) error {
	data := map[string]string{"ca.crt": c.certificate}
	obj, ok := c.configMaps.Get(informer.Key(run.Name, ConfigMap))
	if !ok {
		run.Act("create", client.ConfigMaps.Ref(run.Name, ConfigMap), ConfigMap, nil,
			"namespace %s has no ConfigMap %s: create it", run.Name, ConfigMap)
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: run.Name, Name: ConfigMap, Annotations: map[string]string{describes: description}}, Data: data}
		_, err := c.Client.Create(run.T, client.ConfigMaps, run.Name, cm)
		if apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return nil // the namespace is going or gone
		}
		return err
	}
	cm := obj.(*corev1.ConfigMap)
	if maps.Equal(cm.Data, data) && cm.Annotations[describes] != "" {
		return nil
	}
	cm = cm.DeepCopy()
	cm.Data = data
	if cm.Annotations == nil {
		cm.Annotations = map[string]string{}
	}
	cm.Annotations[describes] = description
	run.Act("update", client.RefOf(cm), nil, nil, "somebody changed ConfigMap %s in %s: put the certificate back", ConfigMap, run.Name)
	_, err := c.Client.Update(run.T, client.ConfigMaps, run.Name, cm, "")
	return err
}
