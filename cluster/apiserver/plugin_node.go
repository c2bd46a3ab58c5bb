package apiserver

import (
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/authz"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// admitTaintNodes is the TaintNodesByCondition plugin
// (plugin/pkg/admission/nodetaint): a new node is not ready until its kubelet
// says so.
func admitTaintNodes(c *call, op operation) (string, []trace.FieldDiff, error) {
	n, ok := c.obj.(*corev1.Node)
	if !ok || op != opCreate {
		return "", nil, nil
	}
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady && t.Effect == corev1.TaintEffectNoSchedule {
			return "", nil, nil
		}
	}
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
	return "tainted the node as not ready, until its kubelet reports otherwise.",
		[]trace.FieldDiff{{Path: "spec.taints", To: `[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]`}}, nil
}

// admitNodeRestriction is the NodeRestriction plugin
// (plugin/pkg/admission/noderestriction): a kubelet touches its own node, its
// own lease and the pods bound to it, nothing else.
func admitNodeRestriction(c *call, op operation) (string, []trace.FieldDiff, error) {
	node, ok := authz.NodeName(&c.user)
	if !ok || c.kind.custom != nil {
		return "", nil, nil
	}
	switch c.kind.Kind {
	case "Node":
		name := c.ref.Name
		if op == opCreate {
			name = metaOf(c.obj).GetName()
		}
		if name != node {
			return "", nil, c.forbid(fmt.Errorf("node %q is not allowed to modify node %q", node, name))
		}
	case "Lease":
		if l, ok := c.obj.(*coordinationv1.Lease); ok && op == opCreate && l.Name != node {
			return "", nil, c.forbid(fmt.Errorf("can only access node lease with the same name as the requesting node"))
		}
	case "Pod":
		return "", nil, c.restrictPod(node, op)
	}
	return "", nil, nil
}

// restrictToken refuses a kubelet a token that is not bound to a pod of its node
// (noderestriction admitServiceAccount).
func (c *call) restrictToken(ref *authenticationv1.BoundObjectReference) error {
	node, ok := authz.NodeName(&c.user)
	switch {
	case !ok:
		return nil
	case ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "":
		return c.forbid(errors.New("node requested token not bound to a pod"))
	case ref.UID == "":
		return c.forbid(errors.New("node requested token with a pod binding without a uid"))
	}
	en := c.s.caches[KindFor(client.Pods.GroupVersionResource)].get(c.req.Namespace + "/" + ref.Name)
	switch {
	case en == nil:
		return apierrors.NewNotFound(client.Pods.GroupVersionResource.GroupResource(), ref.Name)
	case ref.UID != metaOf(en.obj).GetUID():
		return c.forbid(fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	case en.obj.(*corev1.Pod).Spec.NodeName != node:
		return c.forbid(errors.New("node requested token bound to a pod scheduled on a different node"))
	}
	return nil
}

func (c *call) restrictPod(node string, op operation) error {
	var obj runtime.Object = c.old
	if op == opCreate && c.req.Subresource == "" {
		obj = c.obj
		if _, mirror := metaOf(obj).GetAnnotations()[corev1.MirrorPodAnnotationKey]; !mirror {
			return c.forbid(fmt.Errorf("pod does not have %q annotation, node %q can only create mirror pods", corev1.MirrorPodAnnotationKey, node))
		}
	}
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	if p.Spec.NodeName == node {
		return nil
	}
	switch {
	case op == opCreate && c.req.Subresource == "":
		return c.forbid(fmt.Errorf("node %q can only create pods with spec.nodeName set to itself", node))
	case c.evicting || c.req.Subresource == "eviction":
		return c.forbid(fmt.Errorf("node %s can only evict pods with spec.nodeName set to itself", node))
	case op == opDelete:
		return c.forbid(fmt.Errorf("node %q can only delete pods with spec.nodeName set to itself", node))
	}
	return c.forbid(fmt.Errorf("node %q can only update pod status for pods with spec.nodeName set to itself", node))
}
