package admission

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	resourcehelper "k8s.io/component-helpers/resource"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// LimitRanger is the plugin of that name (plugin/pkg/admission/limitranger) in two
// halves: while mutating it gives containers the default requests and limits of their
// namespace, while validating it refuses what is under a minimum, over a maximum or of
// too high a ratio. It is written out on v1 objects, because upstream's looks at
// internal ones and tells several faults in the random order of its maps;
// limitranger_test.go compares the two.
type LimitRanger struct{ lister Lister }

// NewLimitRanger makes the plugin.
func NewLimitRanger(l Lister) *LimitRanger { return &LimitRanger{l} }

// Name is [Plugin].
func (*LimitRanger) Name() string { return "LimitRanger" }

// limitRangerAnnotation tells on the pod what the plugin set.
const limitRangerAnnotation = "kubernetes.io/limit-ranger"

// limited reports whether LimitRanges apply to what the request does
// (DefaultLimitRangerActions SupportsAttributes).
func limited(a *Attributes) bool {
	isPod := a.Is("Pod")
	switch {
	case a.Operation == Delete || !isPod && !a.Is("PersistentVolumeClaim"):
		return false
	case a.OldObject != nil && object.Meta(a.OldObject).GetDeletionTimestamp() != nil:
		return false
	case a.Subresource != "":
		return isPod && a.Operation == Update && a.Subresource == "resize"
	}
	return !isPod || a.Operation == Create
}

// ranges are those of the request's namespace, by name.
func (p *LimitRanger) ranges(r *request.Scope, a *Attributes) ([]*corev1.LimitRange, error) {
	return newest[*corev1.LimitRange](r, a, p.lister, client.LimitRanges, a.Namespace)
}

// Admit is [Mutating].
func (p *LimitRanger) Admit(r *request.Scope, a *Attributes) (Result, error) {
	if !limited(a) {
		return Result{}, nil
	}
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return Result{}, nil
	}
	var by []string
	var diff []trace.FieldDiff
	ranges, err := p.ranges(r, a)
	if err != nil {
		return Result{}, err
	}
	for _, lr := range ranges {
		if d := defaultResources(lr, pod); len(d) > 0 {
			by, diff = append(by, lr.Name), append(diff, d...)
		}
	}
	if len(by) == 0 {
		return Result{}, nil
	}
	return Result{Note: "gave the containers the default requests and limits of LimitRange " + strings.Join(by, ", ") + ".", Diff: diff}, nil
}

// defaultResources is PodMutateLimitFunc.
func defaultResources(lr *corev1.LimitRange, p *corev1.Pod) []trace.FieldDiff {
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	for i := range lr.Spec.Limits {
		if item := &lr.Spec.Limits[i]; item.Type == corev1.LimitTypeContainer {
			maps.Copy(requests, item.DefaultRequest)
			maps.Copy(limits, item.Default)
		}
	}
	var told []string
	var diff []trace.FieldDiff
	fill := func(into *corev1.ResourceList, from corev1.ResourceList, path, what, container string) {
		var set []string
		for _, name := range sortedResources(from) {
			if _, has := (*into)[name]; has {
				continue
			}
			if len(set) == 0 {
				*into = maps.Clone(*into)
			}
			if *into == nil {
				*into = corev1.ResourceList{}
			}
			q := from[name].DeepCopy()
			(*into)[name] = q
			set = append(set, string(name))
			diff = append(diff, trace.FieldDiff{Path: object.Dotted(path, string(name)), To: strconv.Quote(q.String())})
		}
		if len(set) > 0 {
			told = append(told, strings.Join(set, ", ")+" "+what+" "+container)
		}
	}
	each := func(list []corev1.Container, field, word string) {
		for i := range list {
			r, path := &list[i].Resources, "spec."+field+"["+strconv.Itoa(i)+"].resources."
			fill(&r.Requests, requests, path+"requests", "request for "+word, list[i].Name)
			fill(&r.Limits, limits, path+"limits", "limit for "+word, list[i].Name)
		}
	}
	each(p.Spec.Containers, "containers", "container")
	each(p.Spec.InitContainers, "initContainers", "init container")
	if len(told) == 0 {
		return nil
	}
	text := "LimitRanger plugin set: " + strings.Join(told, "; ")
	was := p.Annotations[limitRangerAnnotation]
	p.Annotations = maps.Clone(p.Annotations)
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[limitRangerAnnotation] = text
	d := trace.FieldDiff{Path: object.Dotted("metadata.annotations", limitRangerAnnotation), To: strconv.Quote(text)}
	if was != "" {
		d.From = strconv.Quote(was)
	}
	return append(diff, d)
}

