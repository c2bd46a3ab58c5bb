package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sort"
	"time"

	"kviz/cluster/informer"
)

// healthPort is where a proxy says that it is well (--healthz-bind-address).
const healthPort = 10256

// serveHealth has the proxy answer GET /healthz on its own port, as long as it lives
// (pkg/proxy/healthcheck/proxy_health.go). Simplified: it is well as long as it lives.
func (px *Proxy) serveHealth() {
	px.cfg.Node.Serve(healthPort, func(path string) (int, string, bool) {
		if path != "/healthz" {
			return http.StatusNotFound, "404 page not found\n", px.p.Alive()
		}
		now := px.k.Now().UTC().Format(time.RFC3339)
		body, _ := json.Marshal(struct { // of strings and a bool
			LastUpdated  string `json:"lastUpdated"`
			CurrentTime  string `json:"currentTime"`
			NodeEligible bool   `json:"nodeEligible"`
		}{now, now, true})
		return http.StatusOK, string(body) + "\n", px.p.Alive()
	})
}

// checks are the health check node ports that a proxy serves: what each of them says.
type checks map[int]*check

// check is one Service's: how many of its ready endpoints are on the node.
type check struct {
	namespace, name string
	endpoints       int
}

// serveChecks opens and closes health check node ports as the Services want them
// (pkg/proxy/healthcheck/service_health.go SyncServices and SyncEndpoints).
func (px *Proxy) serveChecks() {
	want := checks{}
	for key, blocks := range px.blocks {
		if blocks[0].healthPort == 0 {
			continue
		}
		local := map[string]bool{}
		for _, b := range blocks {
			for _, ip := range b.localReady {
				local[ip] = true
			}
		}
		c := &check{endpoints: len(local)}
		c.namespace, c.name = informer.SplitKey(key)
		want[blocks[0].healthPort] = c
	}
	for _, port := range sortedPorts(px.checks) {
		if want[port] == nil {
			px.cfg.Node.Serve(port, nil)
		}
	}
	for _, port := range sortedPorts(want) {
		c := want[port]
		px.cfg.Node.Serve(port, func(string) (int, string, bool) {
			code, body := c.answer()
			return code, body, px.p.Alive()
		})
	}
	px.checks = want
}

func sortedPorts(cs checks) []int {
	ports := make([]int, 0, len(cs))
	for p := range cs {
		ports = append(ports, p)
	}
	sort.Ints(ports)
	return ports
}

// answer is what a load balancer gets (hcHandler.ServeHTTP).
func (c *check) answer() (code int, body string) {
	code = http.StatusOK
	if c.endpoints == 0 {
		code = http.StatusServiceUnavailable
	}
	return code, fmt.Sprintf("{\n\t\"service\": {\n\t\t\"namespace\": %q,\n\t\t\"name\": %q\n\t},\n\t\"localEndpoints\": %d,\n\t\"serviceProxyHealthy\": true\n}",
		c.namespace, c.name, c.endpoints)
}
