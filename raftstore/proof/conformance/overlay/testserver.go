// Package testserver stands in for k8s.io/apiserver/pkg/storage/etcd3/testserver
// when the storage tests are built: it starts kviz' store where that starts
// etcd.
//
// Start reading at [RunEtcd].
package testserver

import (
	"testing"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/server/v3/embed"

	"kviz/raftstore/proof/conformance"
)

// NewTestConfig is etcd's configuration; RunEtcd heeds only its
// WatchProgressNotifyInterval.
func NewTestConfig(testing.TB) *embed.Config { return embed.NewConfig() }

// RunEtcd starts a store and gives a client of it.
func RunEtcd(t testing.TB, cfg *embed.Config) *kubernetes.Client {
	t.Helper()
	if cfg == nil {
		cfg = NewTestConfig(t)
	}
	return conformance.Run(t, cfg.WatchProgressNotifyInterval)
}
