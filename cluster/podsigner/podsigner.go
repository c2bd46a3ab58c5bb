// Package podsigner is the signer of pods' certificates of Kubernetes' own end-to-end tests
// (agnhost podcertificatesigner): a program that answers each PodCertificateRequest for its
// signer with a certificate, without asking who wants it, and publishes its root as a
// ClusterTrustBundle.
//
// Mirrors test/images/agnhost/podcertificatesigner and test/utils/hermeticpodcertificatesigner of
// k8s.io/kubernetes v1.37. Simplified: what it knows of keys comes from the cluster's seed; the bundle
// stays behind when the program is stopped, where upstream's deletes it. Start reading at [Start].
package podsigner

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/spf13/pflag"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"kviz/cluster/client"
	"kviz/cluster/informer"
	"kviz/cluster/remote"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
	"kviz/cluster/workqueue"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Containers, How: simulated.Simplified,
	What: "the program podcertificatesigner of Kubernetes' end-to-end tests (agnhost) draws its keys from the cluster's seed, and leaves its ClusterTrustBundle behind when it is stopped",
	Seen: "kubectl get clustertrustbundles",
})

// Image is the image and its argument.
const Image = "registry.k8s.io/e2e-test-images/agnhost podcertificatesigner"

// Times of the signer and of its certificates (hermeticpodcertificatesigner.go).
const (
	bundleEvery = time.Minute // and up to twice that
	authority   = 365 * 24 * time.Hour
	longest     = 24 * time.Hour
	backdate    = 2 * time.Minute
	renewBefore = 30 * time.Minute
)

// pathKey is the annotation with which a pod asks for another path in its identity
// (SpiffePathKey).
const pathKey = "spiffe/path-overriding"

// signer is the program.
type signer struct {
	in           runtime.Instance
	name, domain string
	rand         *rand.Rand
	keys         []ed25519.PrivateKey // of the root, and of the one that signs
	certs        []*x509.Certificate
	requests     *informer.Informer
	queue        *workqueue.Queue[string]
}

// Serve breaks the connection: nothing listens.
func (*signer) Serve(*sim.Task, *remote.Request) (remote.Answer, error) {
	return remote.Answer{}, io.EOF
}

// Start begins the signer in a container.
func Start(in runtime.Instance) runtime.Program {
	s := &signer{in: in}
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.Usage = func() {}
	set.StringVar(&s.name, "signer-name", "", "")
	set.StringVar(&s.domain, "cluster-dns-domain", "", "")
	err := set.Parse(in.Command)
	if err == nil && s.name == "" {
		err = errors.New("--signer-name names the signer to sign for")
	}
	in.Process.Go("main", func(t *sim.Task) {
		t.SetCauses(in.Process.Began())
		if err == nil {
			err = s.establish(t)
		}
		if err != nil {
			in.Log("Error: " + err.Error())
			in.Exit(1, t.Causes()...)
			return
		}
		s.run(t)
	})
	return s
}

// establish makes the root and the certificate below it that signs (GenerateCAHierarchy).
func (s *signer) establish(t *sim.Task) error {
	s.rand = t.Kernel().Rand(fmt.Sprintf("signer %s in %s at %s", s.name, s.in.Pod, t.Elapsed()))
	for range 2 {
		seed := make([]byte, ed25519.SeedSize)
		for i := range seed {
			seed[i] = byte(s.rand.Uint32())
		}
		key := ed25519.NewKeyFromSeed(seed)
		template := &x509.Certificate{
			SerialNumber: s.serial(), NotBefore: t.Now(), NotAfter: t.Now().Add(authority), IsCA: true, BasicConstraintsValid: true,
			KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		}
		parent, by := template, key
		if n := len(s.certs); n > 0 {
			parent, by = s.certs[n-1], s.keys[n-1]
		}
		der, err := x509.CreateCertificate(nil, template, parent, key.Public(), by)
		if err != nil {
			return fmt.Errorf("while generating CA hierarchy: %w", err)
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return fmt.Errorf("while parsing previous cert: %w", err)
		}
		s.keys, s.certs = append(s.keys, key), append(s.certs, cert)
	}
	return nil
}

func (s *signer) serial() *big.Int { return new(big.Int).SetUint64(s.rand.Uint64() | 1) }

// run answers requests, and keeps the bundle (Run).
func (s *signer) run(t *sim.Task) {
	p := s.in.Process
	s.queue = workqueue.New[string]("podcertificatesigner", p.Lane, p)
	s.requests = informer.New(p, p.Lane, s.in.API, client.PodCertificateRequests, "", informer.Options{FieldSelector: fields.OneTermEqualSelector("spec.signerName", s.name).String()})
	add := func(t *sim.Task, obj apiruntime.Object) { s.queue.Add(t, informer.KeyOf(obj)) }
	s.requests.AddHandler(informer.Handler{
		Add:    func(t *sim.Task, obj apiruntime.Object, _ trace.ID) { add(t, obj) },
		Update: func(t *sim.Task, _, obj apiruntime.Object, _ trace.ID) { add(t, obj) },
		Delete: func(t *sim.Task, obj apiruntime.Object, _ trace.ID) { add(t, obj) },
	})
	s.requests.Start()
	s.requests.WaitForSync(t)
	p.Go("bundle", func(t *sim.Task) {
		for {
			t.SetCauses(p.Began())
			if err := s.publish(t); err != nil {
				s.in.Log(err.Error())
			}
			t.Sleep(bundleEvery + time.Duration(s.rand.Float64()*float64(bundleEvery)))
		}
	})
	for {
		key, _, down := s.queue.Get(t)
		if down {
			return
		}
		if err := s.look(t, key); err != nil {
			s.in.Log(fmt.Sprintf("Error while handling PodCertificateRequest %s: %v", key, err))
			s.queue.AddRateLimited(t, key)
		} else {
			s.queue.Forget(key)
		}
		s.queue.Done(t, key)
	}
}

