package registry

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"

	"kviz/cluster/client"
)

// otherKinds are those of groups that have one kind, or one that is served here.
var otherKinds = []*Kind{
	{
		Resource: client.CertificateSigningRequests, Singular: "certificatesigningrequest", ShortNames: []string{"csr"}, Prefix: "/registry/certificatesigningrequests/", OnDemand: true,
		Strategy: upstream(client.CertificateSigningRequests, signingRequestStrategy{Declarative}, subStrategies{
			"approval": approvalStrategy{signingRequestStrategy{Declarative}}, "status": signingRequestStatusStrategy{signingRequestStrategy{Declarative}},
		}),
		Field:        signingRequestField,
		Subresources: []Subresource{{Name: "approval", Verbs: StatusOnly}, {Name: "status", Verbs: StatusOnly}},
	},
	{
		Resource: client.NewEvents, Singular: "event", ShortNames: []string{"ev"}, Prefix: "/registry/events/", OnDemand: true, Hub: tableKind(firstKinds, client.Events), SameFields: true,
		Strategy: newEventStrategy, Field: newEventField,
	},
	{
		Resource: client.RuntimeClasses, Singular: "runtimeclass", Prefix: "/registry/runtimeclasses/", OnDemand: true,
		Strategy: upstream(client.RuntimeClasses, runtimeclass.Strategy, nil), Field: MetaField,
	},
}

// tableKind finds a kind in its table before the registry is made.
func tableKind(table []*Kind, r client.Resource) *Kind {
	for _, k := range table {
		if k.Resource == r {
			return k
		}
	}
	panic("apiserver: no kind is served as " + r.GroupVersionResource.String())
}

// newEventStrategy is of the Events of events.k8s.io: the same objects, stored as
// core Events, with stricter rules for those who write them.
var newEventStrategy = &Strategy{
	CreateOnUpdate: true,
	NoOrphans:      true,
	Validate: creation(func(e *core.Event) field.ErrorList {
		return validation.ValidateEventCreate(e, eventsGroup)
	}),
	ValidateUpdate: updating(func(e, old *core.Event) field.ErrorList {
		return validation.ValidateEventUpdate(e, old, eventsGroup)
	}),
}

var eventsGroup = schema.GroupVersion{Group: "events.k8s.io", Version: "v1"}

// newEventField selects by the names that core Events have: the field labels are
// converted to them.
func newEventField(obj runtime.Object, name string) (string, bool) {
	e := obj.(*eventsv1.Event)
	switch name {
	case "involvedObject.kind":
		return e.Regarding.Kind, true
	case "involvedObject.namespace":
		return e.Regarding.Namespace, true
	case "involvedObject.name":
		return e.Regarding.Name, true
	case "involvedObject.uid":
		return string(e.Regarding.UID), true
	case "involvedObject.apiVersion":
		return e.Regarding.APIVersion, true
	case "involvedObject.resourceVersion":
		return e.Regarding.ResourceVersion, true
	case "involvedObject.fieldPath":
		return e.Regarding.FieldPath, true
	case "reason":
		return e.Reason, true
	case "reportingComponent":
		return e.ReportingController, true
	case "type":
		return e.Type, true
	}
	return MetaField(obj, name)
}

func signingRequestField(obj runtime.Object, name string) (string, bool) {
	if name == "spec.signerName" {
		return obj.(*certificatesv1.CertificateSigningRequest).Spec.SignerName, true
	}
	return MetaField(obj, name)
}
