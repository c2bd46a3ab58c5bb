package horizontalpodautoscaler

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	customv1beta1 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta1"
	custom "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	external "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metrics "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// podMetric is what one pod uses, or has of a metric, times 1000 (metrics.PodMetric).
type podMetric struct {
	at     time.Time
	window time.Duration // over which it was measured, before that
	value  int64
}

// podMetrics are those of pods by their names.
type podMetrics map[string]podMetric

// source is where metrics come from (metrics.MetricsClient). All values are times 1000.
type source interface {
	// Resource is what pods use of a resource: one container of each, or all ("").
	Resource(t *sim.Task, name corev1.ResourceName, namespace string, of labels.Selector, container string) (podMetrics, error)
	// Pods is a metric of each pod, Object that of one object.
	Pods(t *sim.Task, metric, namespace string, of, which labels.Selector) (podMetrics, error)
	Object(t *sim.Task, metric, namespace string, of *autoscalingv2.CrossVersionObjectReference, which labels.Selector) (int64, error)
	// External are the values of all that a metric from outside the cluster has, as which selects.
	External(t *sim.Task, metric, namespace string, which labels.Selector) ([]int64, error)
}

// metricsAPIs are the three APIs by which a cluster tells of metrics. Each is served by a
// program in the cluster, or not at all (restMetricsClient).
type metricsAPIs struct {
	client client.Interface
	kinds  *kinds
}

func (m metricsAPIs) Resource(t *sim.Task, name corev1.ResourceName, namespace string, of labels.Selector, container string) (podMetrics, error) {
	var list metrics.PodMetricsList
	read := client.AggregatedRead{Resource: metrics.SchemeGroupVersion.WithResource("pods"), Namespace: namespace, Query: query("labelSelector", of)}
	if err := m.read(t, read, &list); err != nil {
		return nil, fmt.Errorf("unable to fetch metrics from resource metrics API: %w", err)
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("no metrics returned from resource metrics API")
	}
	out := podMetrics{}
	for i := range list.Items {
		p := &list.Items[i]
		sum, found := usageOf(p.Containers, name, container)
		if found {
			out[p.Name] = podMetric{p.Timestamp.Time, p.Window.Duration, sum}
		}
	}
	return out, nil
}

// usageOf adds up what containers use of a resource, or gives what one of them does. It is not
// found where one is missing (getPodMetrics, getContainerMetrics).
func usageOf(all []metrics.ContainerMetrics, name corev1.ResourceName, container string) (sum int64, found bool) {
	for i := range all {
		used, there := all[i].Usage[name]
		switch {
		case container == "" && !there:
			return 0, false
		case container == "":
			sum += used.MilliValue()
		case all[i].Name == container:
			return used.MilliValue(), there
		}
	}
	return sum, container == "" && len(all) > 0
}

// customVersions are those of the custom metrics API that a client knows (MetricVersions).
var customVersions = []schema.GroupVersion{custom.SchemeGroupVersion, customv1beta1.SchemeGroupVersion}

// customVersion is the version that is asked: the newest of those that are registered
// (apiVersionsFromDiscovery).
func (m metricsAPIs) customVersion() (schema.GroupVersion, error) {
	for _, gv := range customVersions {
		if client.Aggregates(m.client, gv) {
			return gv, nil
		}
	}
	return schema.GroupVersion{}, fmt.Errorf("no custom metrics API (%s) registered", custom.GroupName)
}

// allObjects is the name under which a metric of all objects is (v1beta1.AllObjects).
const allObjects = "*"

func (m metricsAPIs) Pods(t *sim.Task, metric, namespace string, of, which labels.Selector) (podMetrics, error) {
	values, err := m.custom(t, client.AggregatedRead{Resource: schema.GroupVersionResource{Resource: "pods"}, Namespace: namespace, Name: allObjects, Subresource: metric, Query: query("labelSelector", of, "metricLabelSelector", which)})
	if err != nil {
		return nil, fmt.Errorf("unable to fetch metrics from custom metrics API: %w", err)
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("no metrics returned from custom metrics API")
	}
	out := podMetrics{}
	for _, v := range values {
		window := time.Minute // metricServerDefaultMetricWindow
		if v.WindowSeconds != nil {
			window = time.Duration(*v.WindowSeconds) * time.Second
		}
		out[v.DescribedObject.Name] = podMetric{v.Timestamp.Time, window, v.Value.MilliValue()}
	}
	return out, nil
}

