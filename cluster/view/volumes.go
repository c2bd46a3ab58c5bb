package view

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/storage/volume"

	"kviz/cluster/trace"
)

// ClaimChain is a claim with what stands behind it: the volume that it is bound to, where that is attached, and the
// pods that use the claim.
type ClaimChain struct {
	Name        string  // namespace/name of the claim
	Claim       *Object // nil where there is none of that name
	Volume      *Object // nil while the claim has none
	Attachments []*Object
	Pods        []*Object
}

// ClaimLink is one object of a chain in words.
type ClaimLink struct {
	Deep   int // how far down the chain
	What   string
	Name   string
	Phase  string // "Bound", "attached"
	Detail string
	Good   bool
	Ref    trace.Ref
	Event  trace.ID
}

// ChainsOf are the chains that an object is in: a claim's, a volume's, that of what is attached, or, of a pod, that of
// each of its claims.
func (s *State) ChainsOf(o *Object) (all []ClaimChain) {
	if o == nil || o.Deleted {
		return nil
	}
	switch v := o.Value.(type) {
	case *corev1.PersistentVolumeClaim:
		return []ClaimChain{s.chain(o.Namespace(), o.Name())}
	case *corev1.PersistentVolume:
		return []ClaimChain{s.chainOfVolume(o, v)}
	case *storagev1.VolumeAttachment:
		if name := v.Spec.Source.PersistentVolumeName; name != nil {
			if pv := s.Object("persistentvolumes", "", *name); pv != nil {
				return s.ChainsOf(pv)
			}
		}
		return []ClaimChain{{Attachments: []*Object{o}}}
	case *corev1.Pod:
		for _, name := range ClaimNames(v) {
			all = append(all, s.chain(o.Namespace(), name))
		}
	}
	return all
}

// ClaimNames are the claims that a pod uses, those that are made for it included (component-helpers
// storage/ephemeral VolumeClaimName).
func ClaimNames(pod *corev1.Pod) (names []string) {
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names = append(names, pod.Name+"-"+v.Name)
		}
	}
	return names
}

func (s *State) chain(namespace, name string) ClaimChain {
	c := ClaimChain{Name: namespace + "/" + name, Claim: s.Object("persistentvolumeclaims", namespace, name)}
	if c.Claim != nil {
		if v, ok := c.Claim.Value.(*corev1.PersistentVolumeClaim); ok && v.Spec.VolumeName != "" {
			c.Volume = s.Object("persistentvolumes", "", v.Spec.VolumeName)
		}
	}
	s.fill(&c, namespace, name)
	return c
}

func (s *State) chainOfVolume(o *Object, v *corev1.PersistentVolume) ClaimChain {
	c := ClaimChain{Volume: o}
	if ref := v.Spec.ClaimRef; ref != nil {
		c.Name = ref.Namespace + "/" + ref.Name
		if claim := s.Object("persistentvolumeclaims", ref.Namespace, ref.Name); claim != nil && (ref.UID == "" || claim.UID == string(ref.UID)) {
			c.Claim = claim
		}
		if c.Claim != nil {
			s.fill(&c, ref.Namespace, ref.Name)
			return c
		}
	}
	s.fill(&c, "", "")
	return c
}

// fill adds attachments and pods.
func (s *State) fill(c *ClaimChain, namespace, claim string) {
	if c.Volume != nil {
		s.EachObject("volumeattachments", "", func(o *Object) bool {
			if v, ok := o.Value.(*storagev1.VolumeAttachment); ok && v.Spec.Source.PersistentVolumeName != nil && *v.Spec.Source.PersistentVolumeName == c.Volume.Name() {
				c.Attachments = append(c.Attachments, o)
			}
			return true
		})
	}
	if claim == "" {
		return
	}
	s.EachObject("pods", namespace, func(o *Object) bool {
		if pod, ok := o.Value.(*corev1.Pod); ok && slices.Contains(ClaimNames(pod), claim) {
			c.Pods = append(c.Pods, o)
		}
		return true
	})
}

