package servicecidr

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// sync looks at one ServiceCIDR.
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.cidrs.Get(run.Key)
	if !ok {
		return nil
	}
	cidr := obj.(*networkingv1.ServiceCIDR)
	if cidr.DeletionTimestamp != nil {
		return c.end(run, cidr)
	}
	if !slices.Contains(cidr.Finalizers, Finalizer) {
		run.Act("patch", client.RefOf(cidr), Finalizer, nil, "ServiceCIDR %s may give addresses: add the finalizer %s, so that it stays while it has any", cidr.Name, Finalizer)
		if err := c.patch(run, cidr, map[string]any{"finalizers": []string{Finalizer}}); err != nil {
			return err
		}
	}
	err := c.say(run, cidr, metav1.Condition{
		Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue, Message: "Kubernetes Service CIDR is ready",
	}, "ServiceCIDR %s has its finalizer: Ready, from now on the API servers give addresses of %s", cidr.Name, strings.Join(cidr.Spec.CIDRs, " and "))
	if err != nil {
		c.Events.Event(run.T, cidr, corev1.EventTypeWarning, "KubernetesServiceCIDRError", "The ServiceCIDR Status can not be set to Ready=True")
	}
	return err
}

// end lets a ServiceCIDR go that is deleted, when nothing keeps it.
func (c *Controller) end(run *reconcile.Run, cidr *networkingv1.ServiceCIDR) error {
	because, kept := c.kept(run, cidr)
	if len(kept) > 0 {
		run.Waits("%d IPAddresses are in no other ServiceCIDR than %s, %s the first: it stays", len(kept), cidr.Name, kept[0])
		return c.say(run, cidr, metav1.Condition{
			Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionFalse, Reason: networkingv1.ServiceCIDRReasonTerminating,
			Message: "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR",
		}, "%d IPAddresses are in no other ServiceCIDR than %s, %s the first: not Ready, it stays until they have gone", len(kept), cidr.Name, kept[0])
	}
	if left := grace - run.T.Now().Sub(cidr.DeletionTimestamp.Time); left > 0 {
		run.Waits("%s; it goes in %s, when every API server has seen that it gives no addresses any more", because, left)
		run.Again(left)
		return nil
	}
	if !slices.Contains(cidr.Finalizers, Finalizer) {
		return nil
	}
	run.Act("patch", client.RefOf(cidr), nil, Finalizer, "%s, and %s have passed since its deletion: take the finalizer away", because, grace)
	return c.patch(run, cidr, map[string]any{"$deleteFromPrimitiveList/finalizers": []string{Finalizer}})
}

// kept are the addresses that keep a ServiceCIDR from going; if there are none, because says
// why it may (canDeleteCIDR).
func (c *Controller) kept(run *reconcile.Run, cidr *networkingv1.ServiceCIDR) (because string, ips []string) {
	all := c.cidrs.List()
	run.Look(len(all))
	inside := !some(cidr, func(p netip.Prefix) bool {
		return !slices.ContainsFunc(all, func(obj runtime.Object) bool {
			other := obj.(*networkingv1.ServiceCIDR)
			return other.Name != cidr.Name && some(other, func(o netip.Prefix) bool { return o.Overlaps(p) && o.Bits() <= p.Bits() })
		})
	})
	if inside {
		return "other ServiceCIDRs contain all addresses of " + cidr.Name, nil
	}
	addresses := c.ips.List()
	run.Look(len(addresses))
	for _, obj := range addresses {
		ip := obj.(*networkingv1.IPAddress)
		addr, err := netip.ParseAddr(ip.Name)
		if err != nil || ip.Labels[networkingv1.LabelManagedBy] != managedBy || !sameFamily(cidr, ip) {
			continue
		}
		if in := containing(all, addr); len(in) == 1 && in[0].Name == cidr.Name {
			ips = append(ips, ip.Name)
		}
	}
	return "no IPAddress is in " + cidr.Name + " alone", ips
}

// sameFamily reports whether an address may be in a range of a ServiceCIDR.
func sameFamily(cidr *networkingv1.ServiceCIDR, ip *networkingv1.IPAddress) bool {
	return some(cidr, func(p netip.Prefix) bool {
		family := corev1.IPv6Protocol
		if p.Addr().Is4() {
			family = corev1.IPv4Protocol
		}
		return ip.Labels[networkingv1.LabelIPAddressFamily] == string(family)
	})
}

// say writes the condition Ready unless it says so already (updateConditionIfNeeded).
func (c *Controller) say(run *reconcile.Run, cidr *networkingv1.ServiceCIDR, is metav1.Condition, why string, args ...any) error {
	was := meta.FindStatusCondition(cidr.Status.Conditions, is.Type)
	if was != nil && was.Status == is.Status && was.Reason == is.Reason && was.Message == is.Message {
		return nil
	}
	run.Act("update", client.RefOf(cidr), is.Status, nil, why, args...)
	is.LastTransitionTime = client.Now(run.T)
	// A write of the whole would take away the finalizer that has just been added, which the cache does
	// not show yet. Conditions merge by their type.
	data, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []metav1.Condition{is}}})
	if err != nil {
		return err
	}
	_, err = c.Client.Patch(run.T, client.ServiceCIDRs, "", cidr.Name, types.StrategicMergePatchType, data, "status")
	return err
}

func (c *Controller) patch(run *reconcile.Run, cidr *networkingv1.ServiceCIDR, metadata map[string]any) error {
	data, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	if _, err = c.Client.Patch(run.T, client.ServiceCIDRs, "", cidr.Name, types.StrategicMergePatchType, data, ""); apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// some reports whether something is true of a range of a ServiceCIDR.
func some(cidr *networkingv1.ServiceCIDR, is func(netip.Prefix) bool) bool {
	return slices.ContainsFunc(cidr.Spec.CIDRs, func(text string) bool {
		p, err := netip.ParsePrefix(text)
		return err == nil && is(p)
	})
}

// containing are the ServiceCIDRs that give an address: neither a network's own nor, of
// IPv4, its last (pkg/api/servicecidr ContainsAddress).
func containing(all []runtime.Object, ip netip.Addr) (in []*networkingv1.ServiceCIDR) {
	for _, obj := range all {
		cidr := obj.(*networkingv1.ServiceCIDR)
		if some(cidr, func(p netip.Prefix) bool {
			return p.Contains(ip) && ip != p.Masked().Addr() && (!ip.Is4() || p.Contains(ip.Next()))
		}) {
			in = append(in, cidr)
		}
	}
	return in
}
