package controlplane

import (
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/registry/service"
	"kviz/cluster/client"
	"kviz/cluster/record"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Repair keeps Services and IPAddresses in line: a Service's cluster IP has an IPAddress that
// refers to it, and an IPAddress that the allocator made has its Service (pkg/registry/core/
// service/ipallocator/controller/repairip.go). It looks from when somebody asks for IPAddresses
// on, or where the store that the server found lacks one: nobody has changed what nobody has used.
type Repair struct {
	Client client.Interface
	Caches interface {
		Get(r client.Resource, namespace, name string) runtime.Object
		Each(r client.Resource, namespace string, fn func(runtime.Object) bool)
		Opened(k *registry.Kind) *cacher.Cache
		WaitFresh(t *sim.Task, k *registry.Kind) bool
		Newest(t *sim.Task, r client.Resource, namespace string) ([]runtime.Object, error)
	}
	CIDR    netip.Prefix // what there is where nobody has written a ServiceCIDR
	Leads   func() bool
	Process *sim.Process

	events  *record.Recorder // made when there is something to tell
	queue   []toRepair
	why     map[toRepair]trace.ID
	wake    sim.Cond
	planned bool // a look at all Services is
	began   bool
}

// toRepair is a Service or an IPAddress to look at.
type toRepair struct {
	ip  bool
	key string
}

// Upstream's times.
const (
	repairEvery    = 3 * time.Minute  // repairLoopInterval: what has gone is found after at most this
	requestTimeout = 60 * time.Second // a Service may be on its way for so long
	revertTimeout  = 5 * time.Second  // and its address may be given back for so long
)

// ServiceChanged is called with every change of a Service.
func (r *Repair) ServiceChanged(key string) {
	if r.watching() {
		r.add(toRepair{key: key}, r.Process.Kernel().Last())
	}
}

// IPAddressChanged is called with every change of an IPAddress, from the start of their watch
// cache on; obj is nil when it is gone.
func (r *Repair) IPAddressChanged(name string, obj runtime.Object) {
	why := r.Process.Kernel().Last()
	if !r.began {
		r.all(why)
	}
	if obj != nil {
		r.add(toRepair{true, name}, why)
		return
	}
	missed := false
	r.Caches.Each(client.Services, "", func(obj runtime.Object) bool {
		missed = service.HasIP(obj.(*corev1.Service), name)
		return !missed
	})
	if missed && !r.planned {
		r.planned = true
		r.Process.Go("ipallocator-repair-all", func(t *sim.Task) {
			t.Sleep(repairEvery)
			r.planned = false
			r.all(why)
		})
	}
}

func (r *Repair) watching() bool { return r.Caches.Opened(ipAddressKind()) != nil }

func ipAddressKind() *registry.Kind {
	return registry.KindFor(client.IPAddresses.GroupVersionResource)
}

// all has every Service looked at.
func (r *Repair) all(why trace.ID) {
	r.began = true
	r.Caches.Each(client.Services, "", func(obj runtime.Object) bool {
		svc := obj.(*corev1.Service)
		r.add(toRepair{key: svc.Namespace + "/" + svc.Name}, why)
		return true
	})
}

func (r *Repair) add(what toRepair, why trace.ID) {
	if r.why == nil {
		r.why = map[toRepair]trace.ID{}
	}
	if _, queued := r.why[what]; !queued {
		r.queue = append(r.queue, what)
	}
	r.why[what] = why
	r.wake.Signal()
}

// later looks again after a while.
func (r *Repair) later(what toRepair, why trace.ID, d time.Duration) {
	r.Process.Go("ipallocator-repair-later", func(t *sim.Task) {
		t.Sleep(d)
		r.add(what, why)
	})
}

// Run is a task of the server. lacking says that the store has fewer IPAddresses than cluster IPs.
func (r *Repair) Run(t *sim.Task, lacking bool) {
	if lacking {
		r.all(trace.ID{})
	}
	for {
		for len(r.queue) == 0 {
			r.wake.Wait(t)
		}
		what := r.queue[0]
		r.queue = r.queue[1:]
		why := r.why[what]
		delete(r.why, what)
		if !r.Leads() || !r.Caches.WaitFresh(t, ipAddressKind()) {
			continue
		}
		t.SetCauses(why)
		var err error
		ref := client.IPAddresses.Ref("", what.key)
		if !what.ip {
			ref = client.Services.Ref(splitKey(what.key))
		}
		broken := t.HandleCrashOn(ref, "its cluster IP", func() {
			if what.ip {
				err = r.ip(t, what, why)
			} else {
				err = r.service(t, what.key)
			}
		})
		if broken != nil || err != nil {
			r.later(what, why, revertTimeout)
		}
	}
}

func (r *Repair) warn(t *sim.Task, obj runtime.Object, reason, format string, args ...any) {
	if r.events == nil {
		r.events = record.New(r.Process, r.Client, "ipallocator-repair-controller")
	}
	r.events.Event(t, obj, corev1.EventTypeWarning, reason, format, args...)
}

// service looks whether a Service's cluster IPs are its own (syncService).
func (r *Repair) service(t *sim.Task, key string) error {
	namespace, name := splitKey(key)
	svc, _ := r.Caches.Get(client.Services, namespace, name).(*corev1.Service)
	if svc == nil {
		return nil
	}
	cidrs, err := r.Caches.Newest(t, client.ServiceCIDRs, "")
	if err != nil {
		return err
	}
	for _, text := range svc.Spec.ClusterIPs {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			continue // None
		}
		if len(cidrs) == 0 && !service.Gives(r.CIDR, ip) || len(cidrs) > 0 && len(service.Within(cidrs, ip)) == 0 {
			r.warn(t, svc, "ClusterIPOutOfRange", "Cluster IP [%v]: %s is not within any configured Service CIDR; please recreate service", corev1.IPv4Protocol, ip)
			continue
		}
		if err := r.claim(t, svc, text); err != nil {
			return err
		}
	}
	return nil
}

