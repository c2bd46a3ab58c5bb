package apiserver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/diff"
	kubeletapis "k8s.io/kubelet/pkg/apis"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	capihelper "k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/apis/core"

	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// admitNodeRestriction is the NodeRestriction plugin
// (plugin/pkg/admission/noderestriction): of what the Node authorizer lets a kubelet do,
// it may do only what concerns its own node: the Node without the labels and taints that
// steer pods, its Lease, the pods bound to it, tokens for them, its own certificate.
func admitNodeRestriction(c *call, op operation) (string, []trace.FieldDiff, error) {
	node, ok := authz.NodeName(&c.user)
	if !ok || c.kind.Custom != nil {
		return "", nil, nil
	}
	return "", nil, c.restrict(node, op)
}

func (c *call) restrict(node string, op operation) error {
	name := c.Ref.Name
	if op == opCreate && c.obj != nil && c.req.Subresource == "" {
		name = object.Meta(c.obj).GetName()
	}
	switch c.kind.Kind {
	case "Pod":
		return c.restrictPod(node, op)
	case "Node":
		if name != node {
			return c.forbid(fmt.Errorf("node %q is not allowed to modify node %q", node, name))
		}
		return c.restrictNode(node, op)
	case "PersistentVolumeClaim":
		return c.restrictClaim(node, op)
	case "Lease":
		if c.req.Namespace != corev1.NamespaceNodeLease {
			return c.forbid(fmt.Errorf("can only access leases in the %q system namespace", corev1.NamespaceNodeLease))
		}
		if name != node {
			return c.forbid(errors.New("can only access node lease with the same name as the requesting node"))
		}
	case "CSINode":
		if name != node {
			return c.forbid(errors.New("can only access CSINode with the same name as the requesting node"))
		}
	case "CertificateSigningRequest":
		return c.restrictRequest(node, op)
	}
	return nil
}

// restrictNode is admitNode.
func (c *call) restrictNode(node string, op operation) error {
	now, ok := c.obj.(*corev1.Node)
	if !ok || op == opDelete {
		return nil
	}
	if op == opCreate {
		if bad := forbiddenLabels(now.Labels, nil); len(bad) > 0 {
			return c.forbid(fmt.Errorf("node %q is not allowed to set the following labels: %s", node, strings.Join(bad, ", ")))
		}
		if now.Spec.ConfigSource != nil {
			return c.forbid(fmt.Errorf("node %q is not allowed to create pods with a non-nil configSource", node))
		}
		return nil
	}
	was := c.old.(*corev1.Node)
	switch {
	case now.Spec.ConfigSource != nil && !equality.Semantic.DeepEqual(now.Spec.ConfigSource, was.Spec.ConfigSource):
		return c.forbid(fmt.Errorf("node %q is not allowed to update configSource to a new non-nil configSource", node))
	case !equality.Semantic.DeepEqual(now.Spec.Taints, was.Spec.Taints):
		return c.forbid(fmt.Errorf("node %q is not allowed to modify taints", node))
	case !equality.Semantic.DeepEqual(now.OwnerReferences, was.OwnerReferences):
		return c.forbid(fmt.Errorf("node %q is not allowed to modify ownerReferences", node))
	}
	if bad := forbiddenLabels(now.Labels, was.Labels); len(bad) > 0 {
		return c.forbid(fmt.Errorf("is not allowed to modify labels: %s", strings.Join(bad, ", ")))
	}
	return nil
}

// forbiddenLabels are those of the labels that differ which a kubelet must not set: with
// them it could have pods come to it that are meant for others.
func forbiddenLabels(now, was map[string]string) []string {
	differ := map[string]bool{}
	for k, v := range now {
		if old, had := was[k]; !had || old != v {
			differ[k] = true
		}
	}
	for k := range was {
		if _, has := now[k]; !has {
			differ[k] = true
		}
	}
	in := func(namespace, of string) bool { return namespace == of || strings.HasSuffix(namespace, "."+of) }
	return slices.DeleteFunc(slices.Sorted(maps.Keys(differ)), func(label string) bool {
		namespace, _, has := strings.Cut(label, "/")
		switch {
		case !has:
			return true
		case in(namespace, corev1.LabelNamespaceNodeRestriction):
			return false
		}
		return !in(namespace, "kubernetes.io") && !in(namespace, "k8s.io") || kubeletapis.IsKubeletLabel(label)
	})
}

