package admission

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// LimitRanger is the plugin of that name (plugin/pkg/admission/limitranger) in two
// halves: while mutating it gives containers the default requests and limits of their
// namespace, while validating it refuses what is under a minimum, over a maximum or of
// too high a ratio. Both are upstream's; here is which LimitRanges there are, what was
// set, and that upstream is asked about one resource at a time, since it tells what is
// wrong with several in the order of its maps.
type LimitRanger struct {
	lister  Lister
	actions limitranger.DefaultLimitRangerActions
}

// NewLimitRanger makes the plugin.
func NewLimitRanger(l Lister) *LimitRanger { return &LimitRanger{lister: l} }

// Name is [Plugin].
func (*LimitRanger) Name() string { return limitranger.PluginName }

// ranges are those that apply to what the request does, by name (runLimitFunc).
func (p *LimitRanger) ranges(r *request.Scope, a *Attributes) ([]*corev1.LimitRange, error) {
	if a.Operation == Delete || !a.Is("Pod") && !a.Is("PersistentVolumeClaim") {
		return nil, nil
	}
	all, err := newest[*corev1.LimitRange](r, a, p.lister, client.LimitRanges, a.Namespace)
	if len(all) == 0 || err != nil || !p.actions.SupportsAttributes(a.Record()) || a.OldObject != nil && object.Meta(a.OldObject).GetDeletionTimestamp() != nil {
		return nil, err
	}
	return all, nil
}

// Admit is [Mutating].
func (p *LimitRanger) Admit(r *request.Scope, a *Attributes) (Result, error) {
	ranges, err := p.ranges(r, a)
	pod, ok := a.Object.(*corev1.Pod)
	if len(ranges) == 0 || err != nil || !ok {
		return Result{}, err
	}
	var by []string
	var diff []trace.FieldDiff
	in := internal(pod.DeepCopy())
	for _, lr := range ranges {
		if err := p.actions.MutateLimit(lr, a.Resource.Resource, in); err != nil {
			return Result{}, a.Forbid(err)
		}
		if d := takeResources(pod, in.(*core.Pod)); len(d) > 0 {
			by, diff = append(by, lr.Name), append(diff, d...)
		}
	}
	if len(by) == 0 {
		return Result{}, nil
	}
	return Result{Note: "gave the containers the default requests and limits of LimitRange " + strings.Join(by, ", ") + ".", Diff: diff}, nil
}

// takeResources gives a pod what upstream has given its internal double: to containers
// what they were without, and the annotation that tells it.
func takeResources(p *corev1.Pod, from *core.Pod) (diff []trace.FieldDiff) {
	take := func(into *corev1.ResourceList, from core.ResourceList, path string) {
		was := *into
		if len(was) == len(from) {
			return
		}
		*into = corev1.ResourceList{} // the map is the client's
		maps.Copy(*into, was)
		for _, name := range slices.Sorted(maps.Keys(from)) {
			if _, has := was[corev1.ResourceName(name)]; has {
				continue
			}
			q := from[name]
			(*into)[corev1.ResourceName(name)] = q
			diff = append(diff, trace.FieldDiff{Path: object.Dotted(path, string(name)), To: strconv.Quote(q.String())})
		}
	}
	each := func(list []corev1.Container, from []core.Container, field string) {
		for i := range list {
			path := "spec." + field + "[" + strconv.Itoa(i) + "].resources."
			take(&list[i].Resources.Requests, from[i].Resources.Requests, path+"requests")
			take(&list[i].Resources.Limits, from[i].Resources.Limits, path+"limits")
		}
	}
	each(p.Spec.Containers, from.Spec.Containers, "containers")
	each(p.Spec.InitContainers, from.Spec.InitContainers, "initContainers")
	for key, text := range from.Annotations {
		was, had := p.Annotations[key]
		if text == was {
			continue
		}
		p.Annotations = maps.Clone(p.Annotations)
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[key] = text
		d := trace.FieldDiff{Path: object.Dotted("metadata.annotations", key), To: strconv.Quote(text)}
		if had {
			d.From = strconv.Quote(was)
		}
		diff = append(diff, d)
	}
	return diff
}

// Validate is [Validating].
func (p *LimitRanger) Validate(r *request.Scope, a *Attributes) (Result, error) {
	ranges, err := p.ranges(r, a)
	if len(ranges) == 0 || err != nil {
		return Result{}, err
	}
	var names []string
	in := internal(a.Object)
	for _, lr := range ranges {
		var faults []error
		for _, one := range oneByOne(lr) {
			faults = append(faults, p.actions.ValidateLimit(one, a.Resource.Resource, in))
		}
		if err := utilerrors.NewAggregate(faults); err != nil {
			return Result{}, a.Forbid(err)
		}
		names = append(names, lr.Name)
	}
	return Result{Note: "what the " + a.Kind.Kind + " asks for is within LimitRange " + strings.Join(names, ", ") + "."}, nil
}

// oneByOne is the LimitRange resource by resource.
func oneByOne(lr *corev1.LimitRange) (out []*corev1.LimitRange) {
	for _, item := range lr.Spec.Limits {
		names := corev1.ResourceList{}
		for _, list := range []corev1.ResourceList{item.Min, item.Max, item.MaxLimitRequestRatio} {
			maps.Copy(names, list)
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			only := func(list corev1.ResourceList) corev1.ResourceList {
				if q, has := list[name]; has {
					return corev1.ResourceList{name: q}
				}
				return nil
			}
			one := corev1.LimitRangeItem{Type: item.Type, Min: only(item.Min), Max: only(item.Max), MaxLimitRequestRatio: only(item.MaxLimitRequestRatio)}
			out = append(out, &corev1.LimitRange{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{one}}})
		}
	}
	return out
}
