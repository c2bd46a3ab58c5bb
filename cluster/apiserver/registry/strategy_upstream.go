package registry

import (
	"context"
	"fmt"
	"reflect"

	apioperation "k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kviz/cluster/client"
)

// Kinds that are written rarely take Kubernetes' own strategies as they are:
// pkg/registry/<group>/<kind>/strategy.go. What is here stands between them and
// this server, whose objects are of the served version: theirs are internal.

// creator is what this server needs of a rest.RESTCreateStrategy.
type creator interface {
	updater
	PrepareForCreate(ctx context.Context, obj runtime.Object)
	Validate(ctx context.Context, obj runtime.Object) field.ErrorList
	WarningsOnCreate(ctx context.Context, obj runtime.Object) []string
}

// updater is what this server needs of a rest.RESTUpdateStrategy.
type updater interface {
	AllowCreateOnUpdate(ctx context.Context) bool
	AllowUnconditionalUpdate(ctx context.Context) bool
	PrepareForUpdate(ctx context.Context, obj, old runtime.Object)
	ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
	WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string
}

// subStrategies are the strategies of subresources.
type subStrategies map[string]updater

// upstream makes a strategy of one of Kubernetes' own for a resource.
func upstream(r client.Resource, main creator, subs subStrategies) *Strategy {
	v := Versioned{r, ""}
	plainly := v.Context(nil)
	st := &Strategy{
		throughInternal: true,
		CreateOnUpdate:  main.AllowCreateOnUpdate(plainly),
		Conditional:     !main.AllowUnconditionalUpdate(plainly),
		Resets:          map[string]resetFieldSets{"": resetsOf(main)},
		SubPrepare:      Preparers{}, SubValidate: Validators{}, SubDeclare: declarers{}, SubWarn: warners{},
	}
	if gc, ok := main.(rest.GarbageCollectionDeleteStrategy); ok {
		policy := gc.DefaultGarbageCollectionPolicy(plainly)
		st.NoOrphans, st.Orphans = policy == rest.Unsupported, policy == rest.OrphanDependents
	}
	update := v.prepareUpdate(main)
	st.Prepare = func(w *Write, obj, old runtime.Object) {
		if old != nil {
			update(w, obj, old)
			return
		}
		in := v.Internal(obj)
		main.PrepareForCreate(v.Context(w), in)
		v.Back(in, obj)
	}
	st.Validate = func(obj runtime.Object) field.ErrorList {
		return main.Validate(plainly, v.Internal(obj))
	}
	st.ValidateUpdate, st.Declare, st.Warn = v.validateUpdate(main), v.Declare(main), v.warn(main)
	for name, sub := range subs {
		v := Versioned{r, name}
		st.SubPrepare[name], st.SubValidate[name], st.SubDeclare[name], st.SubWarn[name] = v.prepareUpdate(sub), v.validateUpdate(sub), v.Declare(sub), v.warn(sub)
		st.Resets[name] = resetsOf(sub)
	}
	return st
}

type resetFieldSets = map[fieldpath.APIVersion]*fieldpath.Set

func resetsOf(s any) resetFieldSets {
	if r, ok := s.(rest.ResetFieldsStrategy); ok {
		return r.GetResetFields()
	}
	return nil
}

// Versioned is the version, and the subresource, in which objects come.
type Versioned struct {
	client.Resource
	Subresource string
}

func (v Versioned) prepareUpdate(s updater) func(w *Write, obj, old runtime.Object) {
	return func(w *Write, obj, old runtime.Object) {
		in := v.Internal(obj)
		s.PrepareForUpdate(v.Context(w), in, v.Internal(old.DeepCopyObject())) // some bring the old object into line too
		v.Back(in, obj)
	}
}

func (v Versioned) validateUpdate(s updater) func(obj, old runtime.Object) field.ErrorList {
	return func(obj, old runtime.Object) field.ErrorList {
		return s.ValidateUpdate(v.Context(nil), v.Internal(obj), v.Internal(old))
	}
}

func (v Versioned) warn(s updater) func(obj, old runtime.Object) []string {
	return func(obj, old runtime.Object) []string {
		if old != nil {
			return s.WarningsOnUpdate(v.Context(nil), v.Internal(obj), v.Internal(old))
		}
		return s.(creator).WarningsOnCreate(v.Context(nil), v.Internal(obj))
	}
}

