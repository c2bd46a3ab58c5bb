package attachdetach

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// attachment is the VolumeAttachment of a volume to a node, from the cache; nil if there is none.
func (c *Controller) attachment(volume name, node string) *storagev1.VolumeAttachment {
	obj, ok := c.attachments.Get(c.attachmentName(volume, node))
	if !ok {
		return nil
	}
	return obj.(*storagev1.VolumeAttachment)
}

// beginAttach asks the driver to attach a volume: there is to be a VolumeAttachment, and then
// the driver's answer in it is waited for (csiAttacher.Attach).
func (c *Controller) beginAttach(run *reconcile.Run, volume name, op *operation) error {
	pv := op.volume
	va := c.attachmentName(volume, op.node)
	if c.attachment(volume, op.node) == nil {
		run.Act("create", client.VolumeAttachments.Ref("", va), nil, nil, "%s on node %s wants volume %s, which is not attached there: create a VolumeAttachment, which asks %s to attach it",
			callPods(op.pods), op.node, pv.Name, pv.Spec.CSI.Driver)
		_, err := client.Create(run.T, c.Client, client.VolumeAttachments, "", &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: va},
			Spec: storagev1.VolumeAttachmentSpec{
				NodeName: op.node, Attacher: pv.Spec.CSI.Driver,
				Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv.Name},
			},
		})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf(plugin+": attacher.Attach failed: %w", err)
		}
	}
	op.began = run.T.Now()
	c.settle(run, volume, op)
	return nil
}

// beginDetach asks the driver to detach a volume: the VolumeAttachment is to go, which the
// driver's finalizer puts off until it is detached (csiAttacher.Detach).
func (c *Controller) beginDetach(run *reconcile.Run, volume name, op *operation, verifySafe bool, why string) error {
	if verifySafe {
		if err := c.stillInUse(run, volume, op.node); err != nil {
			return err
		}
	}
	va := c.attachmentName(volume, op.node)
	run.Act("delete", client.VolumeAttachments.Ref("", va), nil, nil, "%s: delete the VolumeAttachment, which asks the driver to detach it", why)
	err := c.Client.Delete(run.T, client.VolumeAttachments, "", va, metav1.DeleteOptions{})
	switch {
	case apierrors.IsNotFound(err):
		c.detached(run, volume, op, nil)
		return nil
	case err != nil:
		return fmt.Errorf(plugin+": detacher.Detach failed to delete VolumeAttachment [%s]: %w", va, err)
	}
	op.began = run.T.Now()
	c.settle(run, volume, op)
	return nil
}

// settle looks whether the driver has answered what an operation asks for, and ends it then, or
// when it takes too long. It sees the answer when upstream would
// (waitForVolumeAttachDetachStatusWithLister), but looks only where there is something to see.
func (c *Controller) settle(run *reconcile.Run, volume name, op *operation) {
	now := run.T.Now()
	done, err := c.answer(volume, op)
	switch answered := done || err != nil; {
	case answered:
		if op.due.IsZero() {
			op.due = op.poll(now)
		}
		if now.Before(op.due) {
			run.Again(op.due.Sub(now))
			return
		}
	case now.Before(op.deadline()):
		op.due = time.Time{}
		run.Again(op.deadline().Sub(now))
		run.Waits("%s", c.waiting(volume, op))
		return
	default:
		err = timedOut(volume, op.verb)
	}
	if op.verb == detach {
		c.detached(run, volume, op, err)
	} else {
		c.attached(run, volume, op, err)
	}
}

func timedOut(volume name, v verb) error {
	driver, handle, _ := volume.split()
	if v == detach {
		return fmt.Errorf("timed out waiting for external-attacher of unknown CSI driver to detach volume %v", handle) // upstream does not know it there
	}
	return fmt.Errorf("timed out waiting for external-attacher of %v CSI driver to attach volume %v", driver, handle)
}

func (c *Controller) waiting(volume name, op *operation) string {
	driver, _, _ := volume.split()
	if op.verb == detach {
		return fmt.Sprintf("volume %s is detached from node %s when %s has taken its finalizer from the VolumeAttachment, for which it has %s", c.called(volume), op.node, driver, csiTimeout)
	}
	return fmt.Sprintf("volume %s is attached to node %s when %s has set status.attached of the VolumeAttachment, for which it has %s", c.called(volume), op.node, driver, csiTimeout)
}

// answer is what the driver has made of a VolumeAttachment so far: done, or an error, or neither
// (verifyAttachmentStatus and verifyDetachmentStatus).
func (c *Controller) answer(volume name, op *operation) (done bool, err error) {
	va := c.attachment(volume, op.node)
	if op.verb == detach {
		if va != nil && va.Status.DetachError != nil {
			return false, errors.New(va.Status.DetachError.Message)
		}
		return va == nil, nil
	}
	switch {
	case va == nil:
		return false, nil // it has not come to the cache yet
	case va.DeletionTimestamp != nil:
		return false, errors.New("volume attachment is being deleted")
	case va.Status.Attached:
		return true, nil
	case va.Status.AttachError != nil:
		return false, errors.New(va.Status.AttachError.Message)
	}
	return false, nil
}

// attached ends an attach (GenerateAttachVolumeFunc).
func (c *Controller) attached(run *reconcile.Run, volume name, op *operation, err error) {
	pv := op.volume
	if err != nil {
		for _, pod := range op.pods {
			c.Events.Event(run.T, pod, corev1.EventTypeWarning, "FailedAttachVolume", "%s", message("AttachVolume.Attach failed", pv, fmt.Sprintf(": %v", err)))
		}
		c.markUncertain(volume, pv, op.node)
		op.fail(run.T, err)
		return
	}
	c.markAttached(volume, pv, op.node)
	for _, pod := range op.pods {
		c.Events.Event(run.T, pod, corev1.EventTypeNormal, "SuccessfulAttachVolume", "%s", message("AttachVolume.Attach succeeded", pv, ""))
	}
	c.operations.succeed(volume, op)
}

// detached ends a detach (GenerateDetachVolumeFunc).
func (c *Controller) detached(run *reconcile.Run, volume name, op *operation, err error) {
	if err != nil {
		c.markUncertain(volume, c.actual.volume(volume), op.node)
		op.fail(run.T, err)
		c.waitOut(run, volume, op, detach)
		return
	}
	c.markDetached(volume, op.node)
	c.operations.succeed(volume, op)
}

// callPods names pods in a sentence.
func callPods(pods []*corev1.Pod) string {
	if len(pods) == 1 {
		return "pod " + pods[0].Name
	}
	return fmt.Sprintf("each of %d pods, such as %s,", len(pods), pods[0].Name)
}
