package attachdetach

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
)

// populate learns from the caches what is attached and what is wanted (populateActualStateOfWorld
// and populateDesiredStateOfWorld).
func (c *Controller) populate(t *sim.Task) {
	for _, obj := range c.nodes.List() {
		node := obj.(*corev1.Node)
		for _, v := range node.Status.VolumesAttached {
			c.markAttached(name(v.Name), nil, node.Name) // the pods, if any, will say which volume it is
		}
		if c.actual.on[node.Name] != nil {
			c.actual.setInUse(node.Name, node.Status.VolumesInUse)
		}
		if _, managed := node.Annotations[managedAnnotation]; managed {
			c.desired.manage(node.Name)
		}
		c.populated[node.Name] = node.ResourceVersion
	}
	c.populateUncertain()
	for _, obj := range c.pods.List() {
		pod := obj.(*corev1.Pod)
		c.podChanged(t, pod)
		for i := range pod.Spec.Volumes {
			pv := c.attachable(pod, &pod.Spec.Volumes[i])
			if pv == nil {
				continue
			}
			if a := c.actual.of(nameOf(pv.Spec.CSI), pod.Spec.NodeName); a != nil && a.confirmed {
				c.markAttached(nameOf(pv.Spec.CSI), pv, pod.Spec.NodeName)
			}
		}
	}
	for _, obj := range c.nodes.List() {
		for _, volume := range c.actual.onNode(obj.(*corev1.Node).Name) {
			c.look(t, volume)
		}
	}
	for _, obj := range c.attachments.List() { // also of nodes that are gone
		if volume, ok := c.known[obj.(*storagev1.VolumeAttachment).Name]; ok {
			c.look(t, volume)
		}
	}
}

// populateUncertain takes in the VolumeAttachments of which no node's status tells: somebody may
// have been about to attach or to detach. If nobody wants them, they will be detached
// (processVolumeAttachments).
func (c *Controller) populateUncertain() {
	for _, obj := range c.attachments.List() {
		va := obj.(*storagev1.VolumeAttachment)
		if va.Spec.Source.PersistentVolumeName == nil {
			continue
		}
		obj, ok := c.volumes.Get(*va.Spec.Source.PersistentVolumeName)
		if !ok {
			continue
		}
		pv := obj.(*corev1.PersistentVolume)
		if !c.attaches(pv) {
			continue
		}
		volume := nameOf(pv.Spec.CSI)
		if c.actual.of(volume, va.Spec.NodeName) == nil {
			c.markUncertain(volume, pv, va.Spec.NodeName)
		}
	}
}

// podChanged takes in what a pod wants (podAdd, podUpdate).
func (c *Controller) podChanged(t *sim.Task, pod *corev1.Pod) {
	if pod.Spec.NodeName == "" || !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }) {
		return
	}
	if terminated(pod) {
		c.podGone(t, pod)
		return
	}
	if !c.desired.managed[pod.Spec.NodeName] {
		c.desired.ignore(pod.Spec.NodeName, informer.KeyOf(pod))
		return
	}
	for i := range pod.Spec.Volumes {
		if pv := c.attachable(pod, &pod.Spec.Volumes[i]); pv != nil && c.desired.add(pod, pv) {
			c.look(t, nameOf(pv.Spec.CSI))
		}
	}
}

// podGone takes in that a pod wants nothing more.
func (c *Controller) podGone(t *sim.Task, pod *corev1.Pod) {
	c.desired.unignore(pod.Spec.NodeName, informer.KeyOf(pod))
	for _, volume := range c.desired.remove(pod) {
		c.look(t, volume)
	}
}

// terminated reports whether a pod has ended, or is going and none of its containers runs
// (volumeutil.IsPodTerminated).
func terminated(pod *corev1.Pod) bool {
	st := &pod.Status
	return st.Phase == corev1.PodFailed || st.Phase == corev1.PodSucceeded ||
		pod.DeletionTimestamp != nil && rest(st.InitContainerStatuses) && rest(st.ContainerStatuses) && rest(st.EphemeralContainerStatuses)
}

// rest reports whether no container runs (notRunning).
func rest(list []corev1.ContainerStatus) bool {
	return !slices.ContainsFunc(list, func(s corev1.ContainerStatus) bool { return s.State.Terminated == nil && s.State.Waiting == nil })
}

// nodeCame takes in a new node: what was said of one of its name is gone with that
// (nodeAdd).
func (c *Controller) nodeCame(t *sim.Task, node *corev1.Node) {
	known := c.populated[node.Name] == node.ResourceVersion
	delete(c.populated, node.Name)
	if known {
		return // what it says is older than what may be attached since: it is mounted, as far as we know
	}
	c.nodeChanged(t, nil, node)
	if volumes := c.actual.onNode(node.Name); c.reports.again(node.Name) && len(volumes) > 0 {
		c.look(t, volumes[0])
	}
}

