package remote

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
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// Driver is the name in the certificate of the members' driver; members have
// their own names.
const Driver = "driver"

// service is the DNS name that every member's certificate has: who dials looks
// for it instead of the address, which may be any.
const service = "member.kviz"

const (
	unitMember = "kviz member"
	unitDriver = "kviz driver"
)

// certLife is how long certificates are valid.
const certLife = 2 * 365 * 24 * time.Hour

// nameForm is what a member may be called: a, b, c …, in order of joining, as the
// members of one process are.
var nameForm = regexp.MustCompile(`^[a-z]{1,2}$`)

// CheckName refuses what no member can be called. A name becomes part of file names.
func CheckName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("%q cannot be a member's name; want a, b, c …", name)
	}
	return nil
}

// MakeCerts makes, in a folder, a certificate authority of its own (ca.crt, ca.key),
// and by it a certificate and key for each name. What is there stays; so a later
// member's certificate comes from the same authority. Files have mode 0600.
// It gives the files it made.
//
// A machine needs ca.crt and the pair of its own name, not ca.key.
func MakeCerts(dir string, names ...string) (made []string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	ca, key, made, err := authority(dir)
	if err != nil {
		return made, fmt.Errorf("certificates: %w", err)
	}
	for _, name := range names {
		if err := CheckName(name); err != nil && name != Driver {
			return made, fmt.Errorf("certificates: %w", err)
		}
		files, err := issue(dir, name, ca, key)
		made = append(made, files...)
		if err != nil {
			return made, fmt.Errorf("certificates: %w", err)
		}
	}
	return made, nil
}

// authority reads the folder's authority, or makes one.
func authority(dir string) (*x509.Certificate, *ecdsa.PrivateKey, []string, error) {
	certFile, keyFile := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	if _, err := os.Stat(certFile); errors.Is(err, fs.ErrNotExist) {
		made, err := newAuthority(certFile, keyFile)
		if err != nil {
			return nil, nil, made, err
		}
		ca, key, err := readAuthority(certFile, keyFile)
		return ca, key, made, err
	}
	ca, key, err := readAuthority(certFile, keyFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is here without its key, so it can certify nobody: %w", certFile, err)
	}
	return ca, key, nil, err
}

func newAuthority(certFile, keyFile string) ([]string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "kviz members' authority"},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	return writePair(certFile, keyFile, template, template, key, key)
}

func readAuthority(certFile, keyFile string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, nil, err
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil, nil, fmt.Errorf("%s is no authority of kviz' making", certFile)
	}
	return pair.Leaf, key, nil
}

// issue certifies a name, unless it was done.
func issue(dir, name string, ca *x509.Certificate, caKey *ecdsa.PrivateKey) ([]string, error) {
	certFile, keyFile := filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	if _, err := os.Stat(certFile); err == nil {
		return nil, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: name, OrganizationalUnit: []string{unitMember}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{service},
	}
	if name == Driver { // it is never dialled
		template.Subject.OrganizationalUnit = []string{unitDriver}
		template.ExtKeyUsage, template.DNSNames = template.ExtKeyUsage[:1], nil
	}
	return writePair(certFile, keyFile, template, ca, key, caKey)
}

func writePair(certFile, keyFile string, template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) ([]string, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(certLife)
	cert, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	// The key first: a certificate without its key would look like one that is
	// there.
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600); err != nil {
		return []string{keyFile}, err
	}
	return []string{certFile, keyFile}, nil
}

// Credentials are a certificate and whom to believe.
type Credentials struct {
	name string
	pair tls.Certificate
	pool *x509.CertPool
}

// LoadCredentials reads ca.crt and a name's certificate and key from a folder.
func LoadCredentials(dir, name string) (*Credentials, error) {
	certFile, keyFile := filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("certificates (kviz member certs makes them): %w", err)
	}
	c := &Credentials{name: name, pool: x509.NewCertPool()}
	if !c.pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("certificates: %s holds none", filepath.Join(dir, "ca.crt"))
	}
	if info, err := os.Stat(keyFile); err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("certificates: %s can be read by others (mode %04o); want 0600", keyFile, info.Mode().Perm())
	}
	if c.pair, err = tls.LoadX509KeyPair(certFile, keyFile); err != nil {
		return nil, fmt.Errorf("certificates (kviz member certs makes them): %w", err)
	}
	if got := c.pair.Leaf.Subject.CommonName; got != name {
		return nil, fmt.Errorf("certificates: %s is the certificate of %q, not of %q", certFile, got, name)
	}
	return c, nil
}

// server is the side that listens: nobody is answered without a certificate
// of the same authority.
func (c *Credentials) server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c.pair},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: c.pool,
		SessionTicketsDisabled: true,
	}
}

// client is the side that dials.
func (c *Credentials) client() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c.pair},
		RootCAs: c.pool, ServerName: service,
	}
}

// peerName is whom the other side's certificate names.
func peerName(c *tls.Conn) (name string, driver bool, err error) {
	chain := c.ConnectionState().PeerCertificates
	if len(chain) == 0 || len(chain[0].Subject.OrganizationalUnit) != 1 {
		return "", false, errors.New("the certificate is not of kviz' making")
	}
	subject := chain[0].Subject
	switch subject.OrganizationalUnit[0] {
	case unitMember:
		return subject.CommonName, false, nil
	case unitDriver:
		return subject.CommonName, true, nil
	}
	return "", false, fmt.Errorf("the certificate is of %q, neither a member's nor a driver's", subject.OrganizationalUnit[0])
}
