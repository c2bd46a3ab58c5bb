package registry

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	coordinationvalidation "k8s.io/kubernetes/pkg/apis/coordination/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	discoveryvalidation "k8s.io/kubernetes/pkg/apis/discovery/validation"
	"k8s.io/kubernetes/pkg/apis/rbac"
	rbacvalidation "k8s.io/kubernetes/pkg/apis/rbac/validation"
	schedulingvalidation "k8s.io/kubernetes/pkg/apis/scheduling/validation"

	"kviz/cluster/apiserver/object"
)

var deploymentStrategy = &Strategy{
	Prepare: prepare(func(_ *Write, d, old *appsv1.Deployment) {
		if old == nil {
			d.Status, d.Generation = appsv1.DeploymentStatus{}, 1
			return
		}
		d.Status = old.Status
		if !object.Equal(d.Spec, old.Spec) || !object.Equal(d.Annotations, old.Annotations) {
			d.Generation = old.Generation + 1
		}
	}),
	SubPrepare: Preparers{"status": prepare(func(_ *Write, d, old *appsv1.Deployment) {
		d.Spec, d.Labels = old.Spec, old.Labels
	})},
	Validate: creation(func(d *apps.Deployment) field.ErrorList {
		return appsvalidation.ValidateDeployment(d, podutil.GetValidationOptionsFromPodTemplate(&d.Spec.Template, nil))
	}),
	ValidateUpdate: updating(func(d, old *apps.Deployment) field.ErrorList {
		return appsvalidation.ValidateDeploymentUpdate(d, old, podutil.GetValidationOptionsFromPodTemplate(&d.Spec.Template, &old.Spec.Template))
	}),
	SubValidate: Validators{"status": updating(appsvalidation.ValidateDeploymentStatusUpdate)},
	Warn: func(obj, old runtime.Object) []string {
		d := Internal[apps.Deployment](obj)
		if old == nil {
			return templateWarnings(d.Name, &d.Spec.Template, nil)
		}
		if o := Internal[apps.Deployment](old); o.Generation != d.Generation {
			return templateWarnings("", &d.Spec.Template, &o.Spec.Template)
		}
		return nil
	},
}

var replicaSetStrategy = &Strategy{
	Prepare: prepare(func(_ *Write, rs, old *appsv1.ReplicaSet) {
		if old == nil {
			rs.Status, rs.Generation = appsv1.ReplicaSetStatus{}, 1
			return
		}
		rs.Status = old.Status
		if !object.Equal(rs.Spec, old.Spec) {
			rs.Generation = old.Generation + 1
		}
	}),
	SubPrepare: Preparers{"status": prepare(func(_ *Write, rs, old *appsv1.ReplicaSet) { rs.Spec = old.Spec })},
	Validate: creation(func(rs *apps.ReplicaSet) field.ErrorList {
		return appsvalidation.ValidateReplicaSet(rs, podutil.GetValidationOptionsFromPodTemplate(&rs.Spec.Template, nil))
	}),
	ValidateUpdate: updating(func(rs, old *apps.ReplicaSet) field.ErrorList {
		return appsvalidation.ValidateReplicaSetUpdate(rs, old, podutil.GetValidationOptionsFromPodTemplate(&rs.Spec.Template, &old.Spec.Template))
	}),
	SubValidate: Validators{"status": updating(appsvalidation.ValidateReplicaSetStatusUpdate)},
	Warn: func(obj, old runtime.Object) []string {
		rs := Internal[apps.ReplicaSet](obj)
		if old == nil {
			return templateWarnings(rs.Name, &rs.Spec.Template, nil)
		}
		if o := Internal[apps.ReplicaSet](old); o.Generation != rs.Generation {
			return templateWarnings("", &rs.Spec.Template, &o.Spec.Template)
		}
		return nil
	},
}

