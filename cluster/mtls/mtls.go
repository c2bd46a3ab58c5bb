// Package mtls is the two programs of Kubernetes' own end-to-end tests that trust each
// other by the certificates that their pods mount: a server that says who its client is (agnhost
// mtlsserver), and a client that asks it every ten seconds (agnhost mtlsclient).
//
// Mirrors test/images/agnhost/mtlsserver and mtlsclient of k8s.io/kubernetes v1.37.
// Simplified: there is no TLS between them; each shows its certificates beside the request and the
// answer, and both verify what they are shown as TLS would, by the cluster's clock. Start
// reading at [StartServer] and [StartClient].
package mtls

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Containers, How: simulated.Simplified,
	What: "the programs mtlsserver and mtlsclient of Kubernetes' end-to-end tests (agnhost) show each other their certificates beside a request and its answer, and verify them; there is no TLS",
	Seen: "kubectl logs",
})

// The images and their arguments.
const (
	Server = agnhost + " mtlsserver"
	Client = agnhost + " mtlsclient"

	agnhost = "registry.k8s.io/e2e-test-images/agnhost"
)

// flags reads a program's flags, all of which it needs.
func flags(in runtime.Instance, names ...string) (map[string]string, error) {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.Usage = func() {}
	given := map[string]*string{}
	for _, name := range names {
		given[name] = set.String(name, "", "")
	}
	if err := set.Parse(in.Command); err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, name := range names {
		if values[name] = *given[name]; values[name] == "" {
			return nil, errors.New("missing required flags")
		}
	}
	return values, nil
}

// end ends the program with an error, once it runs.
func end(in runtime.Instance, err error) {
	in.Process.Go("main", func(t *sim.Task) {
		in.Log("Error: " + err.Error())
		in.Exit(1, t.Causes()...)
	})
}

// roots are the certificates in a file.
func roots(in runtime.Instance, file string) (*x509.CertPool, bool, error) {
	text, err := in.Read(file)
	if err != nil {
		return nil, false, err
	}
	pool := x509.NewCertPool()
	return pool, pool.AppendCertsFromPEM(text), nil
}

// chain are the certificates in a file that has the key of the first of them, too. That the
// key is this one's is what a handshake would prove.
func chain(in runtime.Instance, file string) ([][]byte, error) {
	text, err := in.Read(file)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		return nil, err
	}
	return pair.Certificate, nil
}

// verify checks certificates that were shown. name is the host that they have to be for, "" for any.
func verify(shown [][]byte, by *x509.CertPool, name string, now time.Time) (*x509.Certificate, error) {
	var certs []*x509.Certificate
	for _, der := range shown {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		certs = append(certs, c)
	}
	if len(certs) == 0 {
		return nil, errors.New("no certificate was shown")
	}
	between := x509.NewCertPool()
	for _, c := range certs[1:] {
		between.AddCert(c)
	}
	_, err := certs[0].Verify(x509.VerifyOptions{Roots: by, Intermediates: between, DNSName: name, CurrentTime: now})
	return certs[0], err
}

// logf writes a line as Go's package log does.
func logf(t *sim.Task, in runtime.Instance, line string, args ...any) {
	in.Log(t.Now().UTC().Format("2006/01/02 15:04:05 ") + fmt.Sprintf(line, args...))
}

// hasKey reports whether a file in PEM has a key.
func hasKey(text []byte) bool {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "PRIVATE KEY" {
			return true
		}
	}
	return false
}
