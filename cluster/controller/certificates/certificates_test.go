package certificates

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	mathrand "math/rand/v2"
	"slices"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/controller/certificates/authority"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// What is signed is what upstream's signer would sign: the names, the usages, the
// times, whatever is asked for.
func TestTemplateIsUpstreams(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	key := clienttest.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	root := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now, NotAfter: now.AddDate(10, 0, 0), IsCA: true, BasicConstraintsValid: true, Subject: pkix.Name{CommonName: "root"}}
	ca := &authority.CertificateAuthority{
		Certificate: clienttest.Must(x509.ParseCertificate(clienttest.Must(x509.CreateCertificate(rand.Reader, root, root, key.Public(), key)))), PrivateKey: key,
	}
	der := clienttest.Must(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "jane", Organization: []string{"dev", "ops"}}, DNSNames: []string{"a.example.com"}, EmailAddresses: []string{"jane@example.com"},
	}, key))
	req := clienttest.Must(x509.ParseCertificateRequest(der))
	all := []certificatesv1.KeyUsage{"no such usage"}
	for u := range keyUsages {
		all = append(all, u)
	}
	for u := range extKeyUsages {
		all = append(all, u)
	}
	slices.Sort(all)
	r := mathrand.New(mathrand.NewPCG(1, 2))
	for i := range 300 {
		var asked []certificatesv1.KeyUsage
		for range r.IntN(4) {
			asked = append(asked, all[r.IntN(len(all))])
		}
		seconds := int32(r.IntN(int(2 * longest / time.Second)))
		if i%3 == 0 {
			seconds = int32(r.IntN(10 * 3600))
		}
		ttl := lasts(&seconds)
		theirs, theirErr := ca.Sign(der, authority.PermissiveSigningPolicy{TTL: ttl, Usages: asked, Backdate: 5 * time.Minute, Short: 8 * time.Hour, Now: func() time.Time { return now }})
		ours, err := template(req, asked, ttl, now)
		if (err == nil) != (theirErr == nil) || err != nil && err.Error() != theirErr.Error() {
			t.Fatalf("%q for %s: %v, upstream: %v", asked, ttl, err, theirErr)
		}
		if err != nil {
			continue
		}
		want := clienttest.Must(x509.ParseCertificate(theirs))
		if ours.KeyUsage != want.KeyUsage || !slices.Equal(ours.ExtKeyUsage, want.ExtKeyUsage) || !ours.NotBefore.Equal(want.NotBefore) || !ours.NotAfter.Equal(want.NotAfter) ||
			ours.Subject.String() != want.Subject.String() || !slices.Equal(ours.DNSNames, want.DNSNames) || !slices.Equal(ours.EmailAddresses, want.EmailAddresses) {
			t.Fatalf("%q for %s:\n%+v\nupstream:\n%+v", asked, ttl, ours, want)
		}
	}
	if _, err := template(&x509.CertificateRequest{}, nil, time.Hour, now); err == nil {
		t.Error("a request that nobody has signed is taken")
	}
}

func request(name, signer string, kind certificatesv1.RequestConditionType, at time.Time) *certificatesv1.CertificateSigningRequest {
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	der := clienttest.Must(x509.CreateCertificateRequest(nil, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}, private))
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: signer, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		},
	}
	if kind != "" {
		csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: kind, Status: corev1.ConditionTrue, LastUpdateTime: metav1.NewTime(at)}}
	}
	return csr
}

// What is approved is signed by whom it is for, what is improper fails, and all of it
// goes when it is old: decided an hour ago, or forgotten for a day.
func TestRequestsAreSignedAndCleaned(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
		f := informer.NewFactory(p, p.Lane, c)
		ca := clienttest.Must(authn.NewAuthority(b.Kernel.Rand("ca"), b.Kernel.Epoch()))
		env := func(name string) *reconcile.Env { return reconcile.NewEnv(p, name, name, c, f, 1) }
		NewApproving(env(Approving)).Start()
		NewSigning(env(Signing), ca.Sign).Start()
		NewCleaner(env(Cleaner)).Start()
		f.Start()
		for _, csr := range []*certificatesv1.CertificateSigningRequest{
			request("jane", certificatesv1.KubeAPIServerClientSignerName, certificatesv1.CertificateApproved, t.Now()),
			request("joe", certificatesv1.KubeAPIServerClientSignerName, certificatesv1.CertificateDenied, t.Now()),
			request("ann", certificatesv1.KubeletServingSignerName, certificatesv1.CertificateApproved, t.Now()),
			request("eve", "example.com/other", certificatesv1.CertificateApproved, t.Now()),
			request("bob", certificatesv1.KubeAPIServerClientSignerName, "", t.Now()),
		} {
			clienttest.Must(client.Create(t, c, client.CertificateSigningRequests, "", csr))
		}
		t.Sleep(26 * time.Hour)
	})
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.ReconcileEnd))
	if left := b.Objects(client.CertificateSigningRequests); len(left) > 0 {
		t.Errorf("%d requests are left", len(left))
	}
}
