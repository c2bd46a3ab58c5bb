package serve

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kviz/raftstore/host"
)

// This file is a network edge: real time and real randomness are at home here.

// Listener serves the API to other programs, over TLS on 127.0.0.1.
type Listener struct {
	URL        string // https://127.0.0.1:port
	Kubeconfig string // path of the file written, "" if none was asked for

	ca     []byte   // PEM
	files  []string // that were written, to be removed at the end
	server *http.Server
	done   chan struct{}
}

// Listen serves other programs: it opens a TLS listener on
// 127.0.0.1:port (0: any free port) with a certificate authority and a bearer
// token of its own, both fresh each time. If kubeconfig is not "", a kubeconfig
// that leads here is written to that path, readable by its owner only. The certificate is for
// 127.0.0.1, localhost, the names of the Service and those in names; a request that calls the
// server otherwise in its Host header is refused.
func (h *Handler) Listen(port int, kubeconfig string, names ...string) (*Listener, error) {
	token, err := randomToken()
	if err != nil {
		return nil, err
	}
	ca, cert, known, err := newCertificate(names)
	if err != nil {
		return nil, fmt.Errorf("make the API server's certificate: %w", err)
	}
	ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if host.InUse(err) {
		return nil, fmt.Errorf("port %d is in use by another program; name another, or 0 for any that is free: %w", port, err)
	}
	if err != nil {
		return nil, err
	}
	l := &Listener{URL: "https://" + ln.Addr().String(), ca: ca, done: make(chan struct{})}
	if kubeconfig != "" {
		if err := l.write(kubeconfig, "kubernetes-admin", "token: "+token); err != nil {
			ln.Close()
			return nil, err
		}
		l.Kubeconfig = kubeconfig
	}
	h.mu.Lock()
	h.admin = token
	h.mu.Unlock()
	l.server = &http.Server{
		Handler: knownHosts{h, known}, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 32 * time.Second, ConnState: h.follow,
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
			// A client may present a certificate, and proves here that it has the key. Whose
			// it is, and whether it is valid at the cluster's time, the pipeline decides.
			ClientAuth: tls.RequestClientCert,
		},
	}
	h.cfg.Kernel.Beside("the API server's listener", func() {
		defer close(l.done)
		_ = l.server.ServeTLS(ln, "", "") // it ends with Close
	})
	return l, nil
}

// follow tells who deals out connections that one was closed.
func (h *Handler) follow(c net.Conn, state http.ConnState) {
	if state != http.StateClosed {
		return
	}
	peer := c.RemoteAddr().String()
	h.cfg.Kernel.PostControl(func() {
		if h.deals() != nil {
			h.enter(inputClosed, input{Server: h.cfg.Name, Path: peer})
			h.closed(peer)
		}
	})
}

func (h *Handler) closed(peer string) {
	if d := h.deals(); d != nil {
		d.Closed(peer)
	}
}

// deals is who deals out connections, if somebody does.
func (h *Handler) deals() interface{ Closed(peer string) } {
	d, _ := h.cfg.API().(interface{ Closed(peer string) })
	return d
}

// WriteIdentity writes a kubeconfig for a client that proves with a certificate who it is, readable by its
// owner only. The key is fresh; sign says whose the certificate is.
func (l *Listener) WriteIdentity(path string, sign func(public crypto.PublicKey) (user string, cert []byte, err error)) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("make a client's key: %w", err)
	}
	user, cert, err := sign(public)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return fmt.Errorf("encode the key of %s: %w", user, err)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return l.write(path, user, fmt.Sprintf("client-certificate-data: %s\n    client-key-data: %s",
		base64.StdEncoding.EncodeToString(cert), base64.StdEncoding.EncodeToString(key)))
}

// Close stops listening, ends what is open, and removes the kubeconfigs.
func (l *Listener) Close() error {
	err := l.server.Close()
	<-l.done
	for _, path := range l.files {
		if rm := os.Remove(path); rm != nil && !errors.Is(rm, os.ErrNotExist) && err == nil {
			err = rm
		}
	}
	return err
}

// Shutdown is Close that lets answers under way be sent, until ctx ends.
func (l *Listener) Shutdown(ctx context.Context) error {
	_ = l.server.Shutdown(ctx)
	return l.Close()
}

func (h *Handler) isAdminToken(token string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.admin != "" && subtle.ConstantTimeCompare([]byte(token), []byte(h.admin)) == 1
}

func randomToken() (string, error) {
	b := make([]byte, 24)
	if _, err := rand.Read(b); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// newCertificate makes a certificate authority and a server certificate for
// 127.0.0.1 and more names signed by it. ca is PEM; known are all names it is for.
func newCertificate(more []string) (ca []byte, server tls.Certificate, known []string, err error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, server, nil, err
	}
	now := time.Now() // real clients compare it with the machine's clock
	template := func(serial int64, name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
			NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), BasicConstraintsValid: true,
		}
	}
	root := template(1, "kviz-ca")
	root.IsCA, root.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, &caKey.PublicKey, caKey)
	if err != nil {
		return nil, server, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, server, nil, err
	}
	leaf := template(2, "kube-apiserver")
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, name := range slices.Concat(ownAddresses, ownNames, more) {
		if err := CheckName(name); err != nil {
			return nil, server, nil, err
		}
		known = append(known, hostname(name))
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, strings.ToLower(name))
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, &key.PublicKey, caKey)
	if err != nil {
		return nil, server, nil, err
	}
	ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER})
	return ca, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, known, nil
}

// write writes a kubeconfig whole or not at all, mode 0600. credential is a line of YAML, or two.
func (l *Listener) write(path, user, credential string) error {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: kviz
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %[3]s
  user:
    %[4]s
contexts:
- name: kviz
  context:
    cluster: kviz
    user: %[3]s
current-context: kviz
`, l.URL, base64.StdEncoding.EncodeToString(l.ca), user, credential)
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	f, err := os.CreateTemp(dir, ".kubeconfig-*") // created with mode 0600
	if err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	l.files = append(l.files, path)
	return nil
}
