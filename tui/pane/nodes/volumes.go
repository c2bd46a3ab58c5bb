package nodes

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"kviz/cluster/view"
	"kviz/tui/pane"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// mostChains is how many claims are drawn of a node.
const mostChains = 6

// drawVolumes draws the claims that pods of the node use, or whose volumes are attached to it: a row for each, from the
// claim to the pods of this node.
func drawVolumes(s *pane.Sheet, f *pane.Frame, y int, n *view.Node) int {
	chains := chainsOn(f, n)
	if len(chains) == 0 {
		return y
	}
	y = s.Heading(y, "volumes", "claim → volume → attachment → pod")
	for i, c := range chains {
		if i == mostChains {
			return s.Say(y, "and "+words.Count(len(chains)-i, "claim")+" more", theme.Muted)
		}
		y = s.ChainRow(y, f, f.S.Links(c))
	}
	return y
}

// chainsOn are the chains of a node, without what of them is on other nodes.
func chainsOn(f *pane.Frame, n *view.Node) (all []view.ClaimChain) {
	seen := map[string]bool{}
	add := func(c view.ClaimChain) {
		if c.Name == "" || seen[c.Name] {
			return
		}
		seen[c.Name] = true
		var pods, attached []*view.Object
		for _, o := range c.Pods {
			if o.Value.(*corev1.Pod).Spec.NodeName == n.Name {
				pods = append(pods, o)
			}
		}
		for _, o := range c.Attachments {
			if o.Value.(*storagev1.VolumeAttachment).Spec.NodeName == n.Name {
				attached = append(attached, o)
			}
		}
		c.Pods, c.Attachments = pods, attached
		all = append(all, c)
	}
	for _, p := range n.Pods() {
		for _, c := range f.S.ChainsOf(podObject(f, p)) {
			add(c)
		}
	}
	f.S.EachObject("volumeattachments", "", func(o *view.Object) bool {
		if v, ok := o.Value.(*storagev1.VolumeAttachment); ok && v.Spec.NodeName == n.Name {
			for _, c := range f.S.ChainsOf(o) {
				add(c)
			}
		}
		return true
	})
	return all
}

// podObject is a node's pod as an object; nil where it is gone.
func podObject(f *pane.Frame, p *view.NodePod) *view.Object {
	return f.S.Find(pane.OnPod(p.Pod).Ref)
}
