package service

import (
	"fmt"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
)

// A cluster IP is taken by making the IPAddress of that name, a node port by making
// its key: whoever comes second finds it there and draws another. Where there is one
// server it knows all that is taken from its watch cache and needs neither
// (pkg/registry/core/service/ipallocator/ipallocator.go, which makes IPAddresses
// always; node ports are a bitmap upstream, under /registry/ranges/servicenodeports).

// Store is where claims are, as etcd's client has it.
type Store interface {
	Range(t *sim.Task, r *pb.RangeRequest) (*pb.RangeResponse, error)
	Txn(t *sim.Task, r *pb.TxnRequest) (*pb.TxnResponse, trace.ID, error)
}

const portKeys = "/registry/ranges/servicenodeports/"

// claim takes an address or a port for the Service; it reports false where it is taken.
func (a *Allocation) claim(key string, value []byte) (bool, error) {
	resp, _, err := a.Store.Txn(a.Task, storage.IfUnmoved([]byte(key), 0, storage.Put(key, value)))
	if err != nil || !resp.Succeeded {
		return false, err
	}
	a.claims = append(a.claims, key)
	return true, nil
}

// claimedBy is the Service that has taken an address or a port.
func claimedBy(kv *mvccpb.KeyValue) string {
	k := registry.KindFor(client.IPAddresses.GroupVersionResource)
	if !strings.HasPrefix(string(kv.Key), k.Prefix) {
		return string(kv.Value)
	}
	if en, err := cacher.Decode(k, kv); err == nil {
		if ref := en.Object.(*networkingv1.IPAddress).Spec.ParentRef; ref != nil {
			return ref.Namespace + "/" + ref.Name
		}
	}
	return ""
}

// claimIP takes a cluster IP where there are several servers.
func (a *Allocation) claimIP(ip string) (bool, error) {
	if !a.Several() {
		return true, nil
	}
	k := registry.KindFor(client.IPAddresses.GroupVersionResource)
	obj := &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{
			Name: ip, UID: object.NewUID(a.Rand()), CreationTimestamp: a.Now, Generation: 1,
			Labels: map[string]string{networkingv1.LabelIPAddressFamily: string(corev1.IPv4Protocol), networkingv1.LabelManagedBy: "ipallocator.k8s.io"},
		},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: a.svc.Namespace, Name: a.svc.Name}},
	}
	obj.SetGroupVersionKind(client.IPAddresses.GVK())
	value, err := registry.Encode(k, obj)
	if err != nil {
		return false, err
	}
	return a.claim(k.Prefix+ip, value)
}

// claimPort takes a node port where there are several servers.
func (a *Allocation) claimPort(port int32) (bool, error) {
	if !a.Several() {
		return true, nil
	}
	return a.claim(fmt.Sprintf("%s%d", portKeys, port), []byte(a.svc.Namespace+"/"+a.svc.Name))
}

// giveBack deletes the Service's claims in the store, except those that it keeps.
func (a *Allocation) giveBack(claims, keeps []string) {
	if !a.Several() {
		return
	}
	for _, key := range claims {
		if slices.Contains(keeps, key) {
			continue
		}
		resp, err := a.Store.Range(a.Task, &pb.RangeRequest{Key: []byte(key)})
		if err != nil || len(resp.Kvs) == 0 || claimedBy(resp.Kvs[0]) != a.svc.Namespace+"/"+a.svc.Name {
			continue
		}
		// It stays taken if this fails; upstream's repair loop would free it.
		_, _, _ = a.Store.Txn(a.Task, storage.IfUnmoved([]byte(key), resp.Kvs[0].ModRevision, &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{
			RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(key)},
		}}))
	}
}

// claimsOf are the keys of what a Service, which may be nil, has.
func claimsOf(svc *corev1.Service) (keys []string) {
	for _, addr := range addressesOf(svc) {
		keys = append(keys, registry.KindFor(client.IPAddresses.GroupVersionResource).Prefix+addr.String())
	}
	for _, p := range portsOf(svc) {
		keys = append(keys, fmt.Sprintf("%s%d", portKeys, p))
	}
	return keys
}