// Links are the parts of a chain from the claim to the pods. Those that are missing are told too.
func (s *State) Links(c ClaimChain) (all []ClaimLink) {
	deep := 0
	switch {
	case c.Claim != nil:
		all = append(all, s.claimLink(c.Claim))
		deep++
	case c.Name != "":
		_, name, _ := strings.Cut(c.Name, "/")
		all = append(all, ClaimLink{What: "claim", Name: name, Phase: "does not exist"})
		deep++
	}
	if c.Volume != nil {
		l := s.volumeLink(c.Volume)
		l.Deep = deep
		all = append(all, l)
		deep++
	} else if c.Claim != nil {
		all = append(all, ClaimLink{Deep: deep, What: "volume", Phase: "none yet", Detail: s.waitsFor(c)})
		deep++
	}
	for _, o := range c.Attachments {
		l := attachmentLink(o)
		l.Deep = deep
		all = append(all, l)
	}
	for _, o := range c.Pods {
		l := s.userLink(c, o)
		l.Deep = deep
		all = append(all, l)
	}
	return all
}

func (s *State) claimLink(o *Object) ClaimLink {
	v := o.Value.(*corev1.PersistentVolumeClaim)
	l := ClaimLink{What: "claim", Name: o.Name(), Phase: string(v.Status.Phase), Good: v.Status.Phase == corev1.ClaimBound, Ref: o.Ref, Event: o.Changed}
	asks := v.Spec.Resources.Requests[corev1.ResourceStorage]
	l.Detail = fmt.Sprintf("%s %s, class %s", asks.String(), modes(v.Spec.AccessModes), orElse(volume.GetPersistentVolumeClaimClass(v), "none"))
	if has, ok := v.Status.Capacity[corev1.ResourceStorage]; ok && has.Cmp(asks) != 0 {
		l.Detail = fmt.Sprintf("asks for %s and has %s, %s", asks.String(), has.String(), modes(v.Spec.AccessModes))
	}
	return l
}

func (s *State) volumeLink(o *Object) ClaimLink {
	v := o.Value.(*corev1.PersistentVolume)
	l := ClaimLink{What: "volume", Name: o.Name(), Phase: string(v.Status.Phase), Good: v.Status.Phase == corev1.VolumeBound || v.Status.Phase == corev1.VolumeAvailable, Ref: o.Ref, Event: o.Changed}
	size := v.Spec.Capacity[corev1.ResourceStorage]
	l.Detail = fmt.Sprintf("%s %s, %s", size.String(), modes(v.Spec.AccessModes), v.Spec.PersistentVolumeReclaimPolicy)
	if v.Spec.CSI != nil {
		l.Detail += ", " + v.Spec.CSI.Driver
	}
	return l
}

// attachmentLink is a VolumeAttachment, whose name is a hash, by its node.
func attachmentLink(o *Object) ClaimLink {
	v := o.Value.(*storagev1.VolumeAttachment)
	l := ClaimLink{What: "attachment", Name: v.Spec.NodeName, Ref: o.Ref, Event: o.Changed}
	switch e := v.Status.AttachError; {
	case o.Deleting() && v.Status.DetachError != nil:
		l.Phase, l.Detail = "detaching fails", v.Status.DetachError.Message
	case o.Deleting():
		l.Phase = "is being detached"
	case v.Status.Attached:
		l.Phase, l.Good = "attached", true
	case e != nil:
		l.Phase, l.Detail = "attaching fails", e.Message
	default:
		l.Phase, l.Detail = "not attached yet", "for "+v.Spec.Attacher+" to attach"
	}
	return l
}

