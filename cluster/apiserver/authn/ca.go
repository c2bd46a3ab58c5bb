package authn

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	requestx509 "k8s.io/apiserver/pkg/authentication/request/x509"
)

// authorityLife is how long the authority's own certificate holds: ten years, as kubeadm's
// (client-go util/cert NewSelfSignedCACert).
const authorityLife = 10 * 365 * 24 * time.Hour

// Authority is the cluster's certificate authority, kubeadm's
// /etc/kubernetes/pki/ca.crt and ca.key: it signs client certificates, and the API
// server trusts those that it signed (--client-ca-file).
//
// Its key comes from the seed, so that two runs sign the same certificates: it is no
// secret. So the authority remembers what it has signed, and trusts nothing else: a
// certificate that somebody made with the key is worthless.
type Authority struct {
	key     ed25519.PrivateKey
	cert    *x509.Certificate
	pem     string
	roots   *x509.CertPool
	rand    *rand.Rand
	signed  map[[sha256.Size]byte]time.Time // what it has signed, and when
	clients []string                        // whom, if they are clients; in order
	// Clock tells the time at which something is signed; nil: nobody asks.
	Clock   func() time.Time
	request *requestx509.Authenticator
	now     time.Time // of the verification under way
}

// NewAuthority draws the authority's key; its certificate holds for ten years
// from epoch.
func NewAuthority(r *rand.Rand, epoch time.Time) (*Authority, error) {
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = byte(r.Uint32())
	}
	key := ed25519.NewKeyFromSeed(seed)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"},
		NotBefore: epoch, NotAfter: epoch.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(bytes.NewReader(seed), template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the cluster's root certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make the cluster's root certificate: %w", err)
	}
	a := &Authority{
		key: key, cert: cert, roots: x509.NewCertPool(), rand: r, signed: map[[sha256.Size]byte]time.Time{},
		pem: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
	}
	a.roots.AddCert(cert)
	return a, nil
}

// PEM is the authority's own certificate: ca.crt.
func (a *Authority) PEM() string { return a.pem }

// Certificate is the authority's own certificate, parsed.
func (a *Authority) Certificate() *x509.Certificate { return a.cert }

// Sign makes a certificate of the template for a public key. The serial number is
// drawn; a certificate does not outlive its authority (pkg/controller/certificates/authority
// CertificateAuthority.Sign).
func (a *Authority) Sign(template *x509.Certificate, public crypto.PublicKey) ([]byte, error) {
	t := *template
	serial := make([]byte, 16)
	for i := range serial {
		serial[i] = byte(a.rand.Uint32())
	}
	serial[0] &= 0x7f
	t.SerialNumber = new(big.Int).SetBytes(serial)
	if t.NotAfter.After(a.cert.NotAfter) {
		t.NotAfter = a.cert.NotAfter
	}
	if !t.NotBefore.Before(t.NotAfter) {
		return nil, errors.New("the signer has expired")
	}
	der, err := x509.CreateCertificate(bytes.NewReader(serial), &t, a.cert, public, a.key)
	if err != nil {
		return nil, fmt.Errorf("failed to sign certificate: %w", err)
	}
	at := t.NotBefore
	if a.Clock != nil {
		at = a.Clock()
	}
	a.signed[sha256.Sum256(der)] = at
	if slices.Contains(t.ExtKeyUsage, x509.ExtKeyUsageClientAuth) {
		if i, found := slices.BinarySearch(a.clients, t.Subject.CommonName); !found {
			a.clients = slices.Insert(a.clients, i, t.Subject.CommonName)
		}
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// Clients are the users that client certificates were signed for, in order.
func (a *Authority) Clients() []string { return slices.Clone(a.clients) }

// SignedAt is when a certificate was signed; the zero time of one that this authority
// has not signed.
func (a *Authority) SignedAt(cert *x509.Certificate) time.Time {
	return a.signed[sha256.Sum256(cert.Raw)]
}

// Request makes a key and a certificate request signed with it, both PEM: what openssl
// req does on the user's own machine. The authority lends its random numbers only.
func (a *Authority) Request(user string, groups []string) (request, key []byte, err error) {
	private, key, err := a.newKey()
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{Subject: pkix.Name{CommonName: user, Organization: groups}}, private)
	if err != nil {
		return nil, nil, fmt.Errorf("make a certificate request: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), key, nil
}

// newKey draws a private key, and gives it in PEM too.
func (a *Authority) newKey() (ed25519.PrivateKey, []byte, error) {
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = byte(a.rand.Uint32())
	}
	private := ed25519.NewKeyFromSeed(seed)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the key of a client certificate: %w", err)
	}
	return private, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// Issue makes a key and a client certificate for a user, as kubeadm kubeconfig user
// does with the authority's key; both are PEM. The certificate holds for ttl from
// now on.
func (a *Authority) Issue(user string, groups []string, now time.Time, ttl time.Duration) (cert, key []byte, err error) {
	private, key, err := a.newKey()
	if err != nil {
		return nil, nil, err
	}
	cert, err = a.SignClient(user, groups, private.Public(), now, ttl)
	if err != nil {
		return nil, nil, err
	}
	return cert, key, nil
}

// SignClient is Issue for a key that somebody else keeps.
func (a *Authority) SignClient(user string, groups []string, public crypto.PublicKey, now time.Time, ttl time.Duration) ([]byte, error) {
	return a.Sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: user, Organization: groups}, NotBefore: now, NotAfter: now.Add(ttl),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}, public)
}

// ErrUnsigned is what a certificate is refused with that the authority's key has
// signed, but not the authority.
var ErrUnsigned = errors.New("this cluster has not issued the certificate; its key comes from the seed and proves nothing by itself")

// Identify says whom a client certificate proves at this time: CN is the user, O
// are the groups. The chain begins with the client's own
// (apiserver pkg/authentication/request/x509 Authenticator).
func (a *Authority) Identify(chain []*x509.Certificate, now time.Time) (User, error) {
	if a.request == nil { // few clusters are ever shown a certificate
		a.request = requestx509.NewDynamic(func() (x509.VerifyOptions, bool) {
			return x509.VerifyOptions{Roots: a.roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, CurrentTime: a.now}, true
		}, requestx509.CommonNameUserConversion)
	}
	a.now = now
	resp, ok, err := a.request.AuthenticateRequest(&http.Request{TLS: &tls.ConnectionState{PeerCertificates: chain}})
	switch {
	case err != nil:
		return User{}, err
	case !ok:
		return User{}, errors.New("the certificate names no user")
	case a.SignedAt(chain[0]).IsZero():
		return User{}, ErrUnsigned
	}
	u := resp.User
	return User{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: u.GetExtra()}, nil
}
