package certificates

import (
	"crypto/x509"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	capihelper "k8s.io/kubernetes/pkg/apis/certificates"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// recognizer is a kind of request that may be approved without a person, if the
// requester may create the subresource (csrRecognizer).
type recognizer struct {
	subresource string
	knows       func(*certificatesv1.CertificateSigningRequest, *x509.CertificateRequest) bool
	message     string
}

// recognizers in upstream's order: a kubelet that renews its own certificate, then
// one that asks for its first.
var recognizers = []recognizer{
	{"selfnodeclient", isSelfNodeClient, "Auto approving self kubelet client certificate after SubjectAccessReview."},
	{"nodeclient", isNodeClient, "Auto approving kubelet client certificate after SubjectAccessReview."},
}

// isNodeClient recognizes a kubelet's client certificate (isNodeClientCert).
func isNodeClient(csr *certificatesv1.CertificateSigningRequest, req *x509.CertificateRequest) bool {
	return csr.Spec.SignerName == certificatesv1.KubeAPIServerClientKubeletSignerName && capihelper.IsKubeletClientCSR(req, usages(csr))
}

// isSelfNodeClient recognizes one that the node asks for itself (isSelfNodeClientCert).
func isSelfNodeClient(csr *certificatesv1.CertificateSigningRequest, req *x509.CertificateRequest) bool {
	return csr.Spec.Username == req.Subject.CommonName && isNodeClient(csr, req)
}

func usages(csr *certificatesv1.CertificateSigningRequest) sets.String {
	out := sets.NewString()
	for _, u := range csr.Spec.Usages {
		out.Insert(string(u))
	}
	return out
}

// approve is the approving controller (sarApprover.handle).
func (c *Controller) approve(run *reconcile.Run, csr *certificatesv1.CertificateSigningRequest) error {
	if approved, denied := decision(csr); approved || denied {
		return nil
	}
	req, err := capihelper.ParseCSR(csr.Spec.Request)
	if err != nil {
		return fmt.Errorf("unable to parse csr %q: %w", csr.Name, err)
	}
	var tried []string
	for _, r := range recognizers {
		if !r.knows(csr, req) {
			continue
		}
		tried = append(tried, r.subresource)
		allowed, err := c.allowed(run, csr, r.subresource)
		if err != nil {
			return err
		}
		if !allowed {
			continue
		}
		csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "AutoApproved", Message: r.message,
		})
		run.Act("approve", client.RefOf(csr), "Approved", "Pending",
			"%s asks for a client certificate of %s, and may create certificatesigningrequests/%s: approve it", csr.Spec.Username, req.Subject.CommonName, r.subresource)
		if _, err := c.Client.Update(run.T, client.CertificateSigningRequests, "", csr, "approval"); err != nil {
			return fmt.Errorf("error updating approval for csr: %w", err)
		}
		return nil
	}
	if len(tried) > 0 {
		return fmt.Errorf("recognized csr %q as %v but subject access review was not approved", csr.Name, tried)
	}
	return nil
}

// allowed asks the API server whether the requester may have such certificates
// (authorize).
func (c *Controller) allowed(run *reconcile.Run, csr *certificatesv1.CertificateSigningRequest, subresource string) (bool, error) {
	extra := map[string]authorizationv1.ExtraValue{}
	for k, v := range csr.Spec.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	out, err := c.Client.Create(run.T, client.SubjectAccessReviews, "", &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: csr.Spec.Username, UID: csr.Spec.UID, Groups: csr.Spec.Groups, Extra: extra,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: "certificates.k8s.io", Version: "*", Resource: "certificatesigningrequests", Verb: "create", Subresource: subresource,
			},
		},
	})
	if err != nil {
		return false, err
	}
	return out.(*authorizationv1.SubjectAccessReview).Status.Allowed, nil
}
