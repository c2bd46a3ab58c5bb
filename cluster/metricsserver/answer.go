package metricsserver

import (
	"net/http"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metrics "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"kviz/cluster/extension"
	"kviz/cluster/informer"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
)

const root = "/apis/metrics.k8s.io/v1beta1"

// Serve answers a request that the API server has sent on. It is the program's HTTPS
// server.
func (s *server) Serve(t *sim.Task, r *remote.Request) (remote.Answer, error) {
	if err := s.authorize(t, r); err != nil {
		return extension.Failed(err), nil
	}
	switch path := strings.TrimSuffix(r.Path, "/"); {
	case r.Method != http.MethodGet:
		return extension.Failed(apierrors.NewMethodNotSupported(metrics.Resource(part(below(path), 0)), strings.ToLower(r.Method))), nil
	case path == "/apis":
		return aggregated(), nil
	case path == "/apis/metrics.k8s.io":
		v := metav1.GroupVersionForDiscovery{GroupVersion: metrics.SchemeGroupVersion.String(), Version: metrics.SchemeGroupVersion.Version}
		return extension.Document(&metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: metrics.GroupName, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v}), nil
	case path == root:
		return extension.Document(resources()), nil
	case strings.HasPrefix(path, root+"/"):
		return s.metrics(r, below(path)), nil
	case strings.HasPrefix(path, "/openapi/"):
		if doc, ok := openAPI(r, path); ok {
			return doc, nil
		}
	}
	return extension.NoPage(), nil
}

// authorize asks the API server whether the user whom it names may do this.
func (s *server) authorize(t *sim.Task, r *remote.Request) error {
	if !strings.HasPrefix(r.Path, root+"/") {
		return extension.Authorize(t, s.reviews, r, nil)
	}
	verb, parts := strings.ToLower(r.Method), below(r.Path)
	a := &authorizationv1.ResourceAttributes{Group: metrics.GroupName, Version: metrics.SchemeGroupVersion.Version, Verb: verb}
	if part(parts, 0) == "namespaces" {
		a.Namespace, parts = part(parts, 1), parts[min(2, len(parts)):]
	}
	a.Resource, a.Name = part(parts, 0), part(parts, 1)
	switch {
	case a.Name == "" && watches(r):
		a.Verb = "watch"
	case a.Name == "" && verb == "get":
		a.Verb = "list"
	}
	return extension.Authorize(t, s.reviews, r, a)
}

// metrics answers for what the API is there for: nodes, nodes/NAME, pods,
// namespaces/NS/pods, namespaces/NS/pods/NAME.
func (s *server) metrics(r *remote.Request, parts []string) remote.Answer {
	asTable := strings.Contains(r.Header.Get("Accept"), "as=Table")
	namespace := ""
	if part(parts, 0) == "namespaces" {
		namespace, parts = part(parts, 1), parts[min(2, len(parts)):]
	}
	name := part(parts, 1)
	chosen, err := selection(r)
	if err != nil {
		return extension.Failed(err)
	}
	switch {
	case name == "" && watches(r) && (part(parts, 0) == "nodes" || part(parts, 0) == "pods"):
		// Its storage lists, and watches nothing (apiserver
		// pkg/endpoints/handlers/get.go ListResource).
		return extension.Failed(apierrors.NewMethodNotSupported(metrics.Resource(part(parts, 0)), "watch"))
	case part(parts, 0) == "nodes" && namespace == "" && len(parts) <= 2:
		return s.answerNodes(name, chosen, asTable)
	case part(parts, 0) == "pods" && len(parts) <= 2 && (name == "" || namespace != ""):
		return s.answerPods(namespace, name, chosen, asTable)
	}
	return extension.Failed(apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, true))
}

// watches reports whether a list is to be a watch.
func watches(r *remote.Request) bool {
	asked, given := r.Query["watch"]
	return given && (len(asked) == 0 || asked[0] != "0" && !strings.EqualFold(asked[0], "false"))
}

