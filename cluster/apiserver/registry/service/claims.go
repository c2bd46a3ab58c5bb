package service

import (
	"fmt"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
)

// A cluster IP is taken by making the IPAddress of that name, which refers to the Service
// (pkg/registry/core/service/ipallocator/ipallocator.go createIPAddress): the second that
// tries finds it there and draws another. A node port is taken by making its key, and only
// where there are several servers; a server alone knows all ports that are taken from its
// watch cache (upstream they are a bitmap, under /registry/ranges/servicenodeports).

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

// ipKind is the kind of the objects that cluster IPs are.
func ipKind() *registry.Kind { return registry.KindFor(client.IPAddresses.GroupVersionResource) }

// NewIPAddress is the object of a Service's cluster IP (newIPAddress).
func NewIPAddress(ip, namespace, name string) *networkingv1.IPAddress {
	return &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: ip, Labels: map[string]string{
			networkingv1.LabelIPAddressFamily: string(corev1.IPv4Protocol), networkingv1.LabelManagedBy: ManagedBy,
		}},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: namespace, Name: name}},
	}
}

// ManagedBy is who makes the IPAddresses of cluster IPs (ipallocator ControllerName).
const ManagedBy = "ipallocator.k8s.io"

// claimIP takes a cluster IP.
func (a *Allocation) claimIP(ip string) (bool, error) {
	obj := NewIPAddress(ip, a.svc.Namespace, a.svc.Name)
	obj.UID, obj.CreationTimestamp, obj.Generation = a.UID(), a.Now, 1
	obj.SetGroupVersionKind(client.IPAddresses.GVK())
	value, err := registry.Encode(ipKind(), obj)
	if err != nil {
		return false, err
	}
	key := ipKind().Prefix + ip
	if value, err = a.Seal(a.Task, ipKind(), key, value); err != nil {
		return false, err
	}
	return a.claim(key, value)
}

// claimPort takes a node port where there are several servers.
func (a *Allocation) claimPort(port int32) (bool, error) {
	if !a.Several() {
		return true, nil
	}
	return a.claim(fmt.Sprintf("%s%d", portKeys, port), []byte(a.svc.Namespace+"/"+a.svc.Name))
}

// giveBack deletes the Service's claims in the store, except those that it keeps: an
// IPAddress whatever it says (ipallocator.go release), a port if it is the Service's. What
// fails stays taken; the repair loop frees addresses.
func (a *Allocation) giveBack(claims, keeps []string) {
	for _, key := range claims {
		remove := &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(key)}}}
		switch {
		case slices.Contains(keeps, key):
		case !strings.HasPrefix(key, portKeys):
			_, _, _ = a.Store.Txn(a.Task, &pb.TxnRequest{Success: []*pb.RequestOp{remove}})
		case a.Several():
			resp, err := a.Store.Range(a.Task, &pb.RangeRequest{Key: []byte(key)})
			if err == nil && len(resp.Kvs) > 0 && string(resp.Kvs[0].Value) == a.svc.Namespace+"/"+a.svc.Name {
				_, _, _ = a.Store.Txn(a.Task, storage.IfUnmoved([]byte(key), resp.Kvs[0].ModRevision, remove))
			}
		}
	}
}

// claimsOf are the keys of what a Service, which may be nil, has.
func claimsOf(svc *corev1.Service) (keys []string) {
	for _, addr := range addressesOf(svc) {
		keys = append(keys, ipKind().Prefix+addr.String())
	}
	for _, p := range portsOf(svc) {
		keys = append(keys, fmt.Sprintf("%s%d", portKeys, p))
	}
	return keys
}
