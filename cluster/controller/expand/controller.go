// Package expand is the volume expand controller: it tells who is to make a volume larger when
// its claim asks for more.
//
// The worked idea. Claim data has 5Gi and is edited to ask for 8Gi. Kubernetes itself makes no
// volume larger any more: of a CSI volume the driver's external-resizer does, and the kubelet
// then grows the file system. This controller says so in an Event, ExternalExpanding; and
// where a volume's plugin has become a CSI driver it writes the driver's name into the
// claim's annotation volume.kubernetes.io/storage-resizer, which the resizer waits for.
//
// Mirrors pkg/controller/volume/expand. Simplified: a FlexVolume, whose plugin on the node
// would grow it, waits for an external controller too. Nothing is watched before the first
// claim. Start reading at [Controller.sync].
package expand

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	csitrans "k8s.io/csi-translation-lib"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Controllers, How: simulated.Simplified,
	What: "a FlexVolume is not grown by its plugin on the node, but waits for an external controller as other volumes do",
})

// The controller's name, its ServiceAccount, and where its Events come from.
const (
	Name    = "persistentvolume-expander-controller"
	Account = "expand-controller"
	Source  = "volume_expand"
)

// Annotations: the resizer of a claim, and the size of a volume's file system before the volume
// grew (pkg/volume/util).
const (
	resizerAnnotation   = "volume.kubernetes.io/storage-resizer"
	preResizeAnnotation = "volume.alpha.kubernetes.io/pre-resize-capacity"
)

const externalExpanding = "ExternalExpanding"

var translator = csitrans.New()

// Controller is the volume expand controller.
type Controller struct {
	*reconcile.Env
	claims *informer.Informer // nil before there is one
	loop   *reconcile.Loop
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller { return &Controller{Env: env} }

// Start waits for the first claim and then begins to work.
func (c *Controller) Start() {
	c.Process.Go("await", func(t *sim.Task) {
		client.AwaitUseOf(t, c.Client, client.PersistentVolumeClaims)
		c.claims = c.Informers.For(client.PersistentVolumeClaims)
		c.loop = reconcile.NewLoop(c.Env, "volume_expand", client.PersistentVolumeClaims, c.sync)
		c.claims.AddHandler(informer.Handler{
			Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.see(t, obj.(*corev1.PersistentVolumeClaim)) },
			Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
				was, is := old.(*corev1.PersistentVolumeClaim), obj.(*corev1.PersistentVolumeClaim)
				asked, has := sizes(is)
				askedBefore, had := sizes(was)
				if asked.Cmp(*askedBefore) > 0 || has.Cmp(*had) > 0 {
					c.see(t, is)
				}
			},
			Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.see(t, obj.(*corev1.PersistentVolumeClaim)) },
		})
		c.loop.Start(c.claims)
	})
}

// see has a claim looked at that is bound (enqueuePVC).
func (c *Controller) see(t *sim.Task, claim *corev1.PersistentVolumeClaim) {
	if claim.Status.Phase == corev1.ClaimBound {
		c.loop.Add(t, informer.KeyOf(claim))
	}
}

// sync looks at one claim (syncHandler).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, there := c.claims.Get(run.Key)
	if !there {
		return nil
	}
	claim := obj.(*corev1.PersistentVolumeClaim)
	v, err := client.Get[*corev1.PersistentVolume](run.T, c.Client, client.PersistentVolumes, "", claim.Spec.VolumeName)
	if err != nil {
		return fmt.Errorf("failed to get PV %q: %w", claim.Spec.VolumeName, err)
	}
	if ref := v.Spec.ClaimRef; ref == nil || ref.Namespace != claim.Namespace || ref.UID != claim.UID {
		return fmt.Errorf("persistent Volume is not bound to PVC being updated : %s", run.Key)
	}
	asked, has := sizes(claim)
	if asked.Cmp(*has) <= 0 && !metav1.HasAnnotation(v.ObjectMeta, preResizeAnnotation) {
		return nil
	}
	if !translator.IsPVMigratable(v) {
		c.Events.Event(run.T, claim, corev1.EventTypeNormal, externalExpanding, "waiting for an external controller to expand this PVC")
		run.Waits("the claim asks for %s and has %s: volume %s is for its driver's resizer to expand", asked, has, v.Name)
		return nil
	}
	return c.name(run, claim, v)
}

// sizes are what a claim asks for and what it has.
func sizes(claim *corev1.PersistentVolumeClaim) (asked, has *resource.Quantity) {
	a, h := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
	return &a, &h
}

// name names the resizer of a volume whose plugin has become a CSI driver on its claim.
func (c *Controller) name(run *reconcile.Run, claim *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) error {
	plugin, err := translator.GetInTreePluginNameFromSpec(v, nil)
	if err != nil {
		return err
	}
	c.Events.Event(run.T, claim, corev1.EventTypeNormal, externalExpanding, "CSI migration enabled for %s; waiting for external resizer to expand the pvc", plugin)
	failed := func(what string, err error) error {
		err = fmt.Errorf("error %s pvc %s, with error %w", what, run.Key, err)
		c.Events.Event(run.T, claim, corev1.EventTypeWarning, externalExpanding, "%s", err)
		return err
	}
	driver, err := translator.GetCSINameFromInTreeName(plugin)
	if err != nil {
		return failed("getting CSI driver name for", err)
	}
	asked, has := sizes(claim)
	run.Waits("the claim asks for %s and has %s: volume %s is for the resizer of %s to expand", asked, has, v.Name, driver)
	if claim.Annotations[resizerAnnotation] == driver {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": claim.UID, "resourceVersion": claim.ResourceVersion, "annotations": map[string]string{resizerAnnotation: driver},
	}})
	if err != nil {
		return err
	}
	run.Act("update", client.RefOf(claim), driver, nil, "the claim asks for %s and has %s, and its volume's plugin %s is the driver %s now: write the driver's name into the claim's annotation, which the resizer waits for", asked, has, plugin, driver)
	if _, err := c.Client.Patch(run.T, client.PersistentVolumeClaims, claim.Namespace, claim.Name, types.StrategicMergePatchType, patch, "status"); err != nil {
		return failed("setting resizer annotation to", err)
	}
	return nil
}