func templateWarnings(name string, t, old *core.PodTemplateSpec) []string {
	var w []string
	if name != "" {
		if msgs := utilvalidation.IsDNS1123Label(name); len(msgs) != 0 {
			w = append(w, fmt.Sprintf("metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: %v", msgs))
		}
	}
	return append(w, podutil.GetWarningsForPodTemplate(context.Background(), field.NewPath("spec", "template"), t, old)...)
}

var leaseStrategy = &Strategy{
	CreateOnUpdate: true,
	Conditional:    true,
	Prepare: prepare(func(_ *Write, l, old *coordinationv1.Lease) {
		if old == nil || old.Spec.Strategy == nil {
			l.Spec.Strategy = nil
		}
		if old == nil || old.Spec.PreferredHolder == nil {
			l.Spec.PreferredHolder = nil
		}
	}),
	Validate:       creation(coordinationvalidation.ValidateLease),
	ValidateUpdate: updating(coordinationvalidation.ValidateLeaseUpdate),
}

var endpointSliceStrategy = &Strategy{
	Prepare: prepare(func(_ *Write, s, old *discoveryv1.EndpointSlice) {
		for i := range s.Endpoints {
			s.Endpoints[i].DeprecatedTopology = nil
		}
		if old == nil {
			s.Generation = 1
			return
		}
		if !object.Equal(s.Endpoints, old.Endpoints) || !object.Equal(s.Ports, old.Ports) || s.AddressType != old.AddressType || !object.Equal(s.Labels, old.Labels) {
			s.Generation = old.Generation + 1
		}
	}),
	Validate:       creation(discoveryvalidation.ValidateEndpointSliceCreate),
	ValidateUpdate: updating(discoveryvalidation.ValidateEndpointSliceUpdate),
}

var priorityClassStrategy = &Strategy{
	Prepare: prepare(func(_ *Write, pc, old *schedulingv1.PriorityClass) {
		if old == nil {
			pc.Generation = 1
		}
	}),
	Validate:       creation(schedulingvalidation.ValidatePriorityClass),
	ValidateUpdate: updating(schedulingvalidation.ValidatePriorityClassUpdate),
}

var clusterRoleStrategy = &Strategy{
	CreateOnUpdate: true,
	Validate: creation(func(r *rbac.ClusterRole) field.ErrorList {
		return rbacvalidation.ValidateClusterRole(r, rbacvalidation.ClusterRoleValidationOptions{})
	}),
	ValidateUpdate: updating(func(r, old *rbac.ClusterRole) field.ErrorList {
		return rbacvalidation.ValidateClusterRoleUpdate(r, old, rbacvalidation.ClusterRoleValidationOptions{AllowInvalidLabelValueInSelector: invalidAggregation(old)})
	}),
}

func invalidAggregation(r *rbac.ClusterRole) bool {
	if r.AggregationRule == nil {
		return false
	}
	for i := range r.AggregationRule.ClusterRoleSelectors {
		sel := metav1.LabelSelector(r.AggregationRule.ClusterRoleSelectors[i])
		if len(metav1validation.ValidateLabelSelector(&sel, metav1validation.LabelSelectorValidationOptions{}, nil)) > 0 {
			return true
		}
	}
	return false
}

var (
	roleStrategy = &Strategy{
		CreateOnUpdate: true,
		Validate:       creation(rbacvalidation.ValidateRole), ValidateUpdate: updating(rbacvalidation.ValidateRoleUpdate),
	}
	roleBindingStrategy = &Strategy{
		CreateOnUpdate: true,
		Validate:       creation(rbacvalidation.ValidateRoleBinding), ValidateUpdate: updating(rbacvalidation.ValidateRoleBindingUpdate),
	}
	clusterRoleBindingStrategy = &Strategy{
		CreateOnUpdate: true,
		Validate:       creation(rbacvalidation.ValidateClusterRoleBinding), ValidateUpdate: updating(rbacvalidation.ValidateClusterRoleBindingUpdate),
	}
)