// Validate is [Validating].
func (p *LimitRanger) Validate(r *request.Scope, a *Attributes) (Result, error) {
	if !limited(a) {
		return Result{}, nil
	}
	var names []string
	ranges, err := p.ranges(r, a)
	if err != nil {
		return Result{}, err
	}
	for _, lr := range ranges {
		var errs []error
		switch o := a.Object.(type) {
		case *corev1.Pod:
			errs = podFaults(lr, o)
		case *corev1.PersistentVolumeClaim:
			errs = claimFaults(lr, o)
		}
		if err := utilerrors.NewAggregate(errs); err != nil {
			return Result{}, a.Forbid(err)
		}
		names = append(names, lr.Name)
	}
	if len(names) == 0 {
		return Result{}, nil
	}
	return Result{Note: "what the " + a.Kind.Kind + " asks for is within LimitRange " + strings.Join(names, ", ") + "."}, nil
}

// podFaults is PodValidateLimitFunc.
func podFaults(lr *corev1.LimitRange, p *corev1.Pod) []error {
	var errs []error
	for i := range lr.Spec.Limits {
		item := &lr.Spec.Limits[i]
		switch item.Type {
		case corev1.LimitTypeContainer:
			for j := range p.Spec.Containers {
				errs = append(errs, itemFaults(item, p.Spec.Containers[j].Resources.Requests, p.Spec.Containers[j].Resources.Limits)...)
			}
			for j := range p.Spec.InitContainers {
				errs = append(errs, itemFaults(item, p.Spec.InitContainers[j].Resources.Requests, p.Spec.InitContainers[j].Resources.Limits)...)
			}
		case corev1.LimitTypePod:
			opts := resourcehelper.PodResourcesOptions{ExcludeOverhead: true, SkipPodLevelResources: true}
			requests, limits := resourcehelper.PodRequests(p, opts), resourcehelper.PodLimits(p, opts)
			if r := p.Spec.Resources; r != nil {
				overrule(requests, r.Requests)
				overrule(limits, r.Limits)
			}
			errs = append(errs, itemFaults(item, requests, limits)...)
		}
	}
	return errs
}

// overrule puts what is said of the whole pod in place of the sum over its
// containers, for the two resources for which the plugin knows that.
func overrule(sum, whole corev1.ResourceList) {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if q, ok := whole[name]; ok {
			sum[name] = q
		}
	}
}

// itemFaults are what is wrong with requests and limits by one item of a
// LimitRange.
func itemFaults(item *corev1.LimitRangeItem, requests, limits corev1.ResourceList) []error {
	var errs []error
	check := func(list corev1.ResourceList, fault func(string, corev1.ResourceName, resource.Quantity, corev1.ResourceList, corev1.ResourceList) error) {
		for _, name := range sortedResources(list) {
			if err := fault(string(item.Type), name, list[name], requests, limits); err != nil {
				errs = append(errs, err)
			}
		}
	}
	check(item.Min, underMin)
	check(item.Max, overMax)
	check(item.MaxLimitRequestRatio, overRatio)
	return errs
}

