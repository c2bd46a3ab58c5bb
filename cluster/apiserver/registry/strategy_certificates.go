package registry

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	apicertificates "k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/apis/certificates/validation"

	"kviz/cluster/bound"
)

const certificatesV1 = "certificates.k8s.io/v1"

// signingRequestStrategy mirrors
// pkg/registry/certificates/certificates/strategy.go, which takes the time from
// the machine's clock. Who asks is noted in the spec, whatever the writer says.
type signingRequestStrategy struct{ plain }

func (signingRequestStrategy) NamespaceScoped() bool { return false }

func (signingRequestStrategy) GetResetFields() resetFieldSets {
	return resets(certificatesV1, []any{"spec"}, []any{"status"})
}

func (signingRequestStrategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	csr := obj.(*apicertificates.CertificateSigningRequest)
	csr.Spec.Username, csr.Spec.UID, csr.Spec.Groups, csr.Spec.Extra = "", "", nil, nil
	if u, ok := genericapirequest.UserFrom(ctx); ok {
		csr.Spec.Username, csr.Spec.UID, csr.Spec.Groups = u.GetName(), u.GetUID(), u.GetGroups()
		for k, v := range u.GetExtra() {
			if csr.Spec.Extra == nil {
				csr.Spec.Extra = map[string]apicertificates.ExtraValue{}
			}
			csr.Spec.Extra[k] = v
		}
	}
	csr.Status = apicertificates.CertificateSigningRequestStatus{Conditions: []apicertificates.CertificateSigningRequestCondition{}}
}

func (signingRequestStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	csr, was := obj.(*apicertificates.CertificateSigningRequest), old.(*apicertificates.CertificateSigningRequest)
	csr.Spec, csr.Status = was.Spec, was.Status
}

func (signingRequestStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	csr := obj.(*apicertificates.CertificateSigningRequest)
	if errs := boundedKey(csr); errs != nil {
		return errs
	}
	return validation.ValidateCertificateSigningRequestCreate(csr)
}

func (signingRequestStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	csr := obj.(*apicertificates.CertificateSigningRequest)
	if errs := boundedKey(csr); errs != nil {
		return errs
	}
	return validation.ValidateCertificateSigningRequestUpdate(csr, old.(*apicertificates.CertificateSigningRequest))
}

// boundedKey refuses a key whose signature takes minutes to check, as one whose signature is
// wrong.
func boundedKey(csr *apicertificates.CertificateSigningRequest) field.ErrorList {
	req, err := apicertificates.ParseCSR(csr.Spec.Request)
	if err != nil {
		return nil // validation says so
	}
	if err := bound.Key(req.PublicKey); err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "request"), csr.Spec.Request, err.Error())}
	}
	return nil
}

// signingRequestStatusStrategy lets the signer set the certificate and its
// failure, but not approve.
type signingRequestStatusStrategy struct{ signingRequestStrategy }

func (signingRequestStatusStrategy) GetResetFields() resetFieldSets {
	return resets(certificatesV1, []any{"spec"}, []any{"status", "conditions"})
}

func (signingRequestStatusStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	csr, was := obj.(*apicertificates.CertificateSigningRequest), old.(*apicertificates.CertificateSigningRequest)
	csr.Spec = was.Spec
	keepConditions(csr, was, apicertificates.CertificateApproved)
	keepConditions(csr, was, apicertificates.CertificateDenied)
	stampConditions(csr, was, nowOf(ctx))
}

// keepConditions keeps the conditions of a type as they were, unless some were
// added or removed: then validation refuses it (preserveConditionInstances).
func keepConditions(csr, was *apicertificates.CertificateSigningRequest, kind apicertificates.RequestConditionType) {
	indices := func(c *apicertificates.CertificateSigningRequest) (out []int) {
		for i := range c.Status.Conditions {
			if c.Status.Conditions[i].Type == kind {
				out = append(out, i)
			}
		}
		return out
	}
	from, to := indices(was), indices(csr)
	if len(from) != len(to) {
		return
	}
	for i := range from {
		csr.Status.Conditions[to[i]] = was.Status.Conditions[from[i]]
	}
}

