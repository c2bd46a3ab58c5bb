package view

import (
	"fmt"
	"net/netip"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// InWords says what an object is for, and how much of it is used, where its fields do not: of a StorageClass, a CSINode, a
// ServiceCIDR, an IPAddress or a ResourceClaim; "" of any other.
func (s *State) InWords(o *Object) string {
	if o == nil || o.Deleted {
		return ""
	}
	switch v := o.Value.(type) {
	case *storagev1.StorageClass:
		return s.classInWords(v)
	case *storagev1.CSINode:
		return s.driversInWords(v)
	case *networkingv1.ServiceCIDR:
		return s.rangeInWords(v)
	case *networkingv1.IPAddress:
		return s.addressInWords(v)
	case *resourcev1.ResourceClaim:
		return deviceInWords(v)
	}
	return ""
}

func (s *State) classInWords(c *storagev1.StorageClass) string {
	made := c.Provisioner + " makes its volumes at once"
	if c.Provisioner == "kubernetes.io/no-provisioner" {
		made = "nobody makes its volumes: they have to be there"
	}
	if c.VolumeBindingMode != nil && *c.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer {
		made = strings.Replace(made, "at once", "when the claim's first pod has a node", 1)
		if c.Provisioner == "kubernetes.io/no-provisioner" {
			made += ", and one is chosen when the claim's first pod is scheduled"
		}
	}
	says := []string{made}
	if c.ReclaimPolicy != nil && *c.ReclaimPolicy == "Retain" {
		says = append(says, "what is on them outlives the claim (Retain)")
	} else {
		says = append(says, "with the claim they go (Delete)")
	}
	if c.AllowVolumeExpansion != nil && *c.AllowVolumeExpansion {
		says = append(says, "claims may grow")
	}
	if s.defaultClass() == c.Name {
		says = append(says, "claims that name no class get it")
	}
	all, bound := 0, 0
	for _, v := range s.Claims("") {
		if v.Class == c.Name {
			if all++; v.Phase == "Bound" {
				bound++
			}
		}
	}
	switch {
	case all == 0:
		says = append(says, "no claim has it")
	case all == 1:
		says = append(says, fmt.Sprintf("one claim has it, %d Bound", bound))
	default:
		says = append(says, fmt.Sprintf("%d claims have it, %d of them Bound", all, bound))
	}
	return strings.Join(says, "; ")
}

func (s *State) driversInWords(n *storagev1.CSINode) string {
	if len(n.Spec.Drivers) == 0 {
		return "no storage driver has registered with its kubelet"
	}
	attached := 0
	s.EachObject("volumeattachments", "", func(o *Object) bool {
		if v, ok := o.Value.(*storagev1.VolumeAttachment); ok && v.Spec.NodeName == n.Name && v.Status.Attached {
			attached++
		}
		return true
	})
	var says []string
	for _, d := range n.Spec.Drivers {
		one := d.Name + " has registered with its kubelet"
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			one += fmt.Sprintf(", for %d volumes at most", *d.Allocatable.Count)
		}
		says = append(says, one)
	}
	return strings.Join(append(says, fmt.Sprintf("%d attached", attached)), "; ")
}

func (s *State) rangeInWords(c *networkingv1.ServiceCIDR) string {
	var says []string
	for _, cidr := range c.Spec.CIDRs {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			continue
		}
		used := 0
		s.EachObject("ipaddresses", "", func(o *Object) bool {
			if ip, err := netip.ParseAddr(o.Name()); err == nil && prefix.Contains(ip) {
				used++
			}
			return true
		})
		says = append(says, fmt.Sprintf("Services get their addresses from %s: %d given so far", cidr, used))
	}
	return strings.Join(says, "; ")
}

func (s *State) addressInWords(ip *networkingv1.IPAddress) string {
	p := ip.Spec.ParentRef
	if p == nil {
		return "it belongs to nothing"
	}
	name := p.Name
	if p.Namespace != "" {
		name = p.Namespace + "/" + p.Name
	}
	if p.Group == "" && p.Resource == "services" {
		if s.Object("services", p.Namespace, p.Name) == nil {
			return "it was the address of Service " + name + ", which is gone"
		}
		return "it is the address of Service " + name
	}
	return "it is the address of " + p.Resource + " " + name
}

func deviceInWords(c *resourcev1.ResourceClaim) string {
	if c.Status.Allocation == nil {
		return "no device is allocated to it: the scheduler does that when it places the first pod that uses it"
	}
	var devices, pods []string
	for _, r := range c.Status.Allocation.Devices.Results {
		devices = append(devices, fmt.Sprintf("%s of pool %s (%s)", r.Device, r.Pool, r.Driver))
	}
	for _, r := range c.Status.ReservedFor {
		pods = append(pods, r.Name)
	}
	return "it has " + orElse(strings.Join(devices, ", "), "no device") + ", reserved for " + orElse(strings.Join(pods, ", "), "nobody now")
}