// claimFaults is PersistentVolumeClaimValidateLimitFunc.
func claimFaults(lr *corev1.LimitRange, claim *corev1.PersistentVolumeClaim) []error {
	var errs []error
	for i := range lr.Spec.Limits {
		item := &lr.Spec.Limits[i]
		if item.Type != corev1.LimitTypePersistentVolumeClaim {
			continue
		}
		requests := claim.Spec.Resources.Requests
		for _, name := range sortedResources(item.Min) {
			if err := underMin(string(item.Type), name, item.Min[name], requests, nil); err != nil {
				errs = append(errs, err)
			}
		}
		for _, name := range sortedResources(item.Max) {
			if err := overMaxRequest(string(item.Type), name, item.Max[name], requests); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errs
}

// comparables are quantities at one precision (requestLimitEnforcedValues).
func comparables(request, limit, enforced resource.Quantity) (int64, int64, int64) {
	r, l, e := request.Value(), limit.Value(), enforced.Value()
	if r <= resource.MaxMilliValue && l <= resource.MaxMilliValue && e <= resource.MaxMilliValue {
		return request.MilliValue(), limit.MilliValue(), enforced.MilliValue()
	}
	return r, l, e
}

// underMin is minConstraint.
func underMin(kind string, name corev1.ResourceName, enforced resource.Quantity, requests, limits corev1.ResourceList) error {
	req, hasReq := requests[name]
	lim, hasLim := limits[name]
	r, l, e := comparables(req, lim, enforced)
	switch {
	case !hasReq:
		return fmt.Errorf("minimum %s usage per %s is %s.  No request is specified", name, kind, enforced.String())
	case r < e:
		return fmt.Errorf("minimum %s usage per %s is %s, but request is %s", name, kind, enforced.String(), req.String())
	case hasLim && l < e:
		return fmt.Errorf("minimum %s usage per %s is %s, but limit is %s", name, kind, enforced.String(), lim.String())
	}
	return nil
}

// overMaxRequest is maxRequestConstraint.
func overMaxRequest(kind string, name corev1.ResourceName, enforced resource.Quantity, requests corev1.ResourceList) error {
	req, has := requests[name]
	r, _, e := comparables(req, resource.Quantity{}, enforced)
	switch {
	case !has:
		return fmt.Errorf("maximum %s usage per %s is %s.  No request is specified", name, kind, enforced.String())
	case r > e:
		return fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, kind, enforced.String(), req.String())
	}
	return nil
}

// overMax is maxConstraint.
func overMax(kind string, name corev1.ResourceName, enforced resource.Quantity, requests, limits corev1.ResourceList) error {
	req, hasReq := requests[name]
	lim, hasLim := limits[name]
	r, l, e := comparables(req, lim, enforced)
	switch {
	case !hasLim:
		return fmt.Errorf("maximum %s usage per %s is %s.  No limit is specified", name, kind, enforced.String())
	case l > e:
		return fmt.Errorf("maximum %s usage per %s is %s, but limit is %s", name, kind, enforced.String(), lim.String())
	case hasReq && r > e:
		return fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, kind, enforced.String(), req.String())
	}
	return nil
}

// overRatio is limitRequestRatioConstraint.
func overRatio(kind string, name corev1.ResourceName, enforced resource.Quantity, requests, limits corev1.ResourceList) error {
	req, hasReq := requests[name]
	lim, hasLim := limits[name]
	r, l, _ := comparables(req, lim, enforced)
	switch {
	case !hasReq || r == 0:
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but no request is specified or request is 0", name, kind, enforced.String())
	case !hasLim || l == 0:
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but no limit is specified or limit is 0", name, kind, enforced.String())
	}
	ratio := float64(l) / float64(r)
	observed, most := ratio, float64(enforced.Value())
	if enforced.Value() <= resource.MaxMilliValue {
		observed, most = ratio*1000, float64(enforced.MilliValue())
	}
	if observed > most {
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but provided ratio is %f", name, kind, enforced.String(), ratio)
	}
	return nil
}

func sortedResources(list corev1.ResourceList) []corev1.ResourceName {
	return slices.Sorted(maps.Keys(list))
}
