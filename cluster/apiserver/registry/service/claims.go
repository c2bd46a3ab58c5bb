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

// claim takes an address or a port for a Service; it reports false where another
// has it.
func (a *Allocation) claim(key, owner string, value []byte) (bool, error) {
	resp, _, err := a.Store.Txn(a.task, storage.IfUnmoved([]byte(key), 0, storage.Put(key, value)))
	if err != nil || resp.Succeeded {
		return err == nil, err
	}
	if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		return claimedBy(kvs[0]) == owner, nil
	}
	return false, nil
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
func (a *Allocation) claimIP(ip, namespace, name string) (bool, error) {
	if !a.Several() || a.dryRun {
		return true, nil
	}
	k := registry.KindFor(client.IPAddresses.GroupVersionResource)
	obj := &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{
			Name: ip, UID: object.NewUID(a.Rand()), CreationTimestamp: a.now, Generation: 1,
			Labels: map[string]string{networkingv1.LabelIPAddressFamily: string(corev1.IPv4Protocol), networkingv1.LabelManagedBy: "ipallocator.k8s.io"},
		},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: namespace, Name: name}},
	}
	obj.SetGroupVersionKind(client.IPAddresses.GVK())
	value, err := registry.Encode(k, obj)
	if err != nil {
		return false, err
	}
	return a.claim(k.Prefix+ip, namespace+"/"+name, value)
}

// claimPort takes a node port where there are several servers.
func (a *Allocation) claimPort(port int32, owner string) (bool, error) {
	if !a.Several() || a.dryRun {
		return true, nil
	}
	return a.claim(fmt.Sprintf("%s%d", portKeys, port), owner, []byte(owner))
}

// unclaim gives back what svc had taken and kept does not have.
func (a *Allocation) unclaim(svc, kept *corev1.Service) {
	if !a.Several() || a.dryRun {
		return
	}
	has, keeps := claimsOf(svc), claimsOf(kept)
	for _, key := range has {
		if slices.Contains(keeps, key) {
			continue
		}
		resp, err := a.Store.Range(a.task, &pb.RangeRequest{Key: []byte(key)})
		if err != nil || len(resp.Kvs) == 0 || claimedBy(resp.Kvs[0]) != svc.Namespace+"/"+svc.Name {
			continue
		}
		// It stays taken if this fails; upstream's repair loop would free it.
		_, _, _ = a.Store.Txn(a.task, storage.IfUnmoved([]byte(key), resp.Kvs[0].ModRevision, &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{
			RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(key)},
		}}))
	}
}

func claimsOf(svc *corev1.Service) (keys []string) {
	if svc == nil {
		return nil
	}
	for _, ip := range svc.Spec.ClusterIPs {
		if ip != corev1.ClusterIPNone {
			keys = append(keys, registry.KindFor(client.IPAddresses.GroupVersionResource).Prefix+ip)
		}
	}
	for _, p := range svc.Spec.Ports {
		if p.NodePort != 0 {
			keys = append(keys, fmt.Sprintf("%s%d", portKeys, p.NodePort))
		}
	}
	if p := svc.Spec.HealthCheckNodePort; p != 0 {
		keys = append(keys, fmt.Sprintf("%s%d", portKeys, p))
	}
	return keys
}
