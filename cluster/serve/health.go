package serve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	apimachineryversion "k8s.io/apimachinery/pkg/version"

	"kviz/cluster/apiserver/request"

	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/serviceaccount"
	"kviz/cluster/sim"
)

// healthy is what the health checks ask.
type healthy interface {
	Ready() bool
	// ProbeStore reads from the store, as the health checks do, and gives what is wrong.
	ProbeStore(t *sim.Task) error
	// Encryption has the check of KMS plugins.
	Encryption() *encrypt.AtRest
}

// flows is what /debug/api_priority_and_fairness/ shows.
type flows interface {
	// WriteFlows writes a dump of it, and reports whether there is one of the name.
	WriteFlows(w io.Writer, dump string, details bool) bool
}

// KubernetesVersion is the version of Kubernetes that is simulated.
const KubernetesVersion = "v1.37.1"

// serveVersion answers /version.
func serveVersion(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		writeStatus(w, r, routeError(http.StatusMethodNotAllowed, ""))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	b, _ := json.MarshalIndent(apimachineryversion.Info{
		Major: "1", Minor: "37", GitVersion: KubernetesVersion + "+kviz",
		GitTreeState: "clean", GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}, "", "  ")
	_, _ = w.Write(b)
}

// serveHealth answers /healthz, /livez and /readyz, with a line a check where
// ?verbose is asked, and without the checks that ?exclude names (apiserver pkg/server/healthz).
func (h *Handler) serveHealth(w http.ResponseWriter, r *http.Request, path string) {
	group, only, _ := strings.Cut(path, "/")
	up, ready, plugins, well, stored := false, false, false, false, true
	err := h.cfg.Kernel.Do(func() {
		if api := h.cfg.API(); api != nil {
			up, ready = true, api.Ready()
			plugins, well = api.Encryption().PluginHealth()
		}
	})
	if err == nil && !up && !h.starting() {
		h.refuse(w, r)
		return
	}
	if err == nil && ready && strings.HasPrefix(cmp.Or(only, "etcd"), "etcd") {
		stored = h.probeStore(r)
	}
	checks := []check{{"ping", true}, {"log", true}, {"etcd", ready && stored}}
	if group == "readyz" {
		checks = append(checks, check{"etcd-readiness", ready && stored})
	}
	checks = append(checks, check{"poststarthook/start-apiserver-admission-initializer", ready})
	if plugins && group != "livez" {
		checks = append(checks, check{"kms-providers", well})
	}
	if group == "readyz" {
		checks = append(checks, check{"shutdown", err == nil})
	}
	var b strings.Builder
	excluded := sets.New[string]()
	if only == "" {
		excluded.Insert(r.URL.Query()["exclude"]...)
	}
	healthy, known := true, only == ""
	for _, c := range checks {
		if only != "" && only != c.name {
			continue
		}
		known = true
		if excluded.Has(c.name) {
			excluded.Delete(c.name)
			fmt.Fprintf(&b, "[+]%s excluded: ok\n", c.name)
			continue
		}
		if c.ok {
			fmt.Fprintf(&b, "[+]%s ok\n", c.name)
			continue
		}
		healthy = false
		fmt.Fprintf(&b, "[-]%s failed: reason withheld\n", c.name)
	}
	if !known {
		writePathNotFound(w)
		return
	}
	if len(excluded) > 0 {
		fmt.Fprintf(&b, "warn: some health checks cannot be excluded: no matches for \"%s\"\n", strings.Join(sets.List(excluded), `","`))
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, verbose := r.URL.Query()["verbose"]
	switch {
	case !healthy:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "%s%s check failed\n", b.String(), group)
	case verbose:
		fmt.Fprintf(w, "%s%s check passed\n", b.String(), group)
	default:
		fmt.Fprint(w, "ok")
	}
}

// check is one of the checks of the health.
type check struct {
	name string
	ok   bool
}

// probeStore reports whether the store answers, as the API server's own client finds it
// (storagebackend/factory newETCD3Check). While the cluster stands still nobody can
// ask, and the store is taken to be as well as it was.
func (h *Handler) probeStore(r *http.Request) bool {
	paused := false
	if h.cfg.Kernel.Do(func() { paused = h.cfg.Kernel.Paused() }) != nil || paused {
		return true
	}
	var bad error
	caller := h.caller(r, &request.Request{})
	err := h.cfg.Kernel.Call(r.Context(), caller.Process, "probe the store", func(t *sim.Task) {
		bad = h.probe(t, caller)
	}, func() { h.enter(inputProbe, h.sentBy(caller)) })
	return err == nil && bad == nil
}

func (h *Handler) probe(t *sim.Task, caller Caller) error {
	t.SetCauses(caller.Causes...)
	if api := h.cfg.API(); api != nil {
		return api.ProbeStore(t)
	}
	return nil
}

// serveMetrics answers /metrics with what has a meaning here.
func (h *Handler) serveMetrics(w http.ResponseWriter) {
	var elapsed float64
	var last uint64
	var waiting int
	var own strings.Builder
	h.cfg.Kernel.Do(func() {
		if api := h.cfg.API(); api != nil {
			api.WriteMetrics(&own)
		}
		elapsed, last, waiting = h.cfg.Kernel.Elapsed().Seconds(), h.cfg.Kernel.Last().Seq, h.cfg.Kernel.Waiting()
	})
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	fmt.Fprintf(w, `# HELP kubernetes_build_info Version of Kubernetes that is simulated.
# TYPE kubernetes_build_info gauge
kubernetes_build_info{git_version=%q} 1
# HELP kviz_virtual_seconds Virtual time since the cluster's epoch.
# TYPE kviz_virtual_seconds counter
kviz_virtual_seconds %g
# HELP kviz_trace_events_total Events in the trace.
# TYPE kviz_trace_events_total counter
kviz_trace_events_total %d
# HELP kviz_requests_waiting Requests from outside that wait because the cluster is paused.
# TYPE kviz_requests_waiting gauge
kviz_requests_waiting %d
%s`, KubernetesVersion, elapsed, last, waiting, own.String())
}

const debugFlows = "/debug/api_priority_and_fairness/"

// serveFlows answers the dumps of priority and fairness (apiserver
// pkg/util/flowcontrol/apf_controller_debug.go Install).
func (h *Handler) serveFlows(w http.ResponseWriter, r *http.Request, dump string) {
	var b strings.Builder
	up, known := false, false
	err := h.cfg.Kernel.Do(func() {
		if api := h.cfg.API(); api != nil && api.Ready() {
			up, known = true, api.WriteFlows(&b, dump, r.URL.Query().Get("includeRequestDetails") != "")
		}
	})
	switch {
	case err != nil || !up:
		h.refuse(w, r)
	case !known:
		writePathNotFound(w)
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, b.String())
	}
}

// servePaths answers / with the paths there are.
func (h *Handler) servePaths(w http.ResponseWriter, r *http.Request) {
	paths := []string{serviceaccount.OpenIDConfigPath, "/api"}
	groups := h.served()
	for _, g := range groups {
		if g.Name == "" {
			paths = append(paths, "/api/v1", "/apis", "/apis/")
			continue
		}
		paths = append(paths, "/apis/"+g.Name)
		for _, v := range g.Versions {
			paths = append(paths, "/apis/"+g.Name+"/"+v.Version)
		}
	}
	paths = append(paths, "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", serviceaccount.JWKSPath, "/readyz", "/version")
	writeDocument(w, r, "application/json", map[string]any{"paths": paths})
}
