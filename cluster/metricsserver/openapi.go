package metricsserver

import (
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"

	generated "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	metrics "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"kviz/cluster/extension"
	"kviz/cluster/openapi"
	"kviz/cluster/remote"
)

// Where the OpenAPI documents are: version 3, an index and one document a group version;
// version 2, one for everything.
const (
	openAPIRoot = "/openapi/v3"
	openAPIv2   = "/openapi/v2"
)

// openAPI answers for the index of the OpenAPI v3 documents, for the only one of them,
// and for the OpenAPI v2 document.
func openAPI(r *remote.Request, path string) (remote.Answer, bool) {
	switch path {
	case openAPIRoot:
		type entry struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		}
		url := openAPIRoot + root + "?hash=" + hashOf(openAPIv3Document())
		return extension.Document(map[string]any{"paths": map[string]entry{strings.TrimPrefix(root, "/"): {url}}}), true
	case openAPIRoot + root:
		return remote.Answer{Code: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: openAPIv3Document()}, true
	case openAPIv2:
		doc := openAPIv2Document()
		a := remote.Answer{Code: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}, "Etag": {strconv.Quote(hashOf(doc))}}, Body: doc}
		if r.Header.Get("If-None-Match") == a.Header.Get("Etag") {
			a.Code, a.Body = http.StatusNotModified, nil
		}
		return a, true
	}
	return remote.Answer{}, false
}

// hashOf names a document (kube-openapi pkg/handler computeETag).
func hashOf(doc []byte) string {
	sum := sha512.Sum512(doc)
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

var openAPIInfo = &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes metrics-server", Version: "simulated"}}

// allDefinitions are those of the API's own types and of what these are made of.
func allDefinitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	all := generated.GetOpenAPIDefinitions(ref)
	maps.Copy(all, definitions(ref))
	return all
}

// definitionName adds to the name of a kind's definition which kind it is.
func definitionName(name string) (string, spec.Extensions) {
	kind, ours := strings.CutPrefix(name, strings.TrimSuffix(metrics.NodeMetrics{}.OpenAPIModelName(), "NodeMetrics"))
	if !ours || kind == "ContainerMetrics" {
		return name, nil
	}
	return name, spec.Extensions{gvkExtension: []any{gvk(kind)}}
}

// openAPIPaths are the paths of the API, each with the kind that is there, and whether
// it is a list.
var openAPIPaths = map[string]struct {
	kind string
	list bool
}{
	root + "/nodes":                              {"NodeMetrics", true},
	root + "/nodes/{name}":                       {"NodeMetrics", false},
	root + "/pods":                               {"PodMetrics", true},
	root + "/namespaces/{namespace}/pods":        {"PodMetrics", true},
	root + "/namespaces/{namespace}/pods/{name}": {"PodMetrics", false},
}

// openAPIv3Document is the document of the API's group version. What upstream generates
// from the types' comments is written out in definitions; of the paths there is what
// says which kind is where.
var openAPIv3Document = sync.OnceValue(func() []byte {
	cfg := &common.OpenAPIV3Config{GetDefinitions: allDefinitions, GetDefinitionName: definitionName}
	schemas, err := builder3.BuildOpenAPIDefinitionsForResources(cfg, metrics.NodeMetricsList{}.OpenAPIModelName(), metrics.PodMetricsList{}.OpenAPIModelName())
	if err != nil {
		panic("metricsserver: " + err.Error()) // fixed input: it works always or never
	}
	paths := map[string]*spec3.Path{}
	for path, of := range openAPIPaths {
		op := &spec3.Operation{}
		op.Extensions = spec.Extensions{gvkExtension: gvk(of.kind)}
		paths[path] = &spec3.Path{PathProps: spec3.PathProps{Get: op}}
	}
	b, err := json.Marshal(&spec3.OpenAPI{
		Version: "3.0.0", Info: openAPIInfo, Components: &spec3.Components{Schemas: schemas}, Paths: &spec3.Paths{Paths: paths},
	})
	if err != nil {
		panic("metricsserver: " + err.Error()) // likewise
	}
	return b
})

// openAPIv2Document is the same in version 2, where the paths lead to the definitions:
// without that an aggregator would drop these (kube-openapi pkg/aggregator
// FilterSpecByPaths).
var openAPIv2Document = sync.OnceValue(func() []byte {
	cfg := &common.Config{Info: openAPIInfo, GetDefinitions: allDefinitions, GetDefinitionName: definitionName}
	doc, err := builder.BuildOpenAPIDefinitionsForResources(cfg, metrics.NodeMetricsList{}.OpenAPIModelName(), metrics.PodMetricsList{}.OpenAPIModelName())
	if err != nil {
		panic("metricsserver: " + err.Error()) // fixed input: it works always or never
	}
	doc.Definitions = openapi.WithoutDefaults(doc.Definitions)
	for path, of := range openAPIPaths {
		given := strings.TrimSuffix(metrics.NodeMetrics{}.OpenAPIModelName(), "NodeMetrics") + of.kind
		if of.list {
			given += "List"
		}
		answer := spec.Response{ResponseProps: spec.ResponseProps{Description: "OK", Schema: spec.RefSchema("#/definitions/" + given)}}
		op := &spec.Operation{OperationProps: spec.OperationProps{
			Responses: &spec.Responses{ResponsesProps: spec.ResponsesProps{StatusCodeResponses: map[int]spec.Response{http.StatusOK: answer}}},
		}}
		op.Extensions = spec.Extensions{gvkExtension: gvk(of.kind)}
		doc.Paths.Paths[path] = spec.PathItem{PathItemProps: spec.PathItemProps{Get: op}}
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic("metricsserver: " + err.Error()) // likewise
	}
	return b
})

