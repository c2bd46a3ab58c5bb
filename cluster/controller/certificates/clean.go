package certificates

import (
	"crypto/x509"
	"encoding/pem"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// How often the cleaner looks, and how old a request may become (cleaner.go).
const (
	cleanEvery = time.Hour
	oldDecided = time.Hour // approved and signed, denied, or failed
	oldPending = 24 * time.Hour
)

// clean is the cleaner.
func (c *Controller) clean(t *sim.Task) {
	c.requests.WaitForSync(t)
	for {
		c.Linger(t)
		for _, obj := range c.requests.List() {
			c.Attempt(t, client.RefOf(obj), "a look at the request", func() { c.discard(t, obj.(*certificatesv1.CertificateSigningRequest)) })
		}
		t.SetCauses()
		t.Sleep(cleanEvery)
	}
}

// discard deletes a request that is old.
func (c *Controller) discard(t *sim.Task, csr *certificatesv1.CertificateSigningRequest) {
	why := old(csr, t.Now())
	if why == "" {
		return
	}
	t.SetCauses()
	c.Act(t, csr.Name, client.RefOf(csr), "delete", client.RefOf(csr), nil, nil, "the request "+why+": nobody needs it any more")
	_ = c.Client.Delete(t, client.CertificateSigningRequests, "", csr.Name, metav1.DeleteOptions{}) // else in an hour
}

// old says why a request is to be deleted; "" where it is not (cleaner.go handle).
func old(csr *certificatesv1.CertificateSigningRequest, now time.Time) string {
	past := func(t metav1.Time, d time.Duration) bool { return !t.IsZero() && now.Sub(t.Time) > d }
	issued := len(csr.Status.Certificate) > 0
	if len(csr.Status.Conditions) == 0 && past(csr.CreationTimestamp, oldPending) {
		return "has waited for a day and nobody cared"
	}
	for _, c := range csr.Status.Conditions {
		switch {
		case c.Type == certificatesv1.CertificateApproved && issued && past(c.LastUpdateTime, oldDecided):
			return "was approved and signed over an hour ago"
		case c.Type == certificatesv1.CertificateDenied && past(c.LastUpdateTime, oldDecided):
			return "was denied over an hour ago"
		case c.Type == certificatesv1.CertificateFailed && past(c.LastUpdateTime, oldDecided):
			return "has failed over an hour ago"
		case c.Type == certificatesv1.CertificateApproved && issued && expired(csr.Status.Certificate, now):
			return "has a certificate that has expired"
		case c.Type == certificatesv1.CertificateApproved && !issued && past(c.LastUpdateTime, oldPending):
			return "was approved over a day ago, and nobody has signed it"
		}
	}
	return ""
}

// expired reports whether a certificate's time is over (isExpired).
func expired(certificate []byte, now time.Time) bool {
	block, _ := pem.Decode(certificate)
	if block == nil {
		return false
	}
	certs, err := x509.ParseCertificates(block.Bytes)
	return err == nil && len(certs) > 0 && now.After(certs[0].NotAfter)
}