// Declare adds what the tags of the types find (+k8s:validation, rest.ValidateCreate).
func (v Versioned) Declare(s any) func(obj, old runtime.Object, errs field.ErrorList) field.ErrorList {
	return func(obj, old runtime.Object, errs field.ErrorList) field.ErrorList {
		d, ok := s.(rest.DeclarativeValidationStrategy)
		if !ok {
			return errs
		}
		ctx, op := v.Context(nil), apioperation.Create
		var was runtime.Object
		if old != nil {
			op, was = apioperation.Update, v.Internal(old)
		}
		in := v.Internal(obj)
		return d.ValidateDeclaratively(ctx, in, was, errs, op, d.DeclarativeValidationConfig(ctx, in, was))
	}
}

func (v Versioned) Internal(obj runtime.Object) runtime.Object {
	in, err := Scheme.ConvertToVersion(obj, schema.GroupVersion{Group: v.Group, Version: runtime.APIVersionInternal})
	if err != nil {
		panic(fmt.Sprintf("apiserver: converting %T: %v", obj, err))
	}
	return in
}

// Back makes obj what its internal form has become.
func (v Versioned) Back(in, obj runtime.Object) {
	out := NewObject(v.GVK())
	if err := Scheme.Convert(in, out, nil); err != nil {
		panic(fmt.Sprintf("apiserver: converting %T to %T: %v", in, out, err))
	}
	Scheme.Default(out) // as if read from the store
	out.GetObjectKind().SetGroupVersionKind(v.GVK())
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(out).Elem())
}

// Context tells a strategy what is requested, by whom and when.
func (v Versioned) Context(w *Write) context.Context {
	ctx := klog.NewContext(context.Background(), klog.Logger{}) // they log where tags and functions disagree
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, APIGroup: v.Group, APIVersion: v.Version, Resource: v.GroupVersionResource.Resource, Subresource: v.Subresource,
	})
	if w == nil {
		return ctx
	}
	ctx = genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: w.User.Name, UID: w.User.UID, Groups: w.User.Groups, Extra: w.User.Extra})
	return context.WithValue(ctx, nowKey{}, w.Now)
}

type nowKey struct{}

// nowOf is the virtual time of a request, for strategies that note times.
func nowOf(ctx context.Context) metav1.Time {
	now, _ := ctx.Value(nowKey{}).(metav1.Time)
	return now
}

// plain is a strategy that leaves objects as they are and has nothing to warn
// of.
type plain struct{ rest.DeclarativeValidation }

func (plain) AllowCreateOnUpdate(context.Context) bool                         { return false }
func (plain) AllowUnconditionalUpdate(context.Context) bool                    { return true }
func (plain) PrepareForCreate(context.Context, runtime.Object)                 {}
func (plain) PrepareForUpdate(_ context.Context, _, _ runtime.Object)          {}
func (plain) WarningsOnCreate(context.Context, runtime.Object) []string        { return nil }
func (plain) WarningsOnUpdate(_ context.Context, _, _ runtime.Object) []string { return nil }
func (plain) NamespaceScoped() bool                                            { return true }

// DeclarativeValidationConfig says which of the options that the tags name are on;
// of the kinds of firstKinds only Node names one (pkg/registry/core/node/strategy.go).
func (plain) DeclarativeValidationConfig(context.Context, runtime.Object, runtime.Object) rest.DeclarativeValidationConfig {
	const preemption = features.InPlacePodVerticalScalingSchedulerPreemption
	return rest.DeclarativeValidationConfig{Options: map[string]bool{string(preemption): utilfeature.DefaultFeatureGate.Enabled(preemption)}}
}

var Declarative = plain{rest.DeclarativeValidation{Scheme: Scheme}}

// resets are the fields of one version that a strategy does not let through.
func resets(version string, paths ...[]any) resetFieldSets {
	set := fieldpath.NewSet()
	for _, p := range paths {
		set.Insert(fieldpath.MakePathOrDie(p...))
	}
	return resetFieldSets{fieldpath.APIVersion(version): set}
}
