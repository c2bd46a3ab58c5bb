package bootstrap

import (
	"strings"
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

func token(id string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: namePrefix + id}, Type: corev1.SecretTypeBootstrapToken,
		Data: map[string][]byte{keyID: []byte(id), keySecret: []byte("f395accd246ae52d"), keySigning: []byte("true")},
	}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s
}

// cluster-info is signed by the tokens that may sign, and no longer by one that has expired,
// which is deleted.
func TestTokensSignUntilTheyExpire(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
		f := informer.NewFactory(p, p.Lane, c)
		NewCleaner(reconcile.NewEnv(p, CleanerName, CleanerName, c, f, 1)).Start()
		NewSigner(reconcile.NewEnv(p, SignerName, SignerName, c, f, 1)).Start()
		f.Start()
		clienttest.Note(t, "a token for an hour, one for ever, one that may not sign, one of another name; then cluster-info")
		hour := t.Now().Add(time.Hour).Format(time.RFC3339)
		other := token("other1", nil)
		other.Name = "bootstrap-token-else"
		for _, s := range []*corev1.Secret{token("hour01", map[string]string{keyExpiration: hour}), token("ever01", nil), token("mute01", map[string]string{keySigning: "false"}), other} {
			clienttest.Must(client.Create(t, c, client.Secrets, s.Namespace, s))
		}
		t.Sleep(time.Minute)
		clienttest.Must(client.Create(t, c, client.ConfigMaps, metav1.NamespacePublic, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: clusterInfo}, Data: map[string]string{keyConfig: "the cluster", signaturePrefix + "gone01": "stale"},
		}))
		t.Sleep(2 * time.Hour)
		clienttest.Note(t, "a token whose time nobody can read")
		clienttest.Must(client.Create(t, c, client.Secrets, metav1.NamespaceSystem, token("bad001", map[string]string{keyExpiration: "tomorrow"})))
		t.Sleep(time.Minute)
	})
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.CommandStart))
	data := b.Object(client.ConfigMaps, metav1.NamespacePublic, clusterInfo).(*corev1.ConfigMap).Data
	if len(data) != 2 || data[signaturePrefix+"ever01"] != signature("the cluster", "ever01", "f395accd246ae52d") {
		t.Errorf("cluster-info has %v", data)
	}
	if n := len(b.Objects(client.Secrets)); n != 3 {
		t.Errorf("%d tokens are left, not 3", n)
	}
}

// The signature is that of upstream's test (k8s.io/cluster-bootstrap token/jws jws_test.go).
func TestSignatureIsUpstreams(t *testing.T) {
	got := signature("Hello from the other side. I must have called a thousand times.", "joshua", "my voice is my passcode")
	if want := "eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A signature is made once for a token and what there is to sign, and of a long cluster-info beside the rest
// of the cluster: others go on meanwhile.
func TestSignaturesAreMadeOnce(t *testing.T) {
	long := strings.Repeat("x", longContent)
	var known int
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
		f := informer.NewFactory(p, p.Lane, c)
		s := NewSigner(reconcile.NewEnv(p, SignerName, SignerName, c, f, 1))
		s.Start()
		f.Start()
		clienttest.Must(client.Create(t, c, client.ConfigMaps, metav1.NamespacePublic, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: clusterInfo}, Data: map[string]string{keyConfig: long},
		}))
		for _, id := range []string{"first1", "second", "third1"} {
			clienttest.Must(client.Create(t, c, client.Secrets, metav1.NamespaceSystem, token(id, nil)))
		}
		t.Sleep(time.Minute)
		mark := s.made["first1"]
		mark.signature = "kept"
		s.made["first1"] = mark
		clienttest.Must(client.Create(t, c, client.Secrets, metav1.NamespaceSystem, token("fourth", nil)))
		t.Sleep(time.Minute)
		known = len(s.made)
	})
	data := b.Object(client.ConfigMaps, metav1.NamespacePublic, clusterInfo).(*corev1.ConfigMap).Data
	if data[signaturePrefix+"first1"] != "kept" || data[signaturePrefix+"fourth"] != signature(long, "fourth", "f395accd246ae52d") || known != 4 {
		delete(data, keyConfig)
		t.Errorf("cluster-info has %v, and %d signatures are known", data, known)
	}
}