// publish has the root in a ClusterTrustBundle (ensureTrustBundle).
func (s *signer) publish(t *sim.Task) error {
	name := strings.Replace(s.name, "/", ":", 1) + ":primary-bundle"
	root := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.certs[0].Raw}))
	is, err := client.Get[*certificatesv1.ClusterTrustBundle](t, s.in.API, client.ClusterTrustBundles, "", name)
	switch {
	case apierrors.IsNotFound(err):
		is = &certificatesv1.ClusterTrustBundle{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: certificatesv1.ClusterTrustBundleSpec{SignerName: s.name, TrustBundle: root}}
		if _, err := client.Create(t, s.in.API, client.ClusterTrustBundles, "", is); err != nil {
			return fmt.Errorf("failed to create ClusterTrustBundle %s: %w", name, err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("failed to get ClusterTrustBundle %s: %w", name, err)
	case is.Spec.SignerName == s.name && is.Spec.TrustBundle == root:
		return nil
	}
	is.Spec.SignerName, is.Spec.TrustBundle = s.name, root
	if _, err := client.Update(t, s.in.API, client.ClusterTrustBundles, "", is); err != nil {
		return fmt.Errorf("failed to update ClusterTrustBundle %s: %w", name, err)
	}
	return nil
}

// look answers a request (handlePCR).
func (s *signer) look(t *sim.Task, key string) error {
	obj, ok := s.requests.Get(key)
	if !ok {
		return nil
	}
	r := obj.(*certificatesv1.PodCertificateRequest)
	if r.Spec.SignerName != s.name || r.Status.CertificateChain != "" {
		return nil
	}
	template, err := s.template(r, t.Now())
	if err != nil {
		return err
	}
	asked, err := x509.ParseCertificateRequest(r.Spec.StubPKCS10Request)
	if err != nil {
		return fmt.Errorf("while parsing PKCS#10 request: %w", err)
	}
	der, err := x509.CreateCertificate(nil, template, s.certs[1], asked.PublicKey, s.keys[1])
	if err != nil {
		return fmt.Errorf("while signing subject cert: %w", err)
	}
	var chain bytes.Buffer
	for _, b := range [][]byte{der, s.certs[1].Raw} {
		chain.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b}))
	}
	r = r.DeepCopy()
	r.Status = certificatesv1.PodCertificateRequestStatus{
		Conditions: []metav1.Condition{{
			Type: certificatesv1.PodCertificateRequestConditionTypeIssued, Status: metav1.ConditionTrue, Reason: "Reason", Message: "Issued", LastTransitionTime: client.Now(t),
		}},
		CertificateChain: chain.String(), NotBefore: ptr.To(metav1.NewTime(template.NotBefore)), NotAfter: ptr.To(metav1.NewTime(template.NotAfter)),
		BeginRefreshAt: ptr.To(metav1.NewTime(template.NotAfter.Add(-renewBefore))),
	}
	if _, err := client.UpdateStatus(t, s.in.API, client.PodCertificateRequests, r.Namespace, r); err != nil {
		return fmt.Errorf("while updating PodCertificateRequest: %w", err)
	}
	return nil
}

// template is the certificate that a request gets: with the identity of the pod's service account, or the
// path that the pod's user asks for.
func (s *signer) template(r *certificatesv1.PodCertificateRequest, now time.Time) (*x509.Certificate, error) {
	lives := longest
	if r.Spec.MaxExpirationSeconds != nil {
		lives = min(lives, time.Duration(*r.Spec.MaxExpirationSeconds)*time.Second)
	}
	id := &url.URL{Scheme: "spiffe", Host: "cluster.local", Path: path.Join("ns", r.Namespace, "sa", r.Spec.ServiceAccountName)}
	if other, given := r.Spec.UnverifiedUserAnnotations[pathKey]; given {
		id.Path = other
	}
	names := []string{fmt.Sprintf("server.%s.svc", r.Namespace)}
	if s.domain != "" {
		names = append(names, fmt.Sprintf("server.%s.svc.%s", r.Namespace, s.domain))
	}
	begins := now.Add(-backdate).UTC().Truncate(time.Second)
	return &x509.Certificate{
		SerialNumber: s.serial(), URIs: []*url.URL{id}, NotBefore: begins, NotAfter: begins.Add(lives), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}, DNSNames: names,
	}, nil
}
