package serve

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The names and addresses in the server's certificate, besides those that the user adds.
var (
	ownNames     = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	ownAddresses = []string{"127.0.0.1"}
)

// CheckName refuses what cannot be a name or an address in a certificate.
func CheckName(name string) error {
	if net.ParseIP(name) != nil {
		return nil
	}
	if bad := validation.IsDNS1123Subdomain(strings.ToLower(name)); len(bad) > 0 {
		return fmt.Errorf("%q is neither an address nor a name: %s", name, strings.Join(bad, "; "))
	}
	return nil
}

// knownHosts lets only those requests through that name this server: the certificate's names
// and addresses are known. A page in a browser can have its own name lead to 127.0.0.1 (DNS
// rebinding), and would read here what the browser takes for its own site's; its requests
// name that site in the Host header. Port forwarding changes the port, so no port is compared.
type knownHosts struct {
	next  http.Handler
	known []string
}

// ServeHTTP is [http.Handler].
func (k knownHosts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if host := hostname(r.Host); !slices.Contains(k.known, host) {
		w.Header().Set("Cache-Control", "no-cache, private")
		writeStatus(w, r, &metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusMisdirectedRequest, Reason: "Misdirected",
			Message: fmt.Sprintf("this API server is not called %q: the Host header names none of %s, which its certificate is for; start kviz with --tls-san NAME to add a name", host, strings.Join(k.known, ", ")),
		})
		return
	}
	k.next.ServeHTTP(w, r)
}

// hostname is a Host header without its port, in the form in which names are compared.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if ip := net.ParseIP(host); ip != nil {
		return ip.String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
