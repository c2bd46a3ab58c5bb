package cluster

import (
	"fmt"

	"kviz/cluster/apiserver/handlers"
)

// componentHealth probes what the API server looks at for ComponentStatus: the health
// endpoints of the controller manager and the scheduler on its own machine, and etcd
// (pkg/registry/core/rest/storage_core.go serversToValidate).
func componentHealth(components *components, etcd *etcd) []handlers.ComponentHealth {
	var out []handlers.ComponentHealth
	port := map[string]int{"controller-manager": 10257, "scheduler": 10259}
	for _, name := range []string{"controller-manager", "scheduler"} {
		h := handlers.ComponentHealth{Name: name, Message: "ok"}
		if m := components.find(name); m == nil || !m.up() {
			h.Error = fmt.Sprintf("Get \"https://127.0.0.1:%d/healthz\": dial tcp 127.0.0.1:%d: connect: connection refused", port[name], port[name])
		}
		out = append(out, h)
	}
	db := handlers.ComponentHealth{Name: "etcd-0", Message: "ok"}
	if !etcd.store.Healthy() {
		db.Error = "context deadline exceeded"
	}
	return append(out, db)
}
