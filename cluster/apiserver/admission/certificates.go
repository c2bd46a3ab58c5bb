package admission

import (
	"bytes"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	certificatesapi "k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/certauthorization"
	rbacregistry "k8s.io/kubernetes/pkg/registry/rbac"

	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/request"
)

// The plugins about CertificateSigningRequests (plugin/pkg/admission/certificates):
// permission to write the object's status does not include approving requests for any
// signer, or signing in the name of any. That takes the verbs approve and sign on the
// signer.

// signingRequest is the request for a signature as it is and was, where that operation
// is for that subresource of one.
func signingRequest(a *Attributes, want Operation, subresource string) (is, was *certificatesv1.CertificateSigningRequest) {
	if a.Operation != want || a.Subresource != subresource || !a.Is("CertificateSigningRequest") {
		return nil, nil
	}
	is, _ = a.Object.(*certificatesv1.CertificateSigningRequest)
	was, _ = a.OldObject.(*certificatesv1.CertificateSigningRequest)
	return is, was
}

// maySign reports whether the user may do something in the name of a signer.
func maySign(r *request.Scope, a *Attributes, by authz.Decider, verb, signer string) bool {
	return certauthorization.IsAuthorizedForSignerName(request.NewContext(r), authz.InContext{Decider: by}, a.User.Info(), verb, signer)
}

// CertificateApproval is the plugin of that name.
type CertificateApproval struct{ authorizer authz.Decider }

// NewCertificateApproval makes the plugin.
func NewCertificateApproval(by authz.Decider) *CertificateApproval { return &CertificateApproval{by} }

// Name is [Plugin].
func (*CertificateApproval) Name() string { return "CertificateApproval" }

// Validate is [Validating].
func (p *CertificateApproval) Validate(r *request.Scope, a *Attributes) (Result, error) {
	_, was := signingRequest(a, Update, "approval")
	if was == nil {
		return Result{}, nil
	}
	signer := was.Spec.SignerName // of the stored object, whatever was sent
	if !maySign(r, a, p.authorizer, "approve", signer) {
		return Result{}, a.Forbid(fmt.Errorf("user not permitted to approve requests with signerName %q", signer))
	}
	return Result{Note: a.User.Name + " may approve requests to signer " + signer + "."}, nil
}

// CertificateSigning is the plugin of that name.
type CertificateSigning struct{ authorizer authz.Decider }

// NewCertificateSigning makes the plugin.
func NewCertificateSigning(by authz.Decider) *CertificateSigning { return &CertificateSigning{by} }

// Name is [Plugin].
func (*CertificateSigning) Name() string { return "CertificateSigning" }

// Validate is [Validating]. Upstream the strategy of PodCertificateRequests has the same
// question, whose answer is 422.
func (p *CertificateSigning) Validate(r *request.Scope, a *Attributes) (Result, error) {
	if a.Is("PodCertificateRequest") {
		return p.validatePods(r, a)
	}
	is, was := signingRequest(a, Update, "status")
	if is == nil || was == nil || bytes.Equal(is.Status.Certificate, was.Status.Certificate) && apiequality.Semantic.DeepEqual(is.Status.Conditions, was.Status.Conditions) {
		return Result{}, nil
	}
	signer := was.Spec.SignerName
	if !maySign(r, a, p.authorizer, "sign", signer) {
		return Result{}, a.Forbid(fmt.Errorf("user not permitted to sign requests with signerName %q", signer))
	}
	return Result{Note: a.User.Name + " may sign as " + signer + "."}, nil
}

func (p *CertificateSigning) validatePods(r *request.Scope, a *Attributes) (Result, error) {
	is, _ := a.Object.(*certificatesv1.PodCertificateRequest)
	was, _ := a.OldObject.(*certificatesv1.PodCertificateRequest)
	if a.Operation != Update || a.Subresource != "status" || is == nil || was == nil || apiequality.Semantic.DeepEqual(is.Status, was.Status) {
		return Result{}, nil
	}
	signer := was.Spec.SignerName
	if !maySign(r, a, p.authorizer, "sign", signer) {
		return Result{}, apierrors.NewInvalid(certificatesv1.SchemeGroupVersion.WithKind("PodCertificateRequest").GroupKind(), was.Name, field.ErrorList{
			field.Forbidden(field.NewPath("spec", "signerName"), fmt.Sprintf("User %q is not permitted to \"sign\" for signer %q", a.User.Name, signer)),
		})
	}
	return Result{Note: a.User.Name + " may sign as " + signer + "."}, nil
}

// ClusterTrustBundleAttest is the plugin of that name: who says whom to trust in the name
// of a signer needs the verb attest on it.
type ClusterTrustBundleAttest struct{ authorizer authz.Decider }

// NewClusterTrustBundleAttest makes the plugin.
func NewClusterTrustBundleAttest(by authz.Decider) *ClusterTrustBundleAttest {
	return &ClusterTrustBundleAttest{by}
}

// Name is [Plugin].
func (*ClusterTrustBundleAttest) Name() string { return "ClusterTrustBundleAttest" }

// Validate is [Validating].
func (p *ClusterTrustBundleAttest) Validate(r *request.Scope, a *Attributes) (Result, error) {
	is, _ := a.Object.(*certificatesv1.ClusterTrustBundle)
	if is == nil || is.Spec.SignerName == "" || a.Operation != Create && a.Operation != Update {
		return Result{}, nil
	}
	if a.Operation == Update && rbacregistry.IsOnlyMutatingGCFields(a.Object, a.OldObject, apiequality.Semantic) {
		return Result{}, nil
	}
	if !maySign(r, a, p.authorizer, "attest", is.Spec.SignerName) {
		return Result{}, a.Forbid(fmt.Errorf("user not permitted to attest for signerName %q", is.Spec.SignerName))
	}
	return Result{Note: a.User.Name + " may attest for signer " + is.Spec.SignerName + "."}, nil
}

// CertificateSubjectRestriction is the plugin of that name: nobody becomes an
// administrator for good by having a certificate signed.
type CertificateSubjectRestriction struct{}

// Name is [Plugin].
func (CertificateSubjectRestriction) Name() string { return "CertificateSubjectRestriction" }

// Validate is [Validating].
func (CertificateSubjectRestriction) Validate(_ *request.Scope, a *Attributes) (Result, error) {
	is, _ := signingRequest(a, Create, "")
	if is == nil || is.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
		return Result{}, nil
	}
	req, err := certificatesapi.ParseCSR(is.Spec.Request)
	if err != nil {
		return Result{}, a.Forbid(fmt.Errorf("failed to parse CSR: %w", err))
	}
	if slices.Contains(req.Subject.Organization, "system:masters") {
		return Result{}, a.Forbid(fmt.Errorf("use of %s signer with system:masters group is not allowed", certificatesv1.KubeAPIServerClientSignerName))
	}
	return Result{Note: "the certificate asked for is not of system:masters."}, nil
}
