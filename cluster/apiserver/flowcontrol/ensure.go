package flowcontrol

import (
	"context"
	"slices"

	flowcontrol "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/ensurer"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// flowStore is what upstream's ensurer has instead of a client and a lister:
// requests of the server to itself, and its watch cache.
type flowStore[T runtime.Object] struct {
	o     *Objects
	t     *sim.Task
	r     client.Resource
	cache *cacher.Cache
}

func (f *flowStore[T]) do(req *request.Request) (T, error) {
	resp := f.o.Serve(f.t, req)
	obj, _ := resp.Object.(T)
	return obj, resp.Err
}

func (f *flowStore[T]) write(verb string, obj T) (T, error) {
	req := f.o.request(verb, f.r, object.Name(obj), flowProducer)
	req.Object = obj
	return f.do(req)
}

func (f *flowStore[T]) Create(_ context.Context, obj T, _ metav1.CreateOptions) (T, error) {
	return f.write("create", obj)
}

func (f *flowStore[T]) Update(_ context.Context, obj T, _ metav1.UpdateOptions) (T, error) {
	return f.write("update", obj)
}

func (f *flowStore[T]) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	_, err := f.do(f.o.request("delete", f.r, name, flowProducer))
	return err
}

func (f *flowStore[T]) List(labels.Selector) ([]T, error) { return objectsOf[T](f.cache), nil }

func (f *flowStore[T]) Get(name string) (T, error) {
	if en := f.cache.Get(name); en != nil {
		return en.Object.(T), nil
	}
	var none T
	return none, apierrors.NewNotFound(f.r.GroupResource(), name)
}

// ensureFlows is upstream's order: what is suggested, what is mandatory, what has
// become too much.
func ensureFlows(levels *flowStore[*flowcontrol.PriorityLevelConfiguration], schemas *flowStore[*flowcontrol.FlowSchema],
	suggestedLevels []*flowcontrol.PriorityLevelConfiguration, suggested []*flowcontrol.FlowSchema,
	mandatoryLevels []*flowcontrol.PriorityLevelConfiguration, mandatory []*flowcontrol.FlowSchema,
) error {
	ctx := context.Background()
	lops := ensurer.NewObjectOps(levels, levels, levelOps.DeepCopy, levelOps.ReplaceSpec, levelOps.SpecEqualish)
	sops := ensurer.NewObjectOps(schemas, schemas, schemaOps.DeepCopy, schemaOps.ReplaceSpec, schemaOps.SpecEqualish)
	for _, step := range []func() error{
		func() error {
			return ensurer.EnsureConfigurations(ctx, lops, suggestedLevels, ensurer.NewSuggestedEnsureStrategy[*flowcontrol.PriorityLevelConfiguration]())
		},
		func() error {
			return ensurer.EnsureConfigurations(ctx, sops, suggested, ensurer.NewSuggestedEnsureStrategy[*flowcontrol.FlowSchema]())
		},
		func() error {
			return ensurer.EnsureConfigurations(ctx, lops, mandatoryLevels, ensurer.NewMandatoryEnsureStrategy[*flowcontrol.PriorityLevelConfiguration]())
		},
		func() error {
			return ensurer.EnsureConfigurations(ctx, sops, mandatory, ensurer.NewMandatoryEnsureStrategy[*flowcontrol.FlowSchema]())
		},
		func() error { return ensurer.RemoveUnwantedObjects(ctx, sops, slices.Concat(mandatory, suggested)) },
		func() error {
			return ensurer.RemoveUnwantedObjects(ctx, lops, slices.Concat(mandatoryLevels, suggestedLevels))
		},
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// How specs are compared and replaced: upstream's, which are not exported but by
// what is made of them.
var (
	levelOps  = ensurer.NewPriorityLevelConfigurationOps(nil, nil)
	schemaOps = ensurer.NewFlowSchemaOps(nil, nil)
)
