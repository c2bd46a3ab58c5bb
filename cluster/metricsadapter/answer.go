package metricsadapter

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	customv1beta1 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta1"
	customv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	external "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"

	"kviz/cluster/extension"
	"kviz/cluster/informer"
	"kviz/cluster/load"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
)

// api is one of the group versions that it serves.
type api struct {
	schema.GroupVersion
	kind string // of what it gives
}

var (
	custom2   = api{customv1beta2.SchemeGroupVersion, "MetricValueList"}
	custom1   = api{customv1beta1.SchemeGroupVersion, "MetricValueList"}
	externals = api{external.SchemeGroupVersion, "ExternalMetricValueList"}
	apis      = []api{custom2, custom1, externals} // the preferred one of a group first
)

func (a api) root() string { return "/apis/" + a.String() }

// Serve answers a request that the API server has sent on. It is the program's HTTPS
// server.
func (s *server) Serve(t *sim.Task, r *remote.Request) (remote.Answer, error) {
	path := strings.TrimSuffix(r.Path, "/")
	i := slices.IndexFunc(apis, func(a api) bool { return strings.HasPrefix(path, a.root()+"/") })
	var q query
	var attributes *authorizationv1.ResourceAttributes
	if i >= 0 {
		var ok bool
		if q, ok = parse(apis[i], extension.Below(path, apis[i].root())); !ok {
			return extension.NoPage(), nil
		}
		attributes = q.attributes(r)
	}
	if err := extension.Authorize(t, s.reviews, r, attributes); err != nil {
		return extension.Failed(err), nil
	}
	switch {
	case i >= 0 && r.Method != http.MethodGet:
		return extension.Failed(apierrors.NewMethodNotSupported(schema.GroupResource{Group: q.Group, Resource: q.resource}, strings.ToLower(r.Method))), nil
	case i >= 0 && q.api == externals:
		return s.external(t, &q, r), nil
	case i >= 0:
		return s.custom(t, &q, r), nil
	case r.Method == http.MethodGet:
		return s.discovery(path), nil
	}
	return extension.NoPage(), nil
}

// query is what is asked for.
type query struct {
	api
	namespace string
	resource  string // with its group: "pods", "deployments.apps"; of an external metric "" here
	name      string // of the object; "*" for all
	metric    string
}

// parse reads a path below a group version: namespaces/NS/pods/NAME/METRIC, nodes/NAME/METRIC,
// namespaces/NS/metrics/METRIC, which is about the namespace; of external metrics namespaces/NS/METRIC.
func parse(a api, parts []string) (query, bool) {
	q := query{api: a}
	if a == externals {
		if len(parts) != 3 || parts[0] != "namespaces" {
			return q, false
		}
		q.namespace, q.metric = parts[1], parts[2]
		return q, true
	}
	if extension.Part(parts, 0) == "namespaces" && len(parts) > 3 {
		q.namespace, parts = parts[1], parts[2:]
	}
	switch {
	case len(parts) == 2 && parts[0] == "metrics" && q.namespace != "":
		q.resource, q.name, q.metric, q.namespace = "namespaces", q.namespace, parts[1], ""
	case len(parts) == 3:
		q.resource, q.name, q.metric = parts[0], parts[1], parts[2]
	default:
		return q, false
	}
	return q, true
}

// attributes are what the right is asked for: an object, and the metric as its subresource.
func (q *query) attributes(r *remote.Request) *authorizationv1.ResourceAttributes {
	a := &authorizationv1.ResourceAttributes{Group: q.Group, Version: q.Version, Verb: strings.ToLower(r.Method), Namespace: q.namespace}
	if q.api == externals {
		a.Resource = q.metric
		if a.Verb == "get" {
			a.Verb = "list"
		}
		return a
	}
	a.Resource, a.Name, a.Subresource = q.resource, q.name, q.metric
	return a
}

// value is what a metric says of one object.
type value struct {
	kind            load.Kind
	namespace, name string
	milli           int64
}

