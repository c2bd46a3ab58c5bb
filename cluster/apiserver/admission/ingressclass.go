package admission

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// DefaultIngressClass is the plugin of that name
// (plugin/pkg/admission/network/defaultingressclass): an Ingress that names no class
// gets the default one, the newest if there are several.
type DefaultIngressClass struct{ lister Lister }

// NewDefaultIngressClass makes the plugin.
func NewDefaultIngressClass(l Lister) *DefaultIngressClass { return &DefaultIngressClass{l} }

// Name is [Plugin].
func (*DefaultIngressClass) Name() string { return "DefaultIngressClass" }

// Admit is [Mutating].
func (p *DefaultIngressClass) Admit(r *request.Scope, a *Attributes) (Result, error) {
	ingress, ok := a.Object.(*networkingv1.Ingress)
	if !ok || a.Operation != Create || a.Subresource != "" {
		return Result{}, nil
	}
	if _, beta := ingress.Annotations[networkingv1beta1.AnnotationIngressClass]; beta || ingress.Spec.IngressClassName != nil {
		return Result{}, nil
	}
	all, err := newest[*networkingv1.IngressClass](r, a, p.lister, client.IngressClasses, "")
	if err != nil {
		return Result{}, err
	}
	defaults := slices.DeleteFunc(all, func(class *networkingv1.IngressClass) bool {
		return class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] != "true"
	})
	if len(defaults) == 0 {
		return Result{}, nil
	}
	name := slices.MinFunc(defaults, func(x, y *networkingv1.IngressClass) int {
		return cmp.Or(y.CreationTimestamp.Compare(x.CreationTimestamp.Time), strings.Compare(x.Name, y.Name))
	}).Name
	ingress.Spec.IngressClassName = &name
	return Result{
		Note: "the Ingress names no IngressClass and gets the default one, " + name + ".",
		Diff: []trace.FieldDiff{{Path: "spec.ingressClassName", To: strconv.Quote(name)}},
	}, nil
}