// restrictClaim is admitPVCStatus: a kubelet that has made a volume's file system larger
// says so.
func (c *call) restrictClaim(node string, op operation) error {
	now, ok := c.obj.(*corev1.PersistentVolumeClaim)
	if !ok || c.req.Subresource != "status" || op != opUpdate {
		return c.forbid(errors.New("may only update PVC status"))
	}
	was := c.old.(*corev1.PersistentVolumeClaim).DeepCopy()
	now = now.DeepCopy()
	for _, p := range []*corev1.PersistentVolumeClaim{was, now} {
		p.ResourceVersion, p.ManagedFields = "", nil
		p.Status.Capacity, p.Status.Conditions = nil, nil
		p.Status.AllocatedResources, p.Status.AllocatedResourceStatuses = nil, nil
	}
	if !equality.Semantic.DeepEqual(was, now) {
		return c.forbid(fmt.Errorf("node %q is not allowed to update fields other than status.quantity and status.conditions: %v", node,
			diff.Diff(registry.Internal[core.PersistentVolumeClaim](was), registry.Internal[core.PersistentVolumeClaim](now))))
	}
	return nil
}

// restrictRequest is admitCSR.
func (c *call) restrictRequest(node string, op operation) error {
	csr, ok := c.obj.(*certificatesv1.CertificateSigningRequest)
	if !ok || op != opCreate || csr.Spec.SignerName != certificatesv1.KubeletServingSignerName && csr.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName {
		return nil
	}
	req, err := capihelper.ParseCSR(csr.Spec.Request)
	if err != nil {
		return c.forbid(fmt.Errorf("unable to parse csr: %w", err))
	}
	if req.Subject.CommonName != "system:node:"+node {
		return c.forbid(fmt.Errorf("can only create a node CSR with CN=system:node:%s", node))
	}
	return nil
}

// restrictPod is admitPod, admitPodStatus and admitPodEviction.
func (c *call) restrictPod(node string, op operation) error {
	switch c.req.Subresource {
	case "":
		if op == opCreate {
			return c.restrictMirror(node)
		}
	case "status", "eviction":
	default:
		return c.forbid(fmt.Errorf("unexpected pod subresource %q, only 'status' and 'eviction' are allowed", c.req.Subresource))
	}
	p, ok := c.old.(*corev1.Pod)
	if !ok {
		return nil
	}
	evicts := c.evicting || c.req.Subresource == "eviction"
	if p.Spec.NodeName != node {
		switch {
		case evicts:
			return c.forbid(fmt.Errorf("node %s can only evict pods with spec.nodeName set to itself", node))
		case op == opDelete:
			return c.forbid(fmt.Errorf("node %q can only delete pods with spec.nodeName set to itself", node))
		}
		return c.forbid(fmt.Errorf("node %q can only update pod status for pods with spec.nodeName set to itself", node))
	}
	switch now, _ := c.obj.(*corev1.Pod); {
	case evicts, op == opDelete:
	case c.req.Subresource == "":
		return c.forbid(fmt.Errorf("unexpected operation %q, node %q can only create and delete mirror pods", op, node))
	case now != nil && !maps.Equal(p.Labels, now.Labels):
		return c.forbid(fmt.Errorf("node %q cannot update labels through pod status", node))
	case now != nil && !equality.Semantic.DeepEqual(p.Status.ResourceClaimStatuses, now.Status.ResourceClaimStatuses):
		return c.forbid(fmt.Errorf("node %q cannot update resource claim statues", node)) // upstream's word
	case now != nil && !equality.Semantic.DeepEqual(p.Status.ExtendedResourceClaimStatus, now.Status.ExtendedResourceClaimStatus):
		return c.forbid(fmt.Errorf("node %q cannot update extended resource claim status", node))
	}
	return nil
}

// restrictMirror is admitPodCreate: a kubelet makes pods only to show the static ones
// that it runs, and those belong to its node and know nothing of the API.
func (c *call) restrictMirror(node string) error {
	p := c.obj.(*corev1.Pod)
	_, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]
	switch {
	case !mirror:
		return c.forbid(fmt.Errorf("pod does not have %q annotation, node %q can only create mirror pods", corev1.MirrorPodAnnotationKey, node))
	case p.Spec.NodeName != node:
		return c.forbid(fmt.Errorf("node %q can only create pods with spec.nodeName set to itself", node))
	case len(p.OwnerReferences) > 1:
		return c.forbid(fmt.Errorf("node %q can only create pods with a single owner reference set to itself", node))
	case len(p.OwnerReferences) == 0:
		return c.forbid(fmt.Errorf("node %q can only create pods with an owner reference set to itself", node))
	}
	owner := p.OwnerReferences[0]
	switch {
	case owner.APIVersion != "v1" || owner.Kind != "Node" || owner.Name != node:
		return c.forbid(fmt.Errorf("node %q can only create pods with an owner reference set to itself", node))
	case owner.Controller == nil || !*owner.Controller:
		return c.forbid(fmt.Errorf("node %q can only create pods with a controller owner reference set to itself", node))
	case owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion:
		return c.forbid(fmt.Errorf("node %q must not set blockOwnerDeletion on an owner reference", node))
	}
	at := c.s.caches[registry.KindFor(client.Nodes.GroupVersionResource)].Get(node)
	if at == nil {
		return apierrors.NewNotFound(client.Nodes.GroupVersionResource.GroupResource(), node)
	}
	if uid := object.Meta(at.Object).GetUID(); owner.UID != uid {
		return c.forbid(fmt.Errorf("node %s UID mismatch: expected %s got %s", node, owner.UID, uid))
	}
	refers, to, err := podutil.HasAPIObjectReference(registry.Internal[core.Pod](p))
	switch {
	case err != nil:
		return c.forbid(fmt.Errorf("error checking mirror pod for API references: %w", err))
	case refers:
		return c.forbid(fmt.Errorf("node %q can not create pods that reference %s", node, to))
	}
	return nil
}

