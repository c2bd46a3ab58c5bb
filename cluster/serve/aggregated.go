package serve

import (
	"fmt"
	"net/http"
	"strings"

	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	"k8s.io/kubernetes/pkg/printers"

	"kviz/cluster/apiserver/request"

	"kviz/cluster/apiserver/aggregator"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/remote"
)

// aggregated has what other servers serve behind this one.
type aggregated interface {
	Aggregated() aggregator.Aggregated
}

// serveAggregated answers a request for a group version that another server serves,
// and reports whether it is one. It passes the pipeline as any other does, up to the
// authorization, and is then sent on as it came.
//
// Simplified: of the built-in groups no version can be handed to another server.
func (h *Handler) serveAggregated(w http.ResponseWriter, r *http.Request, path string) bool {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(parts) < 3 || parts[0] != "apis" || registry.Builtin(parts[1]) {
		return false
	}
	gv, elsewhere := schema.GroupVersion{Group: parts[1], Version: parts[2]}, false
	h.cfg.Kernel.Do(func() {
		if api := h.cfg.API(); api != nil {
			elsewhere = api.Aggregated().Serves(gv)
		}
	})
	if !elsewhere {
		return false
	}
	req, status := proxied(r, gv)
	if status != nil {
		writeStatus(w, r, status)
		return true
	}
	h.handle(w, r, req, func(a answer) {
		resp := a.resp
		if resp.Raw == nil {
			writeStatus(w, r, resp.Status())
			return
		}
		for k, v := range resp.Raw.Header {
			w.Header()[k] = v
		}
		w.WriteHeader(resp.Raw.Code)
		_, _ = w.Write(resp.Raw.Body)
	})
	return true
}

// proxied reads what a request is for, as far as who authorizes it must know, and
// leaves the rest as it is.
func proxied(r *http.Request, gv schema.GroupVersion) (*request.Request, *metav1.Status) {
	req := &request.Request{Verb: strings.ToLower(r.Method), Resource: gv.WithResource(""), Path: r.URL.RequestURI()}
	if !isDiscovery(strings.TrimSuffix(r.URL.Path, "/")) {
		var status *metav1.Status
		if req, status = whatFor(r); status != nil {
			return nil, status
		}
	}
	body, status := readBody(r)
	if status != nil {
		return nil, status
	}
	as, status := actAs(r)
	if status != nil {
		return nil, status
	}
	req.Impersonate = as
	header := http.Header{}
	for _, name := range []string{"Accept", "Content-Type", "If-None-Match"} {
		if v := r.Header.Values(name); len(v) > 0 {
			header[name] = v
		}
	}
	req.Proxied = &remote.Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: header, Body: body}
	return req, nil
}

// addAPIServices is the printer of APIServices (kube-aggregator
// pkg/registry/apiservice/etcd ConvertToTable).
func addAPIServices(h printers.PrintHandler) {
	meta := metav1.ObjectMeta{}.SwaggerDoc()
	columns := []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: meta["name"]},
		{Name: "Service", Type: "string", Description: "The reference to the service that hosts this API endpoint."},
		{Name: "Available", Type: "string", Description: "Whether this service is available."},
		{Name: "Age", Type: "string", Description: meta["creationTimestamp"]},
	}
	err := h.TableHandler(columns, func(svc *apiregistration.APIService, _ printers.GenerateOptions) ([]metav1.TableRow, error) {
		service, available := "Local", string(apiregistration.ConditionUnknown)
		if svc.Spec.Service != nil {
			service = svc.Spec.Service.Namespace + "/" + svc.Spec.Service.Name
		}
		if c := apiregistration.GetAPIServiceConditionByType(svc, apiregistration.Available); c != nil {
			available = string(c.Status)
			if c.Status != apiregistration.ConditionTrue && c.Reason != "" {
				available = fmt.Sprintf("%s (%s)", c.Status, c.Reason)
			}
		}
		return []metav1.TableRow{{
			Object: runtime.RawExtension{Object: svc},
			Cells:  []any{svc.Name, service, available, metatable.ConvertToHumanReadableDateType(svc.CreationTimestamp)},
		}}, nil
	})
	if err != nil {
		panic("serve: " + err.Error()) // the function's form is wrong
	}
}
