package resourceconsumer

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/metrics/pkg/apis/external_metrics"
	external "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"

	"kviz/cluster/remote"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
)

// externalMetrics is the server of external metrics that a request creates, sets, and makes
// fail.
//
// Mirrors test/images/agnhost/external-metrics. Metrics come in the order of their names, where upstream takes
// them from a map.
type externalMetrics struct {
	metrics map[string]*externalMetric // by name and labels
}

type externalMetric struct {
	name   string
	labels map[string]string
	value  int64
	fails  bool
}

// StartExternalMetrics begins the server of external metrics in a container.
func StartExternalMetrics(in runtime.Instance) runtime.Program {
	e := &externalMetrics{metrics: map[string]*externalMetric{}}
	for name, value := range map[string]int64{"queue_messages_ready": 100, "http_requests_total": 500} {
		e.metrics[name] = &externalMetric{name: name, value: value}
	}
	in.Process.Go("main", func(*sim.Task) { in.Log(`"Starting server on" address="[::]:6443"`) })
	return e
}

const group = "/apis/" + external_metrics.GroupName

// Serve answers for the metrics, or changes one.
func (e *externalMetrics) Serve(t *sim.Task, r *remote.Request) (remote.Answer, error) {
	below, ofGroup := strings.CutPrefix(r.Path, group)
	parts := strings.Split(strings.Trim(r.Path, "/"), "/")
	switch {
	case r.Path == "/healthz" || r.Path == "/readyz":
		return text(http.StatusOK, "ok"), nil
	case ofGroup:
		return e.answer(t, strings.Split(strings.Trim(below, "/"), "/"), r), nil
	case len(parts) == 2 && (parts[0] == "create" || parts[0] == "set" || parts[0] == "fail"):
		return e.change(parts[0], parts[1], r), nil
	}
	return text(http.StatusNotFound, "404 page not found\n"), nil
}

func (e *externalMetrics) answer(t *sim.Task, parts []string, r *remote.Request) remote.Answer {
	v := metav1.GroupVersionForDiscovery{GroupVersion: external.SchemeGroupVersion.String(), Version: external.SchemeGroupVersion.Version}
	switch {
	case parts[0] == "":
		return document(&metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: external_metrics.GroupName, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
	case len(parts) == 1 && parts[0] == v.Version:
		return document(&metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: v.GroupVersion,
			APIResources: []metav1.APIResource{{Name: "*", Namespaced: true, Kind: "ExternalMetricValueList", Verbs: metav1.Verbs{"get"}}},
		})
	case len(parts) < 4 || parts[1] != "namespaces":
		return text(http.StatusNotFound, "404 page not found\n")
	}
	name, labels := parts[3], labelsOf(r.Query.Get("labelSelector"))
	found := e.find(name, labels)
	if len(found) == 0 {
		if len(labels) > 0 {
			return text(http.StatusNotFound, fmt.Sprintf("no metric name called %s with labels %v\n", name, labels))
		}
		return text(http.StatusNotFound, fmt.Sprintf("no metric name called %s\n", name))
	}
	list := &external.ExternalMetricValueList{TypeMeta: metav1.TypeMeta{Kind: "ExternalMetricValueList", APIVersion: v.GroupVersion}}
	for _, m := range found {
		if m.fails {
			return text(http.StatusInternalServerError, fmt.Sprintf("metric %s is configured to fail\n", name))
		}
		list.Items = append(list.Items, external.ExternalMetricValue{
			MetricName: m.name, MetricLabels: m.labels, Timestamp: metav1.NewTime(t.Now().UTC().Truncate(time.Second)), Value: *resource.NewQuantity(m.value, resource.DecimalSI),
		})
	}
	return document(list)
}

// find gives the metrics of a name whose labels are those, or more.
func (e *externalMetrics) find(name string, labels map[string]string) (found []*externalMetric) {
	if m := e.metrics[key(name, labels)]; m != nil && len(labels) > 0 {
		return []*externalMetric{m}
	}
	for _, k := range slices.Sorted(maps.Keys(e.metrics)) {
		m := e.metrics[k]
		matches := m.name == name
		for label, value := range labels {
			matches = matches && m.labels[label] == value
		}
		if matches {
			found = append(found, m)
		}
	}
	return found
}

// change creates a metric, sets its value, or makes requests for it fail.
func (e *externalMetrics) change(how, name string, r *remote.Request) remote.Answer {
	labels := labelsOf(r.Query.Get("labels"))
	k := key(name, labels)
	value, err := strconv.ParseInt(r.Query.Get("value"), 10, 64)
	fails := r.Query.Get("fail")
	m := e.metrics[k]
	switch {
	case how != "fail" && err != nil:
		return text(http.StatusBadRequest, "value param must be an integer\n")
	case how == "fail" && fails != "true" && fails != "false":
		return text(http.StatusBadRequest, "fail param should be true or false\n")
	case how != "create" && m == nil:
		return text(http.StatusNotFound, fmt.Sprintf("metric %s not found\n", k))
	case how == "create" && m == nil && len(e.metrics) >= maxMetrics:
		return text(http.StatusBadRequest, "there are too many metrics\n")
	case how == "create":
		e.metrics[k] = &externalMetric{name: name, labels: labels, value: value, fails: fails == "true"}
		answer := document(map[string]any{"status": "created", "metric": name, "labels": labels, "value": value, "failing": fails == "true"})
		answer.Code = http.StatusCreated
		return answer
	case how == "set":
		m.value = value
		return document(map[string]any{"status": "success", "metric": name, "value": value})
	}
	m.fails = fails == "true"
	return document(map[string]any{"status": "success", "metric": name, "labels": labels, "failing": fails})
}

// key names a metric with its labels.
func key(name string, labels map[string]string) string {
	var pairs []string
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, label+"="+labels[label])
	}
	if len(pairs) == 0 {
		return name
	}
	return name + ":" + strings.Join(pairs, ",")
}

// labelsOf reads a=b,c=d; what is anything else is left out.
func labelsOf(s string) map[string]string {
	labels := map[string]string{}
	for pair := range strings.SplitSeq(s, ",") {
		if label, value, ok := strings.Cut(pair, "="); ok {
			labels[strings.TrimSpace(label)] = strings.TrimSpace(value)
		}
	}
	return labels
}

func document(v any) remote.Answer {
	body, err := json.Marshal(v)
	if err != nil {
		return text(http.StatusInternalServerError, err.Error()+"\n")
	}
	return remote.Answer{Code: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
}
