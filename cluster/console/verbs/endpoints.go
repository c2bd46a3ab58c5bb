package verbs

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// endpoints tells how other programs of this machine reach the cluster.
func endpoints(_ context.Context, inv *use, args []string) int {
	if len(args) > 0 {
		return inv.badUse()
	}
	at := inv.cfg.Cluster.Endpoints()
	if at.APIServer == "" && at.Etcd == "" {
		fmt.Fprintln(inv.Out, "no other program reaches this cluster; kviz explore and kviz serve open it (--port, --etcd-port)")
		return 0
	}
	if at.APIServer != "" {
		fmt.Fprintf(inv.Out, "the API server: %s\n", at.APIServer)
	}
	if at.Etcd == "" {
		fmt.Fprintln(inv.Out, "the store: served to nobody else (--etcd-port N)")
	} else {
		fmt.Fprintf(inv.Out, "the store's members: %s\n", at.Etcd)
	}
	for _, v := range [][2]string{
		{"KUBECONFIG", at.Kubeconfig},
		{"ETCDCTL_ENDPOINTS", at.Etcd},
		{"ETCDCTL_CACERT", at.EtcdCA},
		{"ETCDCTL_CERT", at.EtcdCert},
		{"ETCDCTL_KEY", at.EtcdKey},
	} {
		if v[1] != "" {
			fmt.Fprintf(inv.Out, "export %s=%s\n", v[0], v[1])
		}
	}
	for _, path := range at.Lent {
		fmt.Fprintf(inv.Out, "for the %s of your own: --kubeconfig=%s\n", strings.ReplaceAll(strings.TrimSuffix(filepath.Base(path), ".conf"), "-", " "), path)
	}
	return 0
}