// userLink is a pod that uses the claim.
func (s *State) userLink(c ClaimChain, o *Object) ClaimLink {
	pod := o.Value.(*corev1.Pod)
	l := ClaimLink{What: "pod", Name: o.Name(), Ref: o.Ref, Event: o.Changed}
	switch {
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		l.Phase, l.Good = string(pod.Status.Phase), true
	case pod.Spec.NodeName == "":
		l.Phase = "has no node yet"
	case pod.Status.Phase == corev1.PodRunning:
		l.Phase, l.Good = "has it mounted on "+pod.Spec.NodeName, true
	default:
		l.Phase = "waits for it on " + pod.Spec.NodeName
		if e := s.warned(o, "FailedMount", 0); e != nil {
			l.Detail = e.Message
		}
		if e := s.warned(o, "FailedAttachVolume", 0); e != nil {
			l.Detail = e.Message
		}
	}
	if o.Deleting() {
		l.Phase += ", is being deleted"
	}
	return l
}

// waitsFor says why the claim of a chain has no volume yet.
func (s *State) waitsFor(c ClaimChain) string {
	v, ok := c.Claim.Value.(*corev1.PersistentVolumeClaim)
	if !ok {
		return ""
	}
	return s.unbound(c, v)
}

// unbound says what a claim waits for, in the order in which its controller looks
// (pkg/controller/volume/persistentvolume syncUnboundClaim).
func (s *State) unbound(c ClaimChain, claim *corev1.PersistentVolumeClaim) string {
	if name := claim.Spec.VolumeName; name != "" {
		return s.askedFor(c, claim)
	}
	class := volume.GetPersistentVolumeClaimClass(claim)
	if class == "" {
		why := "it has no class, so only a volume without one can be its own"
		if claim.Spec.StorageClassName == nil {
			why = "it names no class, and there is no default StorageClass (storageclass.kubernetes.io/is-default-class) to be given to it"
			if name := s.defaultClass(); name != "" {
				why = "it names no class, and is about to be given the default one, " + name
			}
		}
		return why
	}
	o := s.Object("storageclasses", "", class)
	if o == nil {
		return fmt.Sprintf("it asks for class %s, and there is no StorageClass of that name", class)
	}
	sc, ok := o.Value.(*storagev1.StorageClass)
	if !ok {
		return ""
	}
	if sc.VolumeBindingMode != nil && *sc.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer && claim.Annotations[volume.AnnSelectedNode] == "" {
		return s.firstConsumer(c, class)
	}
	if sc.Provisioner == volume.NotSupportedProvisioner {
		return fmt.Sprintf("no volume fits it, and class %s has no provisioner that could make one", class)
	}
	why := fmt.Sprintf("no volume fits it, and %s, the provisioner of class %s, has to make one", sc.Provisioner, class)
	if node := claim.Annotations[volume.AnnSelectedNode]; node != "" {
		why += " for " + node
	}
	if p, down := s.down(provisioner); down && sc.Provisioner == simulatedDriver {
		return why + "; " + p.Name + " is not running: " + p.Reason
	}
	if e := s.warned(c.Claim, "ProvisioningFailed", 0); e != nil {
		return why + "; its last try failed: " + e.Message
	}
	return why
}

// The storage driver of the cluster, and the sidecar that has it make volumes.
const (
	simulatedDriver = "disk.csi.kviz.dev"
	provisioner     = "csi-provisioner"
)

// askedFor says why a claim does not get the volume that it asks for by name.
func (s *State) askedFor(c ClaimChain, claim *corev1.PersistentVolumeClaim) string {
	if c.Volume == nil {
		return fmt.Sprintf("it asks for volume %s by name, and there is no volume of that name", claim.Spec.VolumeName)
	}
	pv, ok := c.Volume.Value.(*corev1.PersistentVolume)
	if !ok {
		return ""
	}
	if against := rejects(claim, pv); against != "" {
		return fmt.Sprintf("it asks for volume %s by name, which will not do: %s", pv.Name, against)
	}
	return fmt.Sprintf("volume %s is for it, and the binding is not complete yet", pv.Name)
}

// firstConsumer says which pod a claim waits for that is bound where its first pod goes.
func (s *State) firstConsumer(c ClaimChain, class string) string {
	why := fmt.Sprintf("class %s binds a claim only when its first pod is scheduled (WaitForFirstConsumer)", class)
	for _, o := range c.Pods {
		if pod := o.Value.(*corev1.Pod); pod.Spec.NodeName == "" && !o.Deleting() {
			return why + ", and pod " + o.Name() + " has no node yet"
		}
	}
	return why + ", and no pod uses it"
}

