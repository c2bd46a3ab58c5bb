// Package serviceaccounttoken is the service account token controller: it writes a token into
// each Secret of type kubernetes.io/service-account-token.
//
// The worked idea. Somebody wants a token that never expires, and makes a Secret of that
// type with the annotation kubernetes.io/service-account.name: robot.
//
//  1. the controller signs a token for robot that names the Secret, and writes it into the
//     Secret, with the authority's certificate and the namespace
//  2. the API server accepts the token as long as the Secret is there and has it
//  3. robot is deleted, and the Secret with it. A new robot is another one, with another UID,
//     and has no part in the old one's tokens.
//
// Such tokens are what every service account had, by itself, until Kubernetes 1.24; today
// pods have tokens that expire, and a person asks for one with kubectl create token.
//
// Mirrors pkg/controller/serviceaccount/tokens_controller.go. Simplified: a service account is
// looked at when it is deleted, upstream at each of its changes. Start reading at
// [Controller.syncSecret].
package serviceaccounttoken

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	What: "the service account token controller looks at a service account when it is deleted, where upstream's does at each of its changes",
})

// Name is the controller's name. It speaks as kube-controller-manager.
const Name = "serviceaccount-token-controller"

// maxRetries is how often a key is tried before it is dropped.
const maxRetries = 10

// Sign makes the token of a Secret for a service account.
type Sign func(account *corev1.ServiceAccount, secret string) (string, error)

// Controller is the service account token controller.
type Controller struct {
	*reconcile.Env
	sign               Sign
	ca                 []byte
	accounts, secrets  *informer.Informer
	ofAccount, ofToken *reconcile.Loop
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env, sign Sign, ca string) *Controller {
	c := &Controller{Env: env, sign: sign, ca: []byte(ca), accounts: env.Informers.For(client.ServiceAccounts), secrets: env.Informers.For(client.Secrets)}
	c.ofAccount = reconcile.NewLoop(env, "serviceaccount_tokens_service", client.ServiceAccounts, c.syncAccount)
	c.ofToken = reconcile.NewLoop(env, "serviceaccount_tokens_secret", client.Secrets, c.syncSecret)
	c.ofAccount.MaxRetries, c.ofToken.MaxRetries = maxRetries, maxRetries
	c.ofAccount.RefOf = func(key string) trace.Ref { k := parse(key); return client.ServiceAccounts.Ref(k.namespace, k.name) }
	c.ofToken.RefOf = func(key string) trace.Ref { k := parse(key); return client.Secrets.Ref(k.namespace, k.name) }
	c.accounts.AddHandler(informer.Handler{
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			if was := old.(*corev1.ServiceAccount); was.UID != obj.(*corev1.ServiceAccount).UID { // the deletion between them was not seen
				c.ofAccount.Add(t, keyOf(was, "", ""))
			}
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) {
			c.ofAccount.Add(t, keyOf(obj.(*corev1.ServiceAccount), "", ""))
		},
	})
	look := func(t *sim.Task, obj runtime.Object) {
		s := obj.(*corev1.Secret)
		if name := s.Annotations[corev1.ServiceAccountNameKey]; s.Type == corev1.SecretTypeServiceAccountToken && name != "" {
			c.ofToken.Add(t, keyOf(s, name, s.Annotations[corev1.ServiceAccountUIDKey]))
		}
	}
	c.secrets.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj runtime.Object, _ trace.ID) { look(t, obj) },
		Update: func(t *sim.Task, _, obj runtime.Object, _ trace.ID) { look(t, obj) },
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { look(t, obj) },
	})
	return c
}

// Start starts the workers.
func (c *Controller) Start() {
	c.ofAccount.Start(c.accounts, c.secrets)
	c.ofToken.Start(c.accounts, c.secrets)
}

// key is an object, and of a Secret its service account: what is needed when it has gone
// (serviceAccountQueueKey, secretQueueKey).
type key struct {
	namespace, name string
	uid             types.UID
	account         string
	accountUID      types.UID // "" where the Secret does not say it
}

func keyOf(obj metav1.Object, account, accountUID string) string {
	return strings.Join([]string{obj.GetNamespace(), obj.GetName(), string(obj.GetUID()), account, accountUID}, "/")
}

func parse(text string) key {
	p := strings.SplitN(text, "/", 5)
	return key{p[0], p[1], types.UID(p[2]), p[3], types.UID(p[4])}
}