const gvkExtension = "x-kubernetes-group-version-kind"

func gvk(kind string) map[string]any {
	return map[string]any{"group": metrics.GroupName, "version": metrics.SchemeGroupVersion.Version, "kind": kind}
}

// definitions are those of the API's own types (k/k
// pkg/generated/openapi/zz_generated.openapi.go schema_pkg_apis_metrics_v1beta1_*).
func definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	to := func(name, about string) spec.Schema {
		return spec.Schema{SchemaProps: spec.SchemaProps{Description: about, Ref: ref(name)}}
	}
	quantity, meta := resource.Quantity{}.OpenAPIModelName(), metav1.ObjectMeta{}.OpenAPIModelName()
	list, when, window := metav1.ListMeta{}.OpenAPIModelName(), metav1.Time{}.OpenAPIModelName(), metav1.Duration{}.OpenAPIModelName()
	text := func(about string) spec.Schema {
		return spec.Schema{SchemaProps: spec.SchemaProps{Description: about, Type: []string{"string"}}}
	}
	array := func(about, of string) spec.Schema {
		item := to(of, "")
		return spec.Schema{SchemaProps: spec.SchemaProps{Description: about, Type: []string{"array"}, Items: &spec.SchemaOrArray{Schema: &item}}}
	}
	used := to(quantity, "")
	usage := spec.Schema{SchemaProps: spec.SchemaProps{
		Description: "The memory usage is the memory working set.", Type: []string{"object"},
		AdditionalProperties: &spec.SchemaOrBool{Allows: true, Schema: &used},
	}}
	object := func(about string, required []string, properties map[string]spec.Schema, uses ...string) common.OpenAPIDefinition {
		return common.OpenAPIDefinition{Dependencies: uses, Schema: spec.Schema{SchemaProps: spec.SchemaProps{
			Description: about, Type: []string{"object"}, Properties: properties, Required: required,
		}}}
	}
	top := func(properties map[string]spec.Schema) map[string]spec.Schema {
		doc := metav1.TypeMeta{}.SwaggerDoc()
		properties["kind"], properties["apiVersion"] = text(doc["kind"]), text(doc["apiVersion"])
		return properties
	}
	const conventions = "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#"
	measured := func(more string, s spec.Schema) map[string]spec.Schema {
		return top(map[string]spec.Schema{
			"metadata":  to(meta, "Standard object's metadata. "+conventions+"metadata"),
			"timestamp": to(when, "The following fields define time interval from which metrics were collected from the interval [Timestamp-Window, Timestamp]."),
			"window":    to(window, ""), more: s,
		})
	}
	listed := func(items spec.Schema) map[string]spec.Schema {
		return top(map[string]spec.Schema{"metadata": to(list, "Standard list metadata. "+conventions+"types-kinds"), "items": items})
	}
	container, node, pod := metrics.ContainerMetrics{}.OpenAPIModelName(), metrics.NodeMetrics{}.OpenAPIModelName(), metrics.PodMetrics{}.OpenAPIModelName()
	containers := array("Metrics for all containers are collected within the same time window.", container)
	containers.Extensions = spec.Extensions{"x-kubernetes-list-type": "atomic"}
	return map[string]common.OpenAPIDefinition{
		container: object("ContainerMetrics sets resource usage metrics of a container.", []string{"name", "usage"}, map[string]spec.Schema{
			"name": text("Container name corresponding to the one from pod.spec.containers."), "usage": usage,
		}, quantity),
		node: object("NodeMetrics sets resource usage metrics of a node.", []string{"timestamp", "window", "usage"}, measured("usage", usage), quantity, window, meta, when),
		pod:  object("PodMetrics sets resource usage metrics of a pod.", []string{"timestamp", "window", "containers"}, measured("containers", containers), window, meta, when, container),
		metrics.NodeMetricsList{}.OpenAPIModelName(): object("NodeMetricsList is a list of NodeMetrics.", []string{"items"}, listed(array("List of node metrics.", node)), list, node),
		metrics.PodMetricsList{}.OpenAPIModelName():  object("PodMetricsList is a list of PodMetrics.", []string{"items"}, listed(array("List of pod metrics.", pod)), list, pod),
	}
}
