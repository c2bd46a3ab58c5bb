package certificates

import (
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	capihelper "k8s.io/kubernetes/pkg/apis/certificates"

	"kviz/cluster/bound"
	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// Times of certificates (signer.go; --cluster-signing-duration).
const (
	longest  = 365 * 24 * time.Hour
	shortest = 10 * time.Minute
	backdate = 5 * time.Minute // for clocks that are behind
	short    = 8 * time.Hour   // below this a certificate's end is not moved back too
)

// legacySigner signs whatever is approved; the API server does not believe the
// certificates unless they are for clients (certificates/v1beta1
// LegacyUnknownSignerName).
const legacySigner = "kubernetes.io/legacy-unknown"

// signers are the signers here, and what each finds wrong with a request
// (getCSRVerificationFuncForSignerName).
var signers = map[string]func(*certificatesv1.CertificateSigningRequest, *x509.CertificateRequest) error{
	certificatesv1.KubeletServingSignerName: func(csr *certificatesv1.CertificateSigningRequest, req *x509.CertificateRequest) error {
		return capihelper.ValidateKubeletServingCSR(req, usages(csr))
	},
	certificatesv1.KubeAPIServerClientKubeletSignerName: func(csr *certificatesv1.CertificateSigningRequest, req *x509.CertificateRequest) error {
		return capihelper.ValidateKubeletClientCSR(req, usages(csr))
	},
	certificatesv1.KubeAPIServerClientSignerName: func(csr *certificatesv1.CertificateSigningRequest, _ *x509.CertificateRequest) error {
		return validClientUsages(csr.Spec.Usages)
	},
	legacySigner: func(*certificatesv1.CertificateSigningRequest, *x509.CertificateRequest) error { return nil },
}

// validClientUsages is validAPIServerClientUsages.
func validClientUsages(usages []certificatesv1.KeyUsage) error {
	client := false
	for _, u := range usages {
		switch u {
		case certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment:
		case certificatesv1.UsageClientAuth:
			client = true
		default:
			return fmt.Errorf("invalid usage for client certificate: %s", u)
		}
	}
	if !client {
		return fmt.Errorf("missing required usage for client certificate: %s", certificatesv1.UsageClientAuth)
	}
	return nil
}

// issue is the signing controller (signer.handle).
func (c *Controller) issue(run *reconcile.Run, csr *certificatesv1.CertificateSigningRequest) error {
	approved, denied := decision(csr)
	wrong := signers[csr.Spec.SignerName]
	if !approved || denied || failed(csr) || wrong == nil {
		return nil
	}
	req, err := capihelper.ParseCSR(csr.Spec.Request)
	if err != nil {
		return fmt.Errorf("unable to parse csr %q: %w", csr.Name, err)
	}
	if err := wrong(csr, req); err != nil {
		csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue,
			Reason: "SignerValidationFailure", Message: err.Error(), LastUpdateTime: client.Now(run.T),
		})
		run.Act("fail", client.RefOf(csr), "Failed", "Approved", "signer %s does not sign this: %v", csr.Spec.SignerName, err)
		if _, err := c.Client.Update(run.T, client.CertificateSigningRequests, "", csr, "status"); err != nil {
			return fmt.Errorf("error adding failure condition for csr: %w", err)
		}
		return nil
	}
	template, err := template(req, csr.Spec.Usages, lasts(csr.Spec.ExpirationSeconds), run.T.Now())
	if err != nil {
		return fmt.Errorf("error auto signing csr: %w", err)
	}
	if csr.Status.Certificate, err = c.sign(template, req.PublicKey); err != nil {
		return fmt.Errorf("error auto signing csr: %w", err)
	}
	run.Act("sign", client.RefOf(csr), "Issued", "Approved", "the request is approved, and signer %s finds it proper: sign a certificate of %s that holds until %s",
		csr.Spec.SignerName, req.Subject.CommonName, template.NotAfter.UTC().Format(time.RFC3339))
	if _, err := c.Client.Update(run.T, client.CertificateSigningRequests, "", csr, "status"); err != nil {
		return fmt.Errorf("error updating signature for csr: %w", err)
	}
	return nil
}

// failed reports whether a signer has refused a request (HasTrueCondition).
func failed(csr *certificatesv1.CertificateSigningRequest) bool {
	return slices.ContainsFunc(csr.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == certificatesv1.CertificateFailed && (c.Status == "" || c.Status == corev1.ConditionTrue)
	})
}