// stampConditions gives new conditions their times (populateConditionTimestamps).
// kubectl certificate says when by the machine's clock; a time that is yet to come is
// taken for now, or the cleaner would wait for it.
func stampConditions(csr, was *apicertificates.CertificateSigningRequest, now metav1.Time) {
	for i := range csr.Status.Conditions {
		c := &csr.Status.Conditions[i]
		if c.LastUpdateTime.IsZero() || c.LastUpdateTime.After(now.Time) {
			c.LastUpdateTime = now
		}
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = now
		for _, o := range was.Status.Conditions {
			if o.Type == c.Type && o.Status == c.Status && !o.LastTransitionTime.IsZero() {
				c.LastTransitionTime = o.LastTransitionTime
				break
			}
		}
	}
}

func (signingRequestStatusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	csr := obj.(*apicertificates.CertificateSigningRequest)
	if errs := boundedKey(csr); errs != nil {
		return errs
	}
	return validation.ValidateCertificateSigningRequestStatusUpdate(csr, old.(*apicertificates.CertificateSigningRequest))
}

// approvalStrategy lets the conditions through and nothing else: kubectl
// certificate approve and deny.
type approvalStrategy struct{ signingRequestStrategy }

func (approvalStrategy) GetResetFields() resetFieldSets {
	return resets(certificatesV1, []any{"spec"}, []any{"status", "certificate"})
}

func (approvalStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	csr, was := obj.(*apicertificates.CertificateSigningRequest), old.(*apicertificates.CertificateSigningRequest)
	stampConditions(csr, was, nowOf(ctx))
	conditions := csr.Status.Conditions
	csr.Spec, csr.Status = was.Spec, was.Status
	csr.Status.Conditions = conditions
}

func (approvalStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	csr := obj.(*apicertificates.CertificateSigningRequest)
	if errs := boundedKey(csr); errs != nil {
		return errs
	}
	return validation.ValidateCertificateSigningRequestApprovalUpdate(csr, old.(*apicertificates.CertificateSigningRequest))
}

// podCertificateStrategy mirrors
// pkg/registry/certificates/podcertificaterequest/strategy.go, which reads the machine's
// clock. That who answers may sign for the signer is the plugin CertificateSigning's here.
type podCertificateStrategy struct{ plain }

func (podCertificateStrategy) AllowUnconditionalUpdate(context.Context) bool { return false }

func (podCertificateStrategy) DeclarativeValidationConfig(context.Context, runtime.Object, runtime.Object) rest.DeclarativeValidationConfig {
	return rest.DeclarativeValidationConfig{}
}

func (podCertificateStrategy) GetResetFields() resetFieldSets {
	return resets(certificatesV1, []any{"status"})
}

func (podCertificateStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	obj.(*apicertificates.PodCertificateRequest).Status = apicertificates.PodCertificateRequestStatus{}
}

func (podCertificateStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	obj.(*apicertificates.PodCertificateRequest).Status = old.(*apicertificates.PodCertificateRequest).Status
}

func (podCertificateStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validation.ValidatePodCertificateRequestCreate(obj.(*apicertificates.PodCertificateRequest))
}

func (podCertificateStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidatePodCertificateRequestUpdate(obj.(*apicertificates.PodCertificateRequest), old.(*apicertificates.PodCertificateRequest))
}

type podCertificateStatusStrategy struct{ podCertificateStrategy }

func (podCertificateStatusStrategy) GetResetFields() resetFieldSets {
	return resets(certificatesV1, []any{"metadata"}, []any{"spec"})
}

func (podCertificateStatusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	r, was := obj.(*apicertificates.PodCertificateRequest), old.(*apicertificates.PodCertificateRequest)
	r.Spec = was.Spec
	metav1.ResetObjectMetaForStatus(&r.ObjectMeta, &was.ObjectMeta)
}

func (podCertificateStatusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	r, was := obj.(*apicertificates.PodCertificateRequest), old.(*apicertificates.PodCertificateRequest)
	return validation.ValidatePodCertificateRequestStatusUpdate(r, was, moment(answered(r)))
}

// answered is when the signer says that it answered, which stands in for now: a
// certificate must begin near that.
func answered(r *apicertificates.PodCertificateRequest) time.Time {
	at := r.CreationTimestamp.Time
	for _, c := range r.Status.Conditions {
		if c.LastTransitionTime.After(at) {
			at = c.LastTransitionTime.Time
		}
	}
	return at
}

// moment is a clock that stands.
type moment time.Time

// Now and Since are clock.PassiveClock of k8s.io/utils.
func (m moment) Now() time.Time { return time.Time(m) }

func (m moment) Since(t time.Time) time.Duration { return time.Time(m).Sub(t) }
