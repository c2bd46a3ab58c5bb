package apiserver

import (
	"bytes"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	certificatesapi "k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/certauthorization"

	"kviz/cluster/trace"
)

// The plugins about CertificateSigningRequests (plugin/pkg/admission/certificates):
// that somebody may write the object's status does not mean that he may approve
// requests for any signer, or sign in the name of any. For that he needs the verbs
// approve and sign on the signer.

// signingRequest is the request as it was, where the call is for that subresource of
// one.
func signingRequest(c *call, op operation, want operation, subresource string) (is, was *certificatesv1.CertificateSigningRequest) {
	if op != want || c.req.Subresource != subresource || !c.kind.Is("CertificateSigningRequest") {
		return nil, nil
	}
	is, _ = c.obj.(*certificatesv1.CertificateSigningRequest)
	was, _ = c.old.(*certificatesv1.CertificateSigningRequest)
	return is, was
}

// maySigner reports whether the user may do something in the name of a signer.
func (c *call) maySigner(verb, signer string) bool {
	return certauthorization.IsAuthorizedForSignerName(c.admissionContext(), askAuthorizer{c.s}, infoOf(&c.user), verb, signer)
}

// checkApproval is the CertificateApproval plugin.
func checkApproval(c *call, op operation) (string, []trace.FieldDiff, error) {
	_, was := signingRequest(c, op, opUpdate, "approval")
	if was == nil {
		return "", nil, nil
	}
	signer := was.Spec.SignerName // of the stored object, whatever was sent
	if !c.maySigner("approve", signer) {
		return "", nil, c.forbid(fmt.Errorf("user not permitted to approve requests with signerName %q", signer))
	}
	return c.user.Name + " may approve requests to signer " + signer + ".", nil, nil
}

// checkSigning is the CertificateSigning plugin.
func checkSigning(c *call, op operation) (string, []trace.FieldDiff, error) {
	is, was := signingRequest(c, op, opUpdate, "status")
	if is == nil || was == nil || bytes.Equal(is.Status.Certificate, was.Status.Certificate) && apiequality.Semantic.DeepEqual(is.Status.Conditions, was.Status.Conditions) {
		return "", nil, nil
	}
	signer := was.Spec.SignerName
	if !c.maySigner("sign", signer) {
		return "", nil, c.forbid(fmt.Errorf("user not permitted to sign requests with signerName %q", signer))
	}
	return c.user.Name + " may sign as " + signer + ".", nil, nil
}

// checkSubject is the CertificateSubjectRestriction plugin: nobody becomes an
// administrator for ever by way of a signature.
func checkSubject(c *call, op operation) (string, []trace.FieldDiff, error) {
	is, _ := signingRequest(c, op, opCreate, "")
	if is == nil || is.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
		return "", nil, nil
	}
	req, err := certificatesapi.ParseCSR(is.Spec.Request)
	if err != nil {
		return "", nil, c.forbid(fmt.Errorf("failed to parse CSR: %w", err))
	}
	if slices.Contains(req.Subject.Organization, "system:masters") {
		return "", nil, c.forbid(fmt.Errorf("use of %s signer with system:masters group is not allowed", certificatesv1.KubeAPIServerClientSignerName))
	}
	return "the certificate asked for is not of system:masters.", nil, nil
}