func (m metricsAPIs) Object(t *sim.Task, metric, namespace string, of *autoscalingv2.CrossVersionObjectReference, which labels.Selector) (int64, error) {
	read, err := m.object(metric, namespace, of)
	var values []custom.MetricValue
	if err == nil {
		read.Query = query("metricLabelSelector", which)
		values, err = m.custom(t, read)
	}
	if err == nil && len(values) != 1 {
		err = fmt.Errorf("the custom metrics API server returned %v results when we asked for exactly one", len(values))
	}
	if err != nil {
		return 0, fmt.Errorf("unable to fetch metrics from custom metrics API: %w", err)
	}
	return values[0].Value.MilliValue(), nil
}

// object is where the metric of one object is. That of a namespace is always the autoscaler's own.
func (m metricsAPIs) object(metric, namespace string, of *autoscalingv2.CrossVersionObjectReference) (client.AggregatedRead, error) {
	if _, err := m.customVersion(); err != nil {
		return client.AggregatedRead{}, err
	}
	gk := schema.FromAPIVersionAndKind(of.APIVersion, of.Kind).GroupKind()
	if gk == (schema.GroupKind{Kind: "Namespace"}) {
		return client.AggregatedRead{Resource: schema.GroupVersionResource{Resource: "metrics"}, Namespace: namespace, Name: metric}, nil
	}
	r, err := m.kinds.resource(gk)
	if err != nil {
		return client.AggregatedRead{}, fmt.Errorf("unable to map kind %s to resource: %v", gk.String(), err) //nolint:errorlint // as upstream's
	}
	return client.AggregatedRead{Resource: schema.GroupVersionResource{Resource: r.GroupResource().String()}, Namespace: namespace, Name: of.Name, Subresource: metric}, nil
}

// custom asks the custom metrics API.
func (m metricsAPIs) custom(t *sim.Task, read client.AggregatedRead) ([]custom.MetricValue, error) {
	gv, err := m.customVersion()
	if err != nil {
		return nil, err
	}
	read.Resource.Group, read.Resource.Version = gv.Group, gv.Version
	var list custom.MetricValueList
	if gv != custom.SchemeGroupVersion { // which has what is used here in another place
		return m.customOld(t, read)
	}
	if err := m.read(t, read, &list); err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (m metricsAPIs) customOld(t *sim.Task, read client.AggregatedRead) ([]custom.MetricValue, error) {
	var list customv1beta1.MetricValueList
	if err := m.read(t, read, &list); err != nil {
		return nil, err
	}
	out := make([]custom.MetricValue, len(list.Items))
	for i, v := range list.Items {
		out[i] = custom.MetricValue{
			DescribedObject: v.DescribedObject, Metric: custom.MetricIdentifier{Name: v.MetricName, Selector: v.Selector},
			Timestamp: v.Timestamp, WindowSeconds: v.WindowSeconds, Value: v.Value,
		}
	}
	return out, nil
}

func (m metricsAPIs) External(t *sim.Task, metric, namespace string, which labels.Selector) ([]int64, error) {
	var list external.ExternalMetricValueList
	read := client.AggregatedRead{Resource: external.SchemeGroupVersion.WithResource(metric), Namespace: namespace, Query: query("labelSelector", which)}
	if err := m.read(t, read, &list); err != nil {
		return nil, fmt.Errorf("unable to fetch metrics from external metrics API: %w", err)
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("no metrics returned from external metrics API")
	}
	var out []int64
	for _, v := range list.Items {
		out = append(out, v.Value.MilliValue())
	}
	return out, nil
}

func (m metricsAPIs) read(t *sim.Task, r client.AggregatedRead, into any) error {
	body, err := client.ReadAggregated(t, m.client, r)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// query is that of selectors, each after its name; those that select everything are left out.
func query(pairs ...any) url.Values {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if s := pairs[i+1].(labels.Selector).String(); s != "" {
			q.Set(pairs[i].(string), s)
		}
	}
	return q
}