// restrictToken refuses a kubelet a token that is not bound to a pod of its node, or is
// meant for somebody whom the pod has no business with (admitServiceAccount).
func (c *call) restrictToken(req *authenticationv1.TokenRequest) error {
	ref := req.Spec.BoundObjectRef
	node, ok := authz.NodeName(&c.user)
	switch {
	case !ok:
		return nil
	case ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "":
		return c.forbid(errors.New("node requested token not bound to a pod"))
	case ref.UID == "":
		return c.forbid(errors.New("node requested token with a pod binding without a uid"))
	}
	en := c.s.caches[registry.KindFor(client.Pods.GroupVersionResource)].Get(c.req.Namespace + "/" + ref.Name)
	switch {
	case en == nil:
		return apierrors.NewNotFound(client.Pods.GroupVersionResource.GroupResource(), ref.Name)
	case ref.UID != object.Meta(en.Object).GetUID():
		return c.forbid(fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	}
	pod := en.Object.(*corev1.Pod)
	if pod.Spec.NodeName != node {
		return c.forbid(errors.New("node requested token bound to a pod scheduled on a different node"))
	}
	return c.restrictAudience(pod, req.Spec.Audiences)
}

// restrictAudience is validateNodeServiceAccountAudience: the audience is one that a
// volume of the pod asks for, its own or its CSI driver's, or the node may ask for any.
func (c *call) restrictAudience(pod *corev1.Pod, audiences []string) error {
	audience := ""
	switch len(audiences) {
	case 0:
	case 1:
		audience = audiences[0]
	default:
		return c.forbid(errors.New("node may only request 0 or 1 audiences"))
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
			return s.ServiceAccountToken != nil && s.ServiceAccountToken.Audience == audience
		}) {
			return nil
		}
		if c.driverAsks(c.driverOf(pod, v), audience) {
			return nil
		}
	}
	if c.s.decide(c.Task, authz.Attributes{
		User: c.user, Verb: "request-serviceaccounts-token-audience", Resource: audience, Version: "v1", Namespace: c.req.Namespace, Name: c.req.Name,
	}).Allowed {
		return nil
	}
	return c.forbid(fmt.Errorf("%s is not authorized to request tokens for audience %q", c.user.Name, audience))
}

// driverOf is the CSI driver behind a volume of a pod; "" where there is none. Volumes
// of the plugins that were built in once have none here.
func (c *call) driverOf(pod *corev1.Pod, v *corev1.Volume) string {
	claim := ""
	switch {
	case v.CSI != nil:
		return v.CSI.Driver
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
		claim = pod.Name + "-" + v.Name
	case v.PersistentVolumeClaim != nil:
		claim = v.PersistentVolumeClaim.ClaimName
	default:
		return ""
	}
	pvc, ok := c.found(client.PersistentVolumeClaims, pod.Namespace+"/"+claim).(*corev1.PersistentVolumeClaim)
	if !ok {
		return ""
	}
	pv, ok := c.found(client.PersistentVolumes, pvc.Spec.VolumeName).(*corev1.PersistentVolume)
	if !ok || pv.Spec.CSI == nil {
		return ""
	}
	return pv.Spec.CSI.Driver
}

// driverAsks reports whether a CSI driver asks for tokens for an audience.
func (c *call) driverAsks(driver, audience string) bool {
	if driver == "" {
		return false
	}
	d, ok := c.found(client.CSIDrivers, driver).(*storagev1.CSIDriver)
	return ok && slices.ContainsFunc(d.Spec.TokenRequests, func(r storagev1.TokenRequest) bool { return r.Audience == audience })
}

// found is an object in its kind's cache; nil where it is not there.
func (c *call) found(r client.Resource, key string) runtime.Object {
	if en := c.s.cacheOf(registry.KindFor(r.GroupVersionResource)).Get(key); en != nil {
		return en.Object
	}
	return nil
}
