package admission

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// Chain is the row of plugins, in the order of pkg/kubeapiserver/options/plugins.go
// AllOrderedPlugins: first those that may change the object, then those that only
// look. ResourceQuota is the last of all: what it charges would have to be given back
// if one after it refused.
type Chain struct {
	Mutating   []Mutating
	Dynamic    []Dynamic // MutatingAdmissionPolicy, MutatingAdmissionWebhook
	Validating []Validating
}

// Dynamic is a mutating plugin that is configured by objects of the cluster. It comes
// after all others, and is called again where one of its kind has changed something.
type Dynamic interface {
	// Concerns reports whether the request may be any of its business; if it is
	// nobody's, it costs this look.
	Concerns(a *Attributes) bool
	// Mutate changes the object of attrs, which are a as the outside knows it, in place.
	Mutate(ctx context.Context, r *request.Scope, attrs admission.Attributes, o admission.ObjectInterfaces) error
}

// Admit has all mutating plugins change the object. by are those that did; where one
// refuses, it is that one.
func (ch *Chain) Admit(r *request.Scope, a *Attributes) (all Result, by string, err error) {
	for _, p := range ch.Mutating {
		did, err := p.Admit(r, a)
		if err != nil {
			return all, p.Name(), err
		}
		if did.Note == "" {
			continue
		}
		by, all.Note = join(by, ", ", p.Name()), join(all.Note, " ", p.Name()+": "+did.Note)
		if all.Diff == nil {
			all.Diff = did.Diff
		} else {
			all.Diff = append(all.Diff, did.Diff...)
		}
	}
	return all, by, nil
}

// AdmitDynamic is the end of mutating admission: policies, then webhooks. Where one of
// them changed the object, the whole row of plugins runs once more, in which only those
// are asked again that wish so (apiserver pkg/admission/reinvocation.go). by is the
// plugin that refuses, where the error does not say.
func (ch *Chain) AdmitDynamic(r *request.Scope, a *Attributes) (by string, err error) {
	if !slices.ContainsFunc(ch.Dynamic, func(d Dynamic) bool { return d.Concerns(a) }) {
		return "", nil
	}
	ctx, attrs := request.NewContext(r), a.Outside(r)
	err = ch.round(ctx, r, a, attrs)
	if re := attrs.GetReinvocationContext(); err == nil && re.ShouldReinvoke() {
		re.SetIsReinvoke()
		if by, err := ch.admitAgain(r, a); err != nil {
			return by, err
		}
		err = ch.round(ctx, r, a, attrs)
	}
	return "", err
}

func (ch *Chain) round(ctx context.Context, r *request.Scope, a *Attributes, attrs admission.Attributes) error {
	for _, d := range ch.Dynamic {
		if err := d.Mutate(ctx, r, attrs, a.Objects); err != nil {
			return err
		}
	}
	return nil
}

// admitAgain calls the mutating plugins with the object as webhooks and policies have
// left it, and records each that changes it once more (apiserver
// pkg/admission/reinvocation.go). by is the one that refuses.
func (ch *Chain) admitAgain(r *request.Scope, a *Attributes) (by string, err error) {
	if a.Operation == Connect { // none of them asks about connections
		return "", nil
	}
	for _, p := range ch.Mutating {
		var was runtime.Object
		if a.Object != nil {
			was = a.Object.DeepCopyObject()
		}
		did, err := p.Admit(r, a)
		if err != nil {
			return p.Name(), err
		}
		if was == nil || did.Note == "" {
			continue
		}
		if diff := object.Diff(was, a.Object); len(diff) > 0 {
			r.Pass(trace.StageMutatingAdmission, p.Name(), "Asked again, it "+did.Note, diff)
		}
	}
	return "", nil
}

// Validate asks all validating plugins. by are those that have something to say; where
// one refuses, it is that one.
func (ch *Chain) Validate(r *request.Scope, a *Attributes) (all Result, by string, err error) {
	for _, p := range ch.Validating {
		if _, too := p.(Connecting); a.Operation == Connect && !too {
			continue
		}
		did, err := p.Validate(r, a)
		all.Warnings = append(all.Warnings, did.Warnings...)
		if err != nil {
			return all, p.Name(), err
		}
		if did.Note != "" {
			by, all.Note = join(by, ", ", p.Name()), join(all.Note, " ", p.Name()+": "+did.Note)
		}
	}
	return all, by, nil
}

func join(a, sep, b string) string {
	if a == "" {
		return b
	}
	return a + sep + b
}
