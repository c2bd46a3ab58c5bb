package cloudnode

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	netutils "k8s.io/utils/net"

	"kviz/cluster/client"
	"kviz/cluster/controller/cloudprovider"
	"kviz/cluster/sim"
)

// nodeIP is where a kubelet with --cloud-provider=external says the address that it was given
// with --node-ip (cloudproviderapi.AnnotationAlphaProvidedIPAddr).
const nodeIP = "alpha.kubernetes.io/provided-node-ip"

// updateStatus asks the cloud for the addresses of all nodes that are initialized
// (UpdateNodeStatus).
func (c *Controller) updateStatus(t *sim.Task) {
	t.SetCauses()
	c.Linger(t)
	for _, obj := range c.nodes.List() {
		node := obj.(*corev1.Node)
		if tainted(node) {
			continue // sync does it
		}
		t.SetCauses(c.told[node.Name])
		c.Attempt(t, client.RefOf(node), "a look at the node's addresses", func() {
			if m, err := c.instances.Metadata(t, node); err == nil && m != nil {
				c.updateAddresses(t, node, m)
			} // else the next look tries again
		})
	}
}

// updateAddresses writes the addresses that the cloud says into a node's status
// (updateNodeAddress).
func (c *Controller) updateAddresses(t *sim.Task, node *corev1.Node, m *cloudprovider.Metadata) {
	addresses := slices.Clone(m.Addresses)
	if len(addresses) == 0 {
		return
	}
	if !slices.ContainsFunc(addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeHostName }) {
		for _, a := range node.Status.Addresses { // that of the kubelet
			if a.Type == corev1.NodeHostName {
				addresses = append(addresses, a)
			}
		}
	}
	addresses, err := addressesOf(node, addresses)
	if err != nil || !differ(node.Status.Addresses, addresses) {
		return
	}
	c.Act(t, node.Name, client.RefOf(node), "patch", client.RefOf(node), listed(addresses), listed(node.Status.Addresses),
		fmt.Sprintf("The cloud says that node %s has the addresses %s, and its status says %s: write the cloud's", node.Name, listed(addresses), listed(node.Status.Addresses)))
	patch, err := statusPatch(node, addresses)
	if err != nil {
		return
	}
	_, _ = c.Client.Patch(t, client.Nodes, "", node.Name, types.StrategicMergePatchType, patch, "status") // the next look tries again
}

func listed(addresses []corev1.NodeAddress) string {
	if len(addresses) == 0 {
		return "none"
	}
	var list []string
	for _, a := range addresses {
		list = append(list, string(a.Type)+" "+a.Address)
	}
	return strings.Join(list, ", ")
}

// differ is nodeAddressesChangeDetected.
func differ(old, now []corev1.NodeAddress) bool {
	if len(old) != len(now) {
		return true
	}
	was := map[corev1.NodeAddressType]string{}
	for _, a := range old {
		was[a.Type] = a.Address
	}
	return slices.ContainsFunc(now, func(a corev1.NodeAddress) bool { return was[a.Type] != a.Address })
}

// addressesOf are the cloud's addresses with that of --node-ip first, alone of its type
// (updateNodeAddressesFromNodeIP, cloudnodeutil.GetNodeAddressesFromNodeIP).
func addressesOf(node *corev1.Node, all []corev1.NodeAddress) ([]corev1.NodeAddress, error) {
	provided, ok := node.Annotations[nodeIP]
	if !ok {
		return all, nil
	}
	ips, err := providedIPs(provided)
	if err != nil {
		return nil, fmt.Errorf("failed to parse node IP %q: %v", provided, err)
	}
	out, has := []corev1.NodeAddress{}, map[corev1.NodeAddressType]bool{}
	for _, ip := range ips {
		matched := false
		for _, a := range all {
			if netutils.ParseIPSloppy(a.Address).Equal(ip) {
				out, matched = append(out, a), true
				has[a.Type] = true
			}
		}
		if !matched {
			return nil, fmt.Errorf("failed to get node address from cloud provider that matches ip: %v", ip)
		}
	}
	for _, a := range all {
		if !has[a.Type] {
			out = append(out, a)
		}
	}
	return out, nil
}

// providedIPs are the addresses of --node-ip (component-helpers/node/util ParseNodeIPAnnotation).
func providedIPs(text string) ([]net.IP, error) {
	var ips []net.IP
	for _, part := range strings.Split(text, ",") {
		ip := netutils.ParseIPSloppy(part)
		if ip == nil {
			return nil, fmt.Errorf("could not parse %q", part)
		}
		ips = append(ips, ip)
	}
	if len(ips) > 2 || len(ips) == 2 && netutils.IsIPv6(ips[0]) == netutils.IsIPv6(ips[1]) {
		return nil, fmt.Errorf("must contain either a single IP or a dual-stack pair of IPs")
	}
	if len(ips) == 2 && (ips[0].IsUnspecified() || ips[1].IsUnspecified()) {
		return nil, fmt.Errorf("dual-stack node IP cannot include '0.0.0.0' or '::'")
	}
	return ips, nil
}

// statusPatch is the patch of a node's addresses, which replaces all of them
// (component-helpers/node/util preparePatchBytesforNodeStatus: the type is annotated as if
// addresses were merged).
func statusPatch(node *corev1.Node, addresses []corev1.NodeAddress) ([]byte, error) {
	if len(node.Status.Addresses) == 0 {
		updated := node.DeepCopy()
		updated.Status.Addresses = addresses
		return difference(node, updated)
	}
	if equality.Semantic.DeepEqual(node.Status.Addresses, addresses) {
		return []byte("{}"), nil
	}
	var list []any
	for _, a := range addresses {
		list = append(list, a)
	}
	return json.Marshal(map[string]any{"status": map[string]any{"addresses": append(list, map[string]string{"$patch": "replace"})}})
}
