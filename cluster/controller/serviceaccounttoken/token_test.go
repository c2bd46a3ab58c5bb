package serviceaccounttoken

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

const authority = "the authority"

func start(b *clienttest.Bench) {
	c := b.Client()
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
	f := informer.NewFactory(p, p.Lane, c)
	New(reconcile.NewEnv(p, Name, Name, c, f, 1), func(sa *corev1.ServiceAccount, secret string) (string, error) {
		return sa.Name + "'s, in " + secret, nil
	}, authority).Start()
	f.Start()
}

func account(name string, secrets ...string) *corev1.ServiceAccount {
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}
	for _, s := range secrets {
		sa.Secrets = append(sa.Secrets, corev1.ObjectReference{Name: s})
	}
	return sa
}

func secret(name, of string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, Annotations: map[string]string{corev1.ServiceAccountNameKey: of}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}
}

// A Secret gets its token, goes with its service account, and without one it does not stay.
func TestATokenGoesWithItsAccount(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		start(b)
		clienttest.Note(t, "a service account and a Secret for it, one for nobody, and one of another type")
		clienttest.Must(client.Create(t, c, client.ServiceAccounts, "demo", account("robot", "listed")))
		other := secret("other", "robot")
		other.Type = corev1.SecretTypeOpaque
		for _, s := range []*corev1.Secret{secret("token", "robot"), secret("listed", "robot"), secret("stray", "nobody"), other} {
			clienttest.Must(client.Create(t, c, client.Secrets, "demo", s))
		}
		t.Sleep(time.Minute)
		clienttest.Note(t, "a Secret that the service account lists is deleted, then somebody takes the token away, then the service account goes")
		clienttest.Must(0, c.Delete(t, client.Secrets, "demo", "listed", metav1.DeleteOptions{}))
		t.Sleep(time.Minute)
		s := clienttest.Must(client.Get[*corev1.Secret](t, c, client.Secrets, "demo", "token"))
		delete(s.Data, corev1.ServiceAccountTokenKey)
		clienttest.Must(client.Update(t, c, client.Secrets, "demo", s))
		t.Sleep(time.Minute)
		clienttest.Must(0, c.Delete(t, client.ServiceAccounts, "demo", "robot", metav1.DeleteOptions{}))
		t.Sleep(time.Minute)
	})
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.CommandStart))
	if left := b.Objects(client.Secrets); len(left) != 1 || left[0].(*corev1.Secret).Name != "other" {
		t.Errorf("these Secrets are left: %v", left)
	}
}