// defaultClass is the StorageClass that claims without one get: of several the newest.
func (s *State) defaultClass() (name string) {
	var newest metav1.Time
	s.EachObject("storageclasses", "", func(o *Object) bool {
		if v, ok := o.Value.(*storagev1.StorageClass); ok && v.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" && (name == "" || newest.Before(&v.CreationTimestamp)) {
			name, newest = v.Name, v.CreationTimestamp
		}
		return true
	})
	return name
}

// rejects says what the binder has against giving a volume to a claim, in its order; "" where it fits
// (component-helpers storage/volume FindMatchingVolume).
func rejects(claim *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) string {
	size, asks := v.Spec.Capacity[corev1.ResourceStorage], claim.Spec.Resources.Requests[corev1.ResourceStorage]
	ours := volume.GetPersistentVolumeClaimClass(claim)
	switch {
	case v.Spec.ClaimRef != nil && !volume.IsVolumeBoundToClaim(v, claim) && v.Status.Phase == corev1.VolumeReleased:
		return fmt.Sprintf("it is Released: its data are those of claim %s, which is gone", claimOf(v))
	case v.Spec.ClaimRef != nil && !volume.IsVolumeBoundToClaim(v, claim):
		return "it is for claim " + claimOf(v)
	case size.Cmp(asks) < 0:
		return fmt.Sprintf("it is too small: %s, and the claim asks for %s", size.String(), asks.String())
	case !volume.CheckAccessModes(claim, v):
		return fmt.Sprintf("it has the access modes %s, and the claim asks for %s", modes(v.Spec.AccessModes), modes(claim.Spec.AccessModes))
	case volume.CheckVolumeModeMismatches(&claim.Spec, &v.Spec):
		return "its volume mode is another (Filesystem or Block)"
	case v.DeletionTimestamp != nil:
		return "it is being deleted"
	case v.Spec.ClaimRef == nil && v.Status.Phase != corev1.VolumeAvailable:
		return "it is " + orElse(string(v.Status.Phase), "not Available yet")
	case !selected(claim, v):
		return fmt.Sprintf("it has not the labels %s", metav1.FormatLabelSelector(claim.Spec.Selector))
	case volume.GetPersistentVolumeClass(v) != ours:
		return otherClass(volume.GetPersistentVolumeClass(v), ours)
	}
	return ""
}

func otherClass(its, asked string) string {
	has, asks := "it has no class", "the claim has none"
	if its != "" {
		has = "its class is " + its
	}
	if asked != "" {
		asks = "the claim asks for class " + asked
	}
	return has + ", and " + asks
}

func selected(claim *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) bool {
	if claim.Spec.Selector == nil {
		return true
	}
	sel, err := metav1.LabelSelectorAsSelector(claim.Spec.Selector)
	return err == nil && sel.Matches(labels.Set(v.Labels))
}

// claimOf is the claim that a volume is for.
func claimOf(v *corev1.PersistentVolume) string {
	return v.Spec.ClaimRef.Namespace + "/" + v.Spec.ClaimRef.Name
}

// modes are access modes as kubectl get writes them.
func modes(list []corev1.PersistentVolumeAccessMode) string {
	short := map[corev1.PersistentVolumeAccessMode]string{corev1.ReadWriteOnce: "RWO", corev1.ReadOnlyMany: "ROX", corev1.ReadWriteMany: "RWX", corev1.ReadWriteOncePod: "RWOP"}
	var out []string
	for _, m := range list {
		out = append(out, orElse(short[m], string(m)))
	}
	return strings.Join(out, ",")
}

// sizeOf is how much a volume has.
func sizeOf(v *corev1.PersistentVolume) *resource.Quantity {
	q := v.Spec.Capacity[corev1.ResourceStorage]
	return &q
}
