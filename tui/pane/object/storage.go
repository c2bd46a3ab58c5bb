package object

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"kviz/cluster/view"
	"kviz/tui/pane"
	"kviz/tui/theme"
)

// drawStorage draws the chains of claim, volume, attachment and pods that an object is in; and of a claim without a volume,
// what is against each volume that there is, or the calls of the storage driver about the volume.
func drawStorage(s *pane.Sheet, f *pane.Frame, y int, o *view.Object) int {
	chains := f.S.ChainsOf(o)
	if o.Deleted && stored(o) { // nothing hangs together with it any more
		return drawCalls(s, f, y, o, "")
	}
	if len(chains) == 0 {
		return y
	}
	y = s.Heading(y, "storage", "claim → volume → attachment, pods")
	for _, c := range chains {
		links := f.S.Links(c)
		if c.Claim == o && c.Volume == nil && len(links) > 1 {
			links[1].Detail = "" // said below in full
		}
		y = s.Chain(y, f, links)
	}
	if !stored(o) {
		return y
	}
	reasons, said, of := f.S.Reasons(o), "", chains[0].Volume
	if of == nil {
		of = o
	}
	if len(reasons) > 0 {
		said = reasons[0].Says
	}
	y = drawCalls(s, f, y, of, said)
	if len(reasons) == 0 {
		return y
	}
	switch why, c := reasons[0], chains[0]; {
	case c.Claim == o && c.Volume == nil:
		y = s.Say(y, why.Says, theme.Warn)
		if list := volumesOf(why.From); len(list) > 0 {
			y = drawList(s, f, s.Heading(y, "volumes", "and what is against each"), folded(list, f))
		}
	case c.Volume != nil && o.Ref == c.Volume.Ref:
		y = s.Say(y, why.Says, theme.Muted)
	}
	return y
}

// stored reports whether an object is one of a chain's own, and not a pod that uses one.
func stored(o *view.Object) bool {
	switch o.Value.(type) {
	case *corev1.PersistentVolumeClaim, *corev1.PersistentVolume, *storagev1.VolumeAttachment:
		return true
	}
	return false
}

// volumesOf are the volumes of a list.
func volumesOf(list []view.Keeper) (out []view.Keeper) {
	for _, k := range list {
		if k.Ref.Kind == "PersistentVolume" || k.Ref.Kind == "" {
			out = append(out, k)
		}
	}
	return out
}