// selection reads the selectors of a list.
func selection(r *remote.Request) (func(metav1.ObjectMeta) bool, error) {
	byLabel, err := labels.Parse(r.Query.Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	byField, err := fields.ParseSelector(r.Query.Get("fieldSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return func(m metav1.ObjectMeta) bool {
		return byLabel.Matches(labels.Set(m.Labels)) && byField.Matches(fields.Set{"metadata.name": m.Name, "metadata.namespace": m.Namespace})
	}, nil
}

func (s *server) answerNodes(name string, chosen func(metav1.ObjectMeta) bool, asTable bool) remote.Answer {
	list := &metrics.NodeMetricsList{TypeMeta: typeOf("NodeMetricsList"), Items: []metrics.NodeMetrics{}}
	for _, obj := range s.nodes.List() {
		n := obj.(*corev1.Node)
		last, prev := s.last[n.Name], s.prev[n.Name]
		if (name == "" && !chosen(n.ObjectMeta)) || (name != "" && n.Name != name) || last == nil || prev == nil {
			continue
		}
		list.Items = append(list.Items, metrics.NodeMetrics{
			ObjectMeta: metaOf(n.ObjectMeta, last), Timestamp: metav1.NewTime(last.At), Window: metav1.Duration{Duration: last.At.Sub(prev.At)},
			Usage: usage(last.CPU, last.Memory),
		})
	}
	if name != "" && len(list.Items) == 0 {
		if _, there := s.nodes.Get(name); !there {
			return extension.Failed(apierrors.NewNotFound(corev1.Resource("nodes"), name))
		}
		return extension.Failed(apierrors.NewNotFound(metrics.Resource("nodemetrics"), name))
	}
	if asTable {
		return table(list.Items, func(m *metrics.NodeMetrics) (metav1.ObjectMeta, corev1.ResourceList, metav1.Duration) {
			return m.ObjectMeta, m.Usage, m.Window
		})
	}
	if name != "" {
		list.Items[0].TypeMeta = typeOf("NodeMetrics")
		return extension.Document(&list.Items[0])
	}
	return extension.Document(list)
}

func (s *server) answerPods(namespace, name string, chosen func(metav1.ObjectMeta) bool, asTable bool) remote.Answer {
	list := &metrics.PodMetricsList{TypeMeta: typeOf("PodMetricsList"), Items: []metrics.PodMetrics{}}
	for _, obj := range s.pods.List() {
		p := obj.(*corev1.Pod)
		if (namespace != "" && p.Namespace != namespace) || (name == "" && !chosen(p.ObjectMeta)) || (name != "" && p.Name != name) {
			continue
		}
		last, prev := s.last[p.Spec.NodeName], s.prev[p.Spec.NodeName]
		now := last.pod(p.Namespace, p.Name)
		if !both(now, prev.pod(p.Namespace, p.Name)) {
			continue
		}
		m := metrics.PodMetrics{ObjectMeta: metaOf(p.ObjectMeta, last), Timestamp: metav1.NewTime(last.At), Window: metav1.Duration{Duration: last.At.Sub(prev.At)}}
		for _, c := range now.Containers {
			m.Containers = append(m.Containers, metrics.ContainerMetrics{Name: c.Name, Usage: usage(c.CPU, c.Memory)})
		}
		list.Items = append(list.Items, m)
	}
	if name != "" && len(list.Items) == 0 {
		if _, there := s.pods.Get(informer.Key(namespace, name)); !there {
			return extension.Failed(apierrors.NewNotFound(corev1.Resource("pods"), name))
		}
		return extension.Failed(apierrors.NewNotFound(metrics.Resource("podmetrics"), namespace+"/"+name))
	}
	if asTable {
		return table(list.Items, func(m *metrics.PodMetrics) (metav1.ObjectMeta, corev1.ResourceList, metav1.Duration) {
			all := corev1.ResourceList{}
			for _, c := range m.Containers {
				for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
					q := all[r]
					q.Add(c.Usage[r])
					all[r] = q
				}
			}
			return m.ObjectMeta, all, m.Window
		})
	}
	if name != "" {
		list.Items[0].TypeMeta = typeOf("PodMetrics")
		return extension.Document(&list.Items[0])
	}
	return extension.Document(list)
}

// table is the answer for kubectl get nodemetrics and podmetrics (pkg/api/table.go).
func table[T any](items []T, tell func(*T) (metav1.ObjectMeta, corev1.ResourceList, metav1.Duration)) remote.Answer {
	out := &metav1.Table{TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"}, Rows: []metav1.TableRow{}, ColumnDefinitions: []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: "Name of the resource"},
		{Name: "cpu", Type: "string", Format: "quantity"},
		{Name: "memory", Type: "string", Format: "quantity"},
		{Name: "Window", Type: "string", Format: "duration"},
	}}
	for i := range items {
		m, used, window := tell(&items[i])
		row := metav1.TableRow{Cells: []any{m.Name, used.Cpu().String(), used.Memory().String(), window.Duration.String()}}
		p := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}, ObjectMeta: m}
		row.Object.Object = p
		out.Rows = append(out.Rows, row)
	}
	return extension.Document(out)
}

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: metrics.SchemeGroupVersion.String()}
}

func metaOf(m metav1.ObjectMeta, last *Sample) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, Labels: m.Labels, CreationTimestamp: metav1.NewTime(last.At)}
}

func usage(cpu, memory int64) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewScaledQuantity(cpu, resource.Nano),
		corev1.ResourceMemory: *resource.NewQuantity(memory&^1023, resource.BinarySI),
	}
}

var served = []apidiscovery.APIResourceDiscovery{
	{Resource: "nodes", ResponseKind: kind("NodeMetrics"), Scope: apidiscovery.ScopeCluster, Verbs: []string{"get", "list"}},
	{Resource: "pods", ResponseKind: kind("PodMetrics"), Scope: apidiscovery.ScopeNamespace, Verbs: []string{"get", "list"}},
}

func kind(k string) *metav1.GroupVersionKind {
	return &metav1.GroupVersionKind{Group: metrics.GroupName, Version: metrics.SchemeGroupVersion.Version, Kind: k}
}

// aggregated is the discovery of everything it serves.
func aggregated() remote.Answer {
	list := &apidiscovery.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"},
		Items: []apidiscovery.APIGroupDiscovery{{
			ObjectMeta: metav1.ObjectMeta{Name: metrics.GroupName},
			Versions:   []apidiscovery.APIVersionDiscovery{{Version: metrics.SchemeGroupVersion.Version, Resources: served, Freshness: apidiscovery.DiscoveryFreshnessCurrent}},
		}},
	}
	a := extension.Document(list)
	a.Header.Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	return a
}

// resources is the discovery of its one version.
func resources() *metav1.APIResourceList {
	list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: metrics.SchemeGroupVersion.String()}
	for _, r := range served {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: r.Resource, Namespaced: r.Scope == apidiscovery.ScopeNamespace, Kind: r.ResponseKind.Kind, Verbs: metav1.Verbs(r.Verbs)})
	}
	return list
}