// lasts is how long a certificate holds: as long as was asked for, within limits
// (signer.duration).
func lasts(seconds *int32) time.Duration {
	if seconds == nil {
		return longest
	}
	return min(longest, max(shortest, time.Duration(*seconds)*time.Second))
}

// template is what is signed of a request: its names, with the usages that the object
// asks for, and no extensions (authority.go Sign, policies.go PermissiveSigningPolicy).
func template(req *x509.CertificateRequest, usages []certificatesv1.KeyUsage, ttl time.Duration, now time.Time) (*x509.Certificate, error) {
	err := bound.Key(req.PublicKey) // one that was stored when nothing refused it
	if err == nil {
		err = req.CheckSignature()
	}
	if err != nil {
		return nil, fmt.Errorf("unable to verify certificate request signature: %w", err)
	}
	t := &x509.Certificate{
		Subject: req.Subject, DNSNames: req.DNSNames, IPAddresses: req.IPAddresses, EmailAddresses: req.EmailAddresses, URIs: req.URIs,
		PublicKeyAlgorithm: req.PublicKeyAlgorithm, PublicKey: req.PublicKey, BasicConstraintsValid: true,
		NotBefore: now.Add(-backdate), NotAfter: now.Add(ttl),
	}
	if ttl >= short {
		t.NotAfter = t.NotAfter.Add(-backdate)
	}
	ext := map[x509.ExtKeyUsage]bool{}
	var unknown []certificatesv1.KeyUsage
	for _, u := range usages {
		if v, ok := keyUsages[u]; ok {
			t.KeyUsage |= v
		} else if v, ok := extKeyUsages[u]; ok {
			ext[v] = true
		} else {
			unknown = append(unknown, u)
		}
	}
	t.ExtKeyUsage = slices.Sorted(maps.Keys(ext))
	if len(unknown) > 0 {
		return nil, fmt.Errorf("unrecognized usage values: %q", unknown)
	}
	return t, nil
}

var keyUsages = map[certificatesv1.KeyUsage]x509.KeyUsage{
	certificatesv1.UsageSigning:           x509.KeyUsageDigitalSignature,
	certificatesv1.UsageDigitalSignature:  x509.KeyUsageDigitalSignature,
	certificatesv1.UsageContentCommitment: x509.KeyUsageContentCommitment,
	certificatesv1.UsageKeyEncipherment:   x509.KeyUsageKeyEncipherment,
	certificatesv1.UsageKeyAgreement:      x509.KeyUsageKeyAgreement,
	certificatesv1.UsageDataEncipherment:  x509.KeyUsageDataEncipherment,
	certificatesv1.UsageCertSign:          x509.KeyUsageCertSign,
	certificatesv1.UsageCRLSign:           x509.KeyUsageCRLSign,
	certificatesv1.UsageEncipherOnly:      x509.KeyUsageEncipherOnly,
	certificatesv1.UsageDecipherOnly:      x509.KeyUsageDecipherOnly,
}

var extKeyUsages = map[certificatesv1.KeyUsage]x509.ExtKeyUsage{
	certificatesv1.UsageAny:             x509.ExtKeyUsageAny,
	certificatesv1.UsageServerAuth:      x509.ExtKeyUsageServerAuth,
	certificatesv1.UsageClientAuth:      x509.ExtKeyUsageClientAuth,
	certificatesv1.UsageCodeSigning:     x509.ExtKeyUsageCodeSigning,
	certificatesv1.UsageEmailProtection: x509.ExtKeyUsageEmailProtection,
	certificatesv1.UsageSMIME:           x509.ExtKeyUsageEmailProtection,
	certificatesv1.UsageIPsecEndSystem:  x509.ExtKeyUsageIPSECEndSystem,
	certificatesv1.UsageIPsecTunnel:     x509.ExtKeyUsageIPSECTunnel,
	certificatesv1.UsageIPsecUser:       x509.ExtKeyUsageIPSECUser,
	certificatesv1.UsageTimestamping:    x509.ExtKeyUsageTimeStamping,
	certificatesv1.UsageOCSPSigning:     x509.ExtKeyUsageOCSPSigning,
	certificatesv1.UsageMicrosoftSGC:    x509.ExtKeyUsageMicrosoftServerGatedCrypto,
	certificatesv1.UsageNetscapeSGC:     x509.ExtKeyUsageNetscapeServerGatedCrypto,
}