// syncAccount deletes the tokens of a service account that has gone (syncServiceAccount).
func (c *Controller) syncAccount(run *reconcile.Run) error {
	k := parse(run.Key)
	if is, ok := c.accounts.Get(informer.Key(k.namespace, k.name)); ok && is.(*corev1.ServiceAccount).UID == k.uid {
		return nil
	}
	all := c.secrets.ListNamespace(k.namespace)
	run.Look(len(all))
	for _, obj := range all {
		s := obj.(*corev1.Secret)
		if s.Type != corev1.SecretTypeServiceAccountToken || s.Annotations[corev1.ServiceAccountNameKey] != k.name || s.Annotations[corev1.ServiceAccountUIDKey] != string(k.uid) {
			continue
		}
		if err := c.remove(run, s, "the service account %s is gone: delete its token %s", k.name, s.Name); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a Secret (deleteToken).
func (c *Controller) remove(run *reconcile.Run, s *corev1.Secret, why string, args ...any) error {
	run.Act("delete", client.RefOf(s), nil, nil, why, args...)
	err := c.Client.Delete(run.T, client.Secrets, s.Namespace, s.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(s.UID))})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// account is a service account; nil where there is none of the name, or it is another one
// (getServiceAccount).
func (c *Controller) account(run *reconcile.Run, k key, live bool) (*corev1.ServiceAccount, error) {
	same := func(sa *corev1.ServiceAccount) bool { return k.accountUID == "" || k.accountUID == sa.UID }
	if obj, ok := c.accounts.Get(informer.Key(k.namespace, k.account)); ok && same(obj.(*corev1.ServiceAccount)) {
		return obj.(*corev1.ServiceAccount), nil
	}
	if !live {
		return nil, nil
	}
	sa, err := client.Get[*corev1.ServiceAccount](run.T, c.Client, client.ServiceAccounts, k.namespace, k.account)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil || !same(sa) {
		return nil, err
	}
	return sa, nil
}

// syncSecret writes the token of a Secret, deletes a Secret whose service account is not there,
// and takes one that has gone off its service account's list (syncSecret).
func (c *Controller) syncSecret(run *reconcile.Run) error {
	k := parse(run.Key)
	obj, ok := c.secrets.Get(informer.Key(k.namespace, k.name))
	if !ok || obj.(*corev1.Secret).UID != k.uid {
		sa, err := c.account(run, k, false)
		if err != nil || sa == nil {
			return err
		}
		return reconcile.OnConflict(run.T, slices.Repeat([]time.Duration{100 * time.Millisecond}, 9), func() error { return c.unlist(run, k) })
	}
	s := obj.(*corev1.Secret)
	sa, err := c.account(run, k, true)
	switch {
	case err != nil:
		return err
	case sa == nil && k.accountUID == "":
		return c.remove(run, s, "there is no service account %s: delete its token %s", k.account, s.Name)
	case sa == nil:
		return c.remove(run, s, "there is no service account %s with the UID %s: delete its token %s", k.account, k.accountUID, s.Name)
	}
	return c.fill(run, sa, s)
}

// missing are the keys that a Secret lacks or has wrong (secretUpdateNeeded).
func (c *Controller) missing(s *corev1.Secret) (keys []string) {
	if len(c.ca) > 0 && !bytes.Equal(s.Data[corev1.ServiceAccountRootCAKey], c.ca) {
		keys = append(keys, corev1.ServiceAccountRootCAKey)
	}
	for _, key := range []string{corev1.ServiceAccountNamespaceKey, corev1.ServiceAccountTokenKey} {
		if len(s.Data[key]) == 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// fill writes what a Secret lacks, if the cache has it as it is (generateTokenIfNeeded).
func (c *Controller) fill(run *reconcile.Run, sa *corev1.ServiceAccount, cached *corev1.Secret) error {
	if len(c.missing(cached)) == 0 {
		return nil
	}
	s, err := client.Get[*corev1.Secret](run.T, c.Client, client.Secrets, cached.Namespace, cached.Name)
	if apierrors.IsNotFound(err) || err == nil && s.ResourceVersion != cached.ResourceVersion {
		return nil // it comes back here when the cache has it
	}
	if err != nil {
		return err
	}
	lacks := c.missing(s)
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	for _, key := range lacks {
		switch key {
		case corev1.ServiceAccountRootCAKey:
			s.Data[key] = c.ca
		case corev1.ServiceAccountNamespaceKey:
			s.Data[key] = []byte(s.Namespace)
		default:
			token, err := c.sign(sa, s.Name)
			if err != nil {
				return fmt.Errorf("signing the token of Secret %s/%s: %w", s.Namespace, s.Name, err)
			}
			s.Data[key] = []byte(token)
		}
	}
	s.Annotations[corev1.ServiceAccountNameKey], s.Annotations[corev1.ServiceAccountUIDKey] = sa.Name, string(sa.UID)
	run.Act("update", client.RefOf(s), nil, nil, "Secret %s is for a token of the service account %s and lacks %s: write %d of its 3 keys", s.Name, sa.Name, strings.Join(lacks, ", "), len(lacks))
	_, err = client.Update(run.T, c.Client, client.Secrets, s.Namespace, s)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// unlist takes a Secret that has gone off its service account's list (removeSecretReference).
func (c *Controller) unlist(run *reconcile.Run, k key) error {
	sa, err := client.Get[*corev1.ServiceAccount](run.T, c.Client, client.ServiceAccounts, k.namespace, k.account)
	if apierrors.IsNotFound(err) {
		return nil
	}
	is := func(ref corev1.ObjectReference) bool { return ref.Name == k.name }
	if err != nil || k.accountUID != "" && k.accountUID != sa.UID || !slices.ContainsFunc(sa.Secrets, is) {
		return err
	}
	run.Act("update", client.RefOf(sa), nil, nil, "Secret %s is gone: take it off the list of the service account %s", k.name, sa.Name)
	sa.Secrets = slices.DeleteFunc(sa.Secrets, is)
	if _, err = client.Update(run.T, c.Client, client.ServiceAccounts, sa.Namespace, sa); apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
