package apiserver

import (
	"context"
	"crypto/tls"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	serviceutil "k8s.io/kubernetes/pkg/api/service"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"

	"kviz/cluster/apiserver/object"
)

var configMapStrategy = &strategy{
	validate:       creation(validation.ValidateConfigMap),
	validateUpdate: updating(validation.ValidateConfigMapUpdate),
}

var eventStrategy = &strategy{
	createOnUpdate: true,
	noOrphans:      true,
	validate: creation(func(e *core.Event) field.ErrorList {
		return validation.ValidateEventCreate(e, schema.GroupVersion{Version: "v1"})
	}),
	validateUpdate: updating(func(e, old *core.Event) field.ErrorList {
		return validation.ValidateEventUpdate(e, old, schema.GroupVersion{Version: "v1"})
	}),
}

var secretStrategy = &strategy{
	prepare: prepare(func(_ *Write, s, old *corev1.Secret) {
		if old != nil && s.Type == "" {
			s.Type = old.Type
		}
	}),
	validate:       creation(validation.ValidateSecret),
	validateUpdate: updating(validation.ValidateSecretUpdate),
	warn: func(obj, _ runtime.Object) []string {
		s := obj.(*corev1.Secret)
		if s.Type == corev1.SecretTypeTLS {
			if _, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey]); err != nil {
				return []string{err.Error()}
			}
		}
		return nil
	},
}

var serviceAccountStrategy = &strategy{
	prepare: prepare(func(_ *Write, sa, _ *corev1.ServiceAccount) {
		for i := range sa.Secrets {
			sa.Secrets[i] = corev1.ObjectReference{Name: sa.Secrets[i].Name}
		}
	}),
	validate:       creation(validation.ValidateServiceAccount),
	validateUpdate: updating(validation.ValidateServiceAccountUpdate),
	warn: func(obj, old runtime.Object) []string {
		const key = "kubernetes.io/enforce-mountable-secrets"
		if old != nil {
			if _, ok := object.Meta(old).GetAnnotations()[key]; ok {
				return nil
			}
		}
		if _, ok := object.Meta(obj).GetAnnotations()[key]; ok {
			return []string{"metadata.annotations[" + key + "]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"}
		}
		return nil
	},
}

var namespaceStrategy = &strategy{
	prepare: prepare(func(_ *Write, ns, old *corev1.Namespace) {
		if old != nil {
			ns.Spec.Finalizers, ns.Status = old.Spec.Finalizers, old.Status
			return
		}
		ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
		if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
			ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
		}
	}),
	subPrepare: preparers{
		"status":   prepare(func(_ *Write, ns, old *corev1.Namespace) { ns.Spec = old.Spec }),
		"finalize": prepare(func(_ *Write, ns, old *corev1.Namespace) { ns.Status = old.Status }),
	},
	validate: creation(validation.ValidateNamespace),
	validateUpdate: updating(func(ns, old *core.Namespace) field.ErrorList {
		return append(validation.ValidateNamespace(ns), validation.ValidateNamespaceUpdate(ns, old)...)
	}),
	subValidate: validators{
		"status":   updating(validation.ValidateNamespaceStatusUpdate),
		"finalize": updating(validation.ValidateNamespaceFinalizeUpdate),
	},
	canonicalize: func(obj runtime.Object) {
		ns := obj.(*corev1.Namespace)
		if ns.Labels == nil {
			ns.Labels = map[string]string{}
		}
		ns.Labels[corev1.LabelMetadataName] = ns.Name
	},
}

var nodeStrategy = &strategy{
	prepare: prepare(func(_ *Write, n, old *corev1.Node) {
		n.Spec.ConfigSource = nil
		if old != nil {
			n.Status = old.Status
			return
		}
		n.Status.Config = nil
	}),
	subPrepare: preparers{"status": prepare(func(_ *Write, n, old *corev1.Node) { n.Spec = old.Spec })},
	validate:   creation(validation.ValidateNode),
	validateUpdate: updating(func(n, old *core.Node) field.ErrorList {
		return append(validation.ValidateNode(n), validation.ValidateNodeUpdate(n, old)...)
	}),
	subValidate: validators{"status": updating(validation.ValidateNodeUpdate)},
	warn: func(obj, _ runtime.Object) (w []string) {
		n := obj.(*corev1.Node)
		if n.Spec.ConfigSource != nil {
			w = append(w, "spec.configSource: the feature is removed")
		}
		if n.Spec.DoNotUseExternalID != "" {
			w = append(w, "spec.externalID: this field is deprecated, and is unused by Kubernetes")
		}
		for i, cidr := range n.Spec.PodCIDRs {
			w = append(w, utilvalidation.GetWarningsForCIDR(field.NewPath("spec", "podCIDRs").Index(i), cidr)...)
		}
		return w
	},
}

var serviceStrategy = &strategy{
	createOnUpdate: true,
	prepare: prepare(func(_ *Write, svc, old *corev1.Service) {
		if old == nil {
			svc.Status = corev1.ServiceStatus{}
			return
		}
		svc.Status = old.Status
		dropTypeDependentFields(svc, old)
		keepAllocated(svc, old)
	}),
	subPrepare:     preparers{"status": prepare(func(_ *Write, svc, old *corev1.Service) { svc.Spec = old.Spec })},
	validate:       creation(validation.ValidateServiceCreate),
	validateUpdate: updating(validation.ValidateServiceUpdate),
	subValidate:    validators{"status": updating(validation.ValidateServiceStatusUpdate)},
	canonicalize: func(obj runtime.Object) {
		// Upstream hides it whenever such a Service is read (storage.go defaultOnReadInternalTrafficPolicy).
		if svc := obj.(*corev1.Service); svc.Spec.Type == corev1.ServiceTypeExternalName {
			svc.Spec.InternalTrafficPolicy = nil
		}
	},
	warn: func(obj, old runtime.Object) []string {
		if old == nil {
			return serviceutil.GetWarningsForService(internal[core.Service](obj), nil)
		}
		return serviceutil.GetWarningsForService(internal[core.Service](obj), internal[core.Service](old))
	},
}

var background = context.Background()