// custom answers for metrics of objects.
func (s *server) custom(t *sim.Task, q *query, r *remote.Request) remote.Answer {
	chosen, err := labels.Parse(r.Query.Get("labelSelector"))
	if err != nil {
		return extension.Failed(apierrors.NewBadRequest(err.Error()))
	}
	series, err := labels.Parse(r.Query.Get("metricLabelSelector"))
	if err != nil {
		return extension.Failed(unexpected(err))
	}
	resource, group, _ := strings.Cut(q.resource, ".")
	kind, known := load.KindOf(resource)
	if !known || kind.Group != group || kind.Cluster != (q.namespace == "") || !s.there(q) {
		return extension.Failed(noMetric(q, ""))
	}
	all, objects := s.values(t, q, kind, chosen)
	if !series.Matches(labels.Set{}) {
		all = nil // none has a label
	}
	switch {
	case len(all) == 0 && q.name != "*":
		return extension.Failed(noMetric(q, q.name))
	case objects == 0:
		return extension.Failed(noMetric(q, "")) // the selector chooses nothing, and so nothing is asked
	}
	now := metav1.NewTime(t.Now().UTC().Truncate(time.Second))
	if q.api == custom1 {
		list := &customv1beta1.MetricValueList{TypeMeta: q.typeMeta(), Items: []customv1beta1.MetricValue{}}
		for _, v := range all {
			list.Items = append(list.Items, customv1beta1.MetricValue{
				DescribedObject: v.object(), MetricName: q.metric, Timestamp: now, Value: *load.Metric.Quantity(v.milli),
			})
		}
		return extension.Document(list)
	}
	list := &customv1beta2.MetricValueList{TypeMeta: q.typeMeta(), Items: []customv1beta2.MetricValue{}}
	for _, v := range all {
		list.Items = append(list.Items, customv1beta2.MetricValue{
			DescribedObject: v.object(), Metric: customv1beta2.MetricIdentifier{Name: q.metric}, Timestamp: now, Value: *load.Metric.Quantity(v.milli),
		})
	}
	return extension.Document(list)
}

func (a api) typeMeta() metav1.TypeMeta {
	return metav1.TypeMeta{Kind: a.kind, APIVersion: a.String()}
}

// object is what the value is of. The core group's versions begin with a slash, as upstream's do
// (custom-metrics-apiserver pkg/provider/helpers ReferenceFor).
func (v *value) object() corev1.ObjectReference {
	version := v.kind.APIVersion()
	if v.kind.Group == "" {
		version = "/" + version
	}
	return corev1.ObjectReference{Kind: v.kind.Kind, Namespace: v.namespace, Name: v.name, APIVersion: version}
}

// values are the metric's of the objects that are asked for; objects is how many of those there are,
// with a value or without.
func (s *server) values(t *sim.Task, q *query, kind load.Kind, chosen labels.Selector) (all []value, objects int) {
	now := t.Elapsed()
	if kind.Kind != "Pod" {
		for _, f := range s.source.Loads() {
			if f.What == load.OfMetric && f.Metric == q.metric && f.Kind == kind.Kind && f.Namespace == q.namespace && (f.Name == q.name || q.name == "*" && chosen.Empty()) {
				all = append(all, value{kind, f.Namespace, f.Name, f.At(now)})
			}
		}
		return all, len(all)
	}
	add := func(p *corev1.Pod) {
		objects++
		if part, ok := s.source.Pod(string(p.UID)).Part(load.OfMetric, "", q.metric); ok && p.Status.Phase == corev1.PodRunning {
			all = append(all, value{kind, p.Namespace, p.Name, part.At(now)})
		}
	}
	if q.name != "*" {
		if obj, there := s.pods.Get(informer.Key(q.namespace, q.name)); there {
			add(obj.(*corev1.Pod))
		}
		return all, objects
	}
	for _, obj := range s.pods.List() {
		if p := obj.(*corev1.Pod); p.Namespace == q.namespace && chosen.Matches(labels.Set(p.Labels)) {
			add(p)
		}
	}
	return all, objects
}

// there reports whether any object of the kind has the metric: then the adapter knows of it
// (prometheus-adapter pkg/custom-provider/series_registry.go QueryForMetric).
func (s *server) there(q *query) bool {
	return slices.ContainsFunc(s.resources(q.api).APIResources, func(r metav1.APIResource) bool { return r.Name == q.resource+"/"+q.metric })
}

// external answers for metrics of nothing in the cluster.
func (s *server) external(t *sim.Task, q *query, r *remote.Request) remote.Answer {
	chosen, err := labels.Parse(r.Query.Get("labelSelector"))
	if err != nil {
		return extension.Failed(apierrors.NewBadRequest(err.Error()))
	}
	list := &external.ExternalMetricValueList{TypeMeta: q.typeMeta(), Items: []external.ExternalMetricValue{}}
	there := false
	for _, f := range s.source.Loads() {
		if f.What != load.OfExternal || f.Metric != q.metric {
			continue
		}
		there = true
		series, err := labels.ConvertSelectorToLabelsMap(f.Labels)
		if err != nil || f.Namespace != q.namespace || !chosen.Matches(series) {
			continue
		}
		list.Items = append(list.Items, external.ExternalMetricValue{
			MetricName: f.Metric, MetricLabels: series, Timestamp: metav1.NewTime(t.Now().UTC().Truncate(time.Second)), Value: *load.Metric.Quantity(f.At(t.Elapsed())),
		})
	}
	if !there {
		if q.namespace == metav1.NamespaceDefault { // only there it names a resource (pkg/external-provider/provider.go selectGroupResource)
			q.resource = "namespaces"
		}
		return extension.Failed(noMetric(q, ""))
	}
	return extension.Document(list)
}

