package etcdapi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// TLS is what protects the members' addresses: a certificate authority of
// their own, a certificate for this machine's loopback names, and one for
// clients, which every client has to show. All lie in one folder that only its
// owner can read.
//
// The client certificate names nobody (no common name): it opens the
// connection, and a user is then who gives a password, as long as
// authentication is on. [TLS.Issue] makes certificates that name a user, as
// etcd takes the common name for one (--client-cert-auth).
type TLS struct {
	// CA, Cert and Key are the files that a client needs: ETCDCTL_CACERT,
	// ETCDCTL_CERT and ETCDCTL_KEY.
	CA, Cert, Key string

	dir    string
	ca     *x509.Certificate
	caKey  *ecdsa.PrivateKey
	pool   *x509.CertPool
	server tls.Certificate
}

// Lifetimes of certificates. Those with less than a day left are reissued when they
// are loaded.
const (
	certificateLife = 10 * 365 * 24 * time.Hour
	certificateLeft = 24 * time.Hour
)

// MakeTLS loads the certificates of a folder, or makes them. The folder gets
// mode 0700, every file 0600.
func MakeTLS(dir string) (*TLS, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("certificates for etcd's API: %w", err)
	}
	t := &TLS{dir: dir, CA: filepath.Join(dir, "ca.crt"), Cert: filepath.Join(dir, "client.crt"), Key: filepath.Join(dir, "client.key")}
	if err := t.load(); err == nil {
		return t, nil
	} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errExpired) {
		return nil, fmt.Errorf("certificates for etcd's API: %w; remove %s, and they are made again", err, dir)
	}
	if err := t.make(); err != nil {
		return nil, fmt.Errorf("certificates for etcd's API: %w", err)
	}
	return t, nil
}

var errExpired = errors.New("the certificate has expired")

func (t *TLS) file(name string) string { return filepath.Join(t.dir, name) }

func (t *TLS) load() error {
	ca, err := tls.LoadX509KeyPair(t.CA, t.file("ca.key"))
	if err != nil {
		return err
	}
	key, ok := ca.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return fmt.Errorf("%s is not an ECDSA key", t.file("ca.key"))
	}
	t.ca, t.caKey = ca.Leaf, key
	if t.server, err = tls.LoadX509KeyPair(t.file("server.crt"), t.file("server.key")); err != nil {
		return err
	}
	client, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return err
	}
	t.pool = x509.NewCertPool()
	t.pool.AddCert(t.ca)
	for _, c := range []*x509.Certificate{t.server.Leaf, client.Leaf} {
		if time.Until(c.NotAfter) < certificateLeft {
			return errExpired
		}
		if _, err := c.Verify(x509.VerifyOptions{Roots: t.pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			return err
		}
	}
	return nil
}

func (t *TLS) make() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := certificate("kviz etcd CA")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	if t.ca, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	t.caKey = key
	if err := t.write(t.CA, t.file("ca.key"), der, key); err != nil {
		return err
	}
	server := certificate("kviz etcd")
	server.DNSNames, server.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	if err := t.sign(server, t.file("server.crt"), t.file("server.key")); err != nil {
		return err
	}
	client := certificate("")
	client.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if err := t.sign(client, t.Cert, t.Key); err != nil {
		return err
	}
	return t.load()
}

// Issue makes a client certificate whose common name is a user: with authentication
// on, its holder is that user. It returns the files' names.
func (t *TLS) Issue(user string) (cert, key string, err error) {
	if user == "" || strings.ContainsAny(user, "/\\\x00") || user == "." || user == ".." {
		return "", "", fmt.Errorf("a certificate for user %q: not a name that a file can have", user)
	}
	template := certificate(user)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	cert, key = t.file("user-"+user+".crt"), t.file("user-"+user+".key")
	if err := t.sign(template, cert, key); err != nil {
		return "", "", fmt.Errorf("a certificate for user %q: %w", user, err)
	}
	return cert, key, nil
}

func certificate(name string) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // the system has no randomness
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name, Organization: []string{"kviz"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

func (t *TLS) sign(template *x509.Certificate, cert, key string) error {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, t.ca, private.Public(), t.caKey)
	if err != nil {
		return err
	}
	return t.write(cert, key, der, private)
}

func (t *TLS) write(cert, key string, der []byte, private *ecdsa.PrivateKey) error {
	raw, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return err
	}
	if err := os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw}), 0o600); err != nil {
		return err
	}
	return os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
}

// serverConfig demands a certificate of this CA of every client. By ALPN h2 is
// gRPC, everything else plain HTTP.
func (t *TLS) serverConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{t.server},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: t.pool,
		NextProtos: []string{"h2", "http/1.1"},
	}
}

// Client is what a client in this process needs to reach the addresses.
func (t *TLS) Client() (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("client certificate for etcd's API: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: t.pool, Certificates: []tls.Certificate{cert}}, nil
}