// nodeChanged takes in what a node says (nodeUpdate); was is nil where that is not known.
func (c *Controller) nodeChanged(t *sim.Task, was, node *corev1.Node) {
	if _, managed := node.Annotations[managedAnnotation]; managed && !c.desired.managed[node.Name] {
		for _, key := range c.desired.manage(node.Name) {
			if pod, ok := c.pods.Get(key); ok {
				c.podChanged(t, pod.(*corev1.Pod))
			}
		}
	}
	if c.actual.on[node.Name] == nil {
		return
	}
	news := c.actual.setInUse(node.Name, node.Status.VolumesInUse)
	if was == nil || ready(was) != ready(node) || outOfService(was) != outOfService(node) {
		news = c.actual.onNode(node.Name)
	}
	c.lookAtLeaving(t, node.Name, news)
}

// nodeGone takes in that a node was deleted (nodeDelete).
func (c *Controller) nodeGone(t *sim.Task, node *corev1.Node) {
	c.desired.unmanage(node.Name)
	if c.actual.on[node.Name] != nil {
		c.actual.setInUse(node.Name, node.Status.VolumesInUse)
		c.lookAtLeaving(t, node.Name, c.actual.onNode(node.Name))
	}
}

// lookAtLeaving has those of a node's volumes looked at that are not wanted there.
func (c *Controller) lookAtLeaving(t *sim.Task, node string, volumes []name) {
	for _, volume := range volumes {
		if !c.desired.wants(volume, node) {
			c.look(t, volume)
		}
	}
}

// ready reports whether a node says that it is (nodeutil.IsNodeReady).
func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(cond corev1.NodeCondition) bool {
		return cond.Type == corev1.NodeReady && cond.Status == corev1.ConditionTrue
	})
}

// outOfService reports whether a person has said that a node is off (hasOutOfServiceTaint).
func outOfService(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == corev1.TaintNodeOutOfService })
}

// volumeCame has the pods of a volume's claim looked at: their claim may have said that it is
// bound before the volume was here.
func (c *Controller) volumeCame(t *sim.Task, pv *corev1.PersistentVolume) {
	if ref := pv.Spec.ClaimRef; ref != nil {
		c.pvcs.Add(t, informer.Key(ref.Namespace, ref.Name))
	}
}

// driverChanged takes in that volumes of a driver may have to be attached now, or not any more
// (the populator's findAndRemoveDeletedPods, and its findAndAddActivePods).
func (c *Controller) driverChanged(t *sim.Task, driver string) {
	for _, obj := range c.volumes.List() {
		pv := obj.(*corev1.PersistentVolume)
		if pv.Spec.CSI == nil || pv.Spec.CSI.Driver != driver {
			continue
		}
		if c.attaches(pv) {
			c.volumeCame(t, pv)
			continue
		}
		volume := nameOf(pv.Spec.CSI)
		for _, pod := range c.desired.podsOn(volume, c.desired.nodesOf(volume)) {
			c.desired.removeFrom(pod, volume)
			c.look(t, volume)
		}
	}
}

// says reports whether there is an answer of the driver in a VolumeAttachment.
func says(va *storagev1.VolumeAttachment) bool {
	st := &va.Status
	return st.Attached || st.AttachError != nil || st.DetachError != nil || va.DeletionTimestamp != nil
}

// syncClaim looks at the pods of one claim (syncPVCByKey).
func (c *Controller) syncClaim(run *reconcile.Run) error {
	obj, ok := c.claims.Get(run.Key)
	if !ok {
		return nil
	}
	if pvc := obj.(*corev1.PersistentVolumeClaim); pvc.Status.Phase != corev1.ClaimBound || pvc.Spec.VolumeName == "" {
		return nil
	}
	pods := c.pods.ByIndex(byClaim, run.Key)
	run.Look(len(pods))
	for _, obj := range pods {
		if pod := obj.(*corev1.Pod); !terminated(pod) {
			c.podChanged(run.T, pod)
		}
	}
	return nil
}

// markAttached notes that a volume is attached to a node, which the node's status is to say.
func (c *Controller) markAttached(volume name, pv *corev1.PersistentVolume, node string) {
	c.actual.put(volume, pv, node, true)
	c.reports.add(volume, node)
	c.attachmentName(volume, node)
}

// markUncertain notes that a volume may be attached to a node.
func (c *Controller) markUncertain(volume name, pv *corev1.PersistentVolume, node string) {
	c.actual.put(volume, pv, node, false)
	c.attachmentName(volume, node)
}

// markDetached notes that a volume is not attached to a node.
func (c *Controller) markDetached(volume name, node string) {
	c.actual.remove(volume, node)
	c.reports.remove(volume, node)
}

// forget forgets a volume that is wanted nowhere and attached nowhere.
func (c *Controller) forget(volume name) {
	if c.actual.volumes[volume] != nil || c.desired.volumes[volume] != nil || c.operations[volume] != nil {
		return
	}
	for va, of := range c.known { // in any order: each by itself
		if of == volume {
			delete(c.known, va)
		}
	}
}