// claim has the IPAddress of a Service's cluster IP refer to it.
func (r *Repair) claim(t *sim.Task, svc *corev1.Service, ip string) error {
	wrong := func() error {
		r.warn(t, svc, "ClusterIPNotAllocated", "the ClusterIP [%v]: %s for Service %s/%s has a wrong reference; repairing", corev1.IPv4Protocol, ip, svc.Namespace, svc.Name)
		return r.make(t, svc, ip, true)
	}
	is, _ := r.Caches.Get(client.IPAddresses, "", ip).(*networkingv1.IPAddress)
	if is == nil {
		r.warn(t, svc, "ClusterIPNotAllocated", "Cluster IP [%v]: %s is not allocated; repairing", corev1.IPv4Protocol, ip)
		return r.make(t, svc, ip, false)
	}
	switch to := service.ServiceKey(is); to {
	case svc.Namespace + "/" + svc.Name:
	case "":
		return wrong()
	default:
		namespace, name := splitKey(to)
		other, _ := r.Caches.Get(client.Services, namespace, name).(*corev1.Service)
		if other == nil {
			return wrong()
		}
		if service.HasIP(other, ip) {
			r.warn(t, svc, "ClusterIPAlreadyAllocated", "Cluster IP [%v]:%s was assigned to multiple services; please recreate service", corev1.IPv4Protocol, ip)
		}
	}
	if is.Labels[networkingv1.LabelIPAddressFamily] != string(corev1.IPv4Protocol) || is.Labels[networkingv1.LabelManagedBy] != service.ManagedBy {
		return r.make(t, svc, ip, true)
	}
	return nil
}

// make makes the IPAddress of a Service's cluster IP (recreateIPAddress).
func (r *Repair) make(t *sim.Task, svc *corev1.Service, ip string, again bool) error {
	if again {
		if err := r.remove(t, ip); err != nil {
			return err
		}
	}
	_, err := client.Create(t, r.Client, client.IPAddresses, "", service.NewIPAddress(ip, svc.Namespace, svc.Name))
	return err
}

func (r *Repair) remove(t *sim.Task, ip string) error {
	if err := r.Client.Delete(t, client.IPAddresses, "", ip, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// ip looks whether an IPAddress that the allocator made is a Service's (syncIPAddress).
func (r *Repair) ip(t *sim.Task, what toRepair, why trace.ID) error {
	is, _ := r.Caches.Get(client.IPAddresses, "", what.key).(*networkingv1.IPAddress)
	if is == nil || is.Labels[networkingv1.LabelManagedBy] != service.ManagedBy {
		return nil
	}
	key := service.ServiceKey(is)
	if key == "" {
		r.warn(t, is, "IPAddressNotAllocated", "IPAddress %s appears to have been modified, not referencing a Service %v: cleaning up", is.Name, is.Spec.ParentRef)
		return r.remove(t, is.Name)
	}
	namespace, name := splitKey(key)
	age := t.Now().Sub(is.CreationTimestamp.Time)
	svc, _ := r.Caches.Get(client.Services, namespace, name).(*corev1.Service)
	switch {
	case svc == nil && age <= requestTimeout:
		r.later(what, why, requestTimeout-age+time.Second)
		return nil
	case svc == nil:
		r.warn(t, is, "IPAddressNotAllocated", "IPAddress: %s for Service %s/%s appears to have leaked: cleaning up", is.Name, namespace, name)
		return r.remove(t, is.Name)
	case service.HasIP(svc, is.Name):
		return nil
	case svc.Spec.Type == corev1.ServiceTypeExternalName && age < requestTimeout:
		r.later(what, why, requestTimeout-age)
		return nil
	case is.CreationTimestamp.After(svc.CreationTimestamp.Time) && age < revertTimeout:
		r.later(what, why, revertTimeout)
		return nil
	}
	r.warn(t, is, "IPAddressWrongReference", "IPAddress: %s for Service %s/%s has a wrong reference; cleaning up", is.Name, namespace, name)
	return r.remove(t, is.Name)
}

func splitKey(key string) (namespace, name string) {
	namespace, name, _ = strings.Cut(key, "/")
	return namespace, name
}
