package legacytoken

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

const day = 24 * time.Hour

func start(b *clienttest.Bench) {
	c := b.Client()
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
	f := informer.NewFactory(p, p.Lane, c)
	New(reconcile.NewEnv(p, Name, Name, c, f, 1)).Start()
	f.Start()
}

func tracking(since string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: trackingName}, Data: map[string]string{trackingSince: since}}
}

func token(name string, labels map[string]string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, Labels: labels, Annotations: map[string]string{corev1.ServiceAccountNameKey: "robot"}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}
}

func robot(secrets ...string) *corev1.ServiceAccount {
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "robot"}}
	for _, s := range secrets {
		sa.Secrets = append(sa.Secrets, corev1.ObjectReference{Name: s})
	}
	return sa
}

func pod(name, secret string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}},
	}}
}

// Three years of five tokens: one that nobody uses, one that is used now and then, one that a pod
// mounts, one that somebody misses when it is invalid, and one that was made by hand.
func TestThreeYears(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		clienttest.Must(client.Create(t, c, client.ConfigMaps, "kube-system", tracking("2026-01-01")))
		clienttest.Must(client.Create(t, c, client.ServiceAccounts, "demo", robot("idle", "used", "mounted", "missed")))
		start(b)
		for _, name := range []string{"idle", "used", "mounted", "missed", "hand"} {
			clienttest.Must(client.Create(t, c, client.Secrets, "demo", token(name, nil)))
		}
		clienttest.Must(client.Create(t, c, client.Pods, "demo", pod("old", "mounted")))
		t.Sleep(100 * day)
		clienttest.Note(t, "one of them is used")
		label := func(name, key string, value any) {
			patch := []byte(`{"metadata":{"labels":{"` + key + `":null}}}`)
			if value != nil {
				patch = []byte(`{"metadata":{"labels":{"` + key + `":"` + value.(string) + `"}}}`)
			}
			clienttest.Must(c.Patch(t, client.Secrets, "demo", name, types.MergePatchType, patch, ""))
		}
		label("used", lastUsedLabel, t.Now().Format(dateFormat))
		t.Sleep(300 * day)
		clienttest.Note(t, "somebody misses one, tries it, and takes the label away; the pod goes")
		label("missed", lastUsedLabel, t.Now().Format(dateFormat))
		label("missed", invalidSinceLabel, nil)
		clienttest.Must(0, c.Delete(t, client.Pods, "demo", "old", metav1.DeleteOptions{}))
		t.Sleep(700 * day)
	})
	clienttest.Golden(t, "three-years.txt", b.Transcript(trace.ReconcileAction, trace.CommandStart)+waits(b.Events))
}

// waits are the first sentences that say why a token stays.
func waits(events []*trace.Event) (out string) {
	said := map[string]bool{}
	for _, e := range events {
		if p, ok := e.Payload.(*trace.Reconcile); ok && p.Waits != "" && !said[p.Waits] && len(said) < 12 {
			said[p.Waits] = true
			out += p.Key + ": " + p.Waits + "\n"
		}
	}
	return out
}

// A cluster that has no token of a Secret has no run of the controller in a year, and one with a
// token that was made by hand one, when it is made.
func TestNothingHappensWithoutTokens(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		clienttest.Must(client.Create(t, c, client.ConfigMaps, "kube-system", tracking("2020-01-01")))
		clienttest.Must(client.Create(t, c, client.ServiceAccounts, "demo", robot()))
		clienttest.Must(client.Create(t, c, client.Secrets, "demo", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "db"}}))
		start(b)
		t.Sleep(500 * day)
		clienttest.Must(client.Create(t, c, client.Secrets, "demo", token("hand", nil)))
		t.Sleep(500 * day)
	})
	runs := 0
	for _, e := range b.Events {
		if e.Kind == trace.ReconcileStart {
			runs++
		}
	}
	if runs != 1 {
		t.Errorf("%d runs; want 1", runs)
	}
	if len(b.Objects(client.Secrets)) != 2 {
		t.Error("a Secret is gone")
	}
}
