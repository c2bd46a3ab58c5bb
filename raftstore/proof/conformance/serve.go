// Package conformance runs the storage tests of Kubernetes' API server, as
// they are, against kviz' store.
//
// k8s.io/apiserver/pkg/storage/etcd3's own tests call the functions RunTest… of
// k8s.io/apiserver/pkg/storage/testing, each on an etcd that the package
// testserver starts. The test here has Go build them with another testserver
// (overlay/testserver.go), which calls [Run]: three members of kviz, etcdapi
// before them, clientv3 over loopback. Not a line of the tests is changed or
// left out.
//
// Start reading at [Run].
package conformance

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.uber.org/zap"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"

	"kviz/raftstore"
	"kviz/raftstore/etcdapi"
)

// Run starts a store of three members and gives a client of it, as testserver's
// RunEtcd does. Like there nothing is synced.
func Run(t testing.TB, progress time.Duration) *kubernetes.Client {
	t.Helper()
	store, err := raftstore.Open(raftstore.Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	served, err := etcdapi.Serve(store, etcdapi.Config{WatchProgressInterval: progress})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := served.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err := kubernetes.New(clientv3.Config{Endpoints: served.Endpoints, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	recorder := storagetesting.NewKubernetesRecorder(client.Kubernetes)
	client.KV = storagetesting.NewKVRecorder(client.KV, recorder)
	client.Kubernetes = recorder
	return client
}