// noMetric is upstream's error of a metric that it does not know of, or that the named object does
// not have (custom-metrics-apiserver pkg/provider/errors.go NewMetricNotFoundError,
// NewMetricNotFoundForError).
func noMetric(q *query, name string) error {
	text := fmt.Sprintf("the server could not find the metric %s for %s", q.metric, q.resource)
	if name != "" {
		text += " " + name
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: text,
	}}
}

// unexpected is what an error without a status of its own becomes (apiserver
// pkg/endpoints/handlers/responsewriters ErrorToAPIStatus).
func unexpected(err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error(),
	}}
}

// discovery answers for what it serves.
func (s *server) discovery(path string) remote.Answer {
	switch path {
	case "/apis":
		return s.aggregated()
	case "/livez", "/readyz", "/healthz":
		return remote.Answer{Code: http.StatusOK, Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte("ok")}
	}
	var group *metav1.APIGroup
	for _, a := range apis {
		if path == a.root() {
			return extension.Document(s.resources(a))
		}
		if path == "/apis/"+a.Group {
			v := metav1.GroupVersionForDiscovery{GroupVersion: a.String(), Version: a.Version}
			if group == nil {
				group = &metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: a.Group, PreferredVersion: v}
			}
			group.Versions = append(group.Versions, v)
		}
	}
	if group != nil {
		return extension.Document(group)
	}
	return extension.NoPage()
}

// resources are the metrics that there are now, as resources: pods/requests-per-second.
func (s *server) resources(a api) *metav1.APIResourceList {
	list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: a.String(), APIResources: []metav1.APIResource{}}
	add := func(name string, namespaced bool) {
		if !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == name }) {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Namespaced: namespaced, Kind: a.kind, Verbs: metav1.Verbs{"get"}})
		}
	}
	for _, f := range s.source.Loads() {
		switch {
		case f.What == load.OfExternal && a == externals:
			add(f.Metric, true)
		case f.What == load.OfMetric && a != externals:
			for _, k := range load.Kinds {
				if k.Kind == f.Kind {
					add(schema.GroupResource{Group: k.Group, Resource: k.Resource}.String()+"/"+f.Metric, !k.Cluster)
				}
			}
			if load.Workload(f.Kind) {
				add("pods/"+f.Metric, true)
			}
		}
	}
	slices.SortFunc(list.APIResources, func(x, y metav1.APIResource) int { return strings.Compare(x.Name, y.Name) })
	return list
}

// aggregated is the discovery of everything it serves, where a metric is a subresource (apiserver
// pkg/endpoints/installer.go ConvertGroupVersionIntoToDiscovery).
func (s *server) aggregated() remote.Answer {
	list := &apidiscovery.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}}
	for _, a := range apis {
		if n := len(list.Items); n == 0 || list.Items[n-1].Name != a.Group {
			list.Items = append(list.Items, apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: a.Group}})
		}
		v := apidiscovery.APIVersionDiscovery{Version: a.Version, Freshness: apidiscovery.DiscoveryFreshnessCurrent}
		gives := &metav1.GroupVersionKind{Group: a.Group, Version: a.Version, Kind: a.kind}
		for _, r := range s.resources(a).APIResources {
			scope := apidiscovery.ScopeNamespace
			if !r.Namespaced {
				scope = apidiscovery.ScopeCluster
			}
			parent, metric, sub := strings.Cut(r.Name, "/")
			if !sub {
				v.Resources = append(v.Resources, apidiscovery.APIResourceDiscovery{Resource: r.Name, ResponseKind: gives, Scope: scope, Verbs: r.Verbs})
				continue
			}
			if n := len(v.Resources); n == 0 || v.Resources[n-1].Resource != parent {
				v.Resources = append(v.Resources, apidiscovery.APIResourceDiscovery{Resource: parent, ResponseKind: &metav1.GroupVersionKind{}, Scope: scope})
			}
			last := &v.Resources[len(v.Resources)-1]
			last.Subresources = append(last.Subresources, apidiscovery.APISubresourceDiscovery{Subresource: metric, ResponseKind: gives, Verbs: r.Verbs})
		}
		last := &list.Items[len(list.Items)-1]
		last.Versions = append(last.Versions, v)
	}
	answer := extension.Document(list)
	answer.Header.Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	return answer
}
