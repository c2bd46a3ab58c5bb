package kubelet

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Bootstrap is how a machine that is not a node yet gets its kubelet's client
// certificate: with a bootstrap token it may request one, and nothing else. The
// controller manager approves it, if a ClusterRoleBinding says that the token's bearer
// may have it, or else an administrator does (TLS bootstrapping;
// pkg/kubelet/certificate/bootstrap).
type Bootstrap struct {
	Node   string
	Client client.Interface // as the token's bearer
	// Request makes a key, and a certificate request signed with it.
	Request func(user string, groups []string) (request, key []byte, err error)

	request []byte // made once: who asks again asks for the same
}

var nodeUsages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}

// Certificate asks for the certificate and waits for it, for as long as it takes. It
// gives the CertificateSigningRequest too, where one could be made.
func (b *Bootstrap) Certificate(t *sim.Task) (csr string, certificate []byte, err error) {
	if b.request == nil {
		if b.request, _, err = b.Request("system:node:"+b.Node, []string{"system:nodes"}); err != nil {
			return "", nil, err
		}
	}
	csr = b.name()
	b.act(t, csr, "create", "%s has no client certificate: ask for one as the bearer of the bootstrap token", b.Node)
	_, err = b.Client.Create(t, client.CertificateSigningRequests, "", &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: csr},
		Spec:       certificatesv1.CertificateSigningRequestSpec{Request: b.request, SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName, Usages: nodeUsages},
	})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return csr, nil, fmt.Errorf("cannot create certificate signing request: %w", err)
	}
	certificate, err = b.await(t, csr)
	if err == nil {
		b.act(t, csr, "read", "CertificateSigningRequest %s is approved and signed: from now on the kubelet is system:node:%s", csr, b.Node)
	}
	return csr, certificate, err
}

// name is the request's, which says what is asked for (digestedName).
func (b *Bootstrap) name() string {
	block, _ := pem.Decode(b.request)
	sum := sha512.Sum512_256(block.Bytes)
	return "node-csr-" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// await watches the request until somebody has decided, and the certificate is there
// (client-go util/certificate/csr WaitForCertificate).
func (b *Bootstrap) await(t *sim.Task, csr string) ([]byte, error) {
	for {
		now, err := client.Get[*certificatesv1.CertificateSigningRequest](t, b.Client, client.CertificateSigningRequests, "", csr)
		if err != nil {
			return nil, err
		}
		w, err := b.Client.Watch(t, client.CertificateSigningRequests, "", metav1.ListOptions{FieldSelector: "metadata.name=" + csr, ResourceVersion: now.ResourceVersion})
		if err != nil {
			return nil, err
		}
		for going := true; going; {
			if cert, done, err := decided(now); done {
				w.Stop()
				return cert, err
			}
			var e client.WatchEvent
			if e, going = w.Recv(t); going {
				now, going = e.Object.(*certificatesv1.CertificateSigningRequest)
			}
		}
		w.Stop()
	}
}

// decided says whether a request has come to its end.
func decided(csr *certificatesv1.CertificateSigningRequest) (certificate []byte, done bool, err error) {
	approved := false
	for _, c := range csr.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue && c.Status != "":
		case c.Type == certificatesv1.CertificateDenied:
			return nil, true, fmt.Errorf("certificate signing request is denied, reason: %v, message: %v", c.Reason, c.Message)
		case c.Type == certificatesv1.CertificateFailed:
			return nil, true, fmt.Errorf("certificate signing request failed, reason: %v, message: %v", c.Reason, c.Message)
		case c.Type == certificatesv1.CertificateApproved:
			approved = true
		}
	}
	if !approved || len(csr.Status.Certificate) == 0 {
		return nil, false, nil
	}
	if !strings.Contains(string(csr.Status.Certificate), "BEGIN CERTIFICATE") {
		return nil, true, errors.New("what was issued is no certificate")
	}
	return csr.Status.Certificate, true, nil
}

func (b *Bootstrap) act(t *sim.Task, csr, verb, why string, args ...any) {
	t.SetCauses(t.Emit(trace.Event{
		Kind: trace.ReconcileAction, Object: client.Nodes.Ref("", b.Node),
		Payload: &trace.Action{Controller: "kubelet", Key: b.Node, Verb: verb, Target: client.CertificateSigningRequests.Ref("", csr), Why: fmt.Sprintf(why, args...)},
	}))
}
