package admission

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
	"k8s.io/apimachinery/pkg/util/diff"
	kubeletapis "k8s.io/kubelet/pkg/apis"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	capihelper "k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1conversion "k8s.io/kubernetes/pkg/apis/core/v1"

	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
)

// NodeRestriction is the plugin of that name (plugin/pkg/admission/noderestriction): of
// what the Node authorizer lets a kubelet do, it may do only what concerns its own node:
// the Node without the labels and taints that steer pods, its Lease, the pods bound to
// it, tokens for them, its own certificate.
type NodeRestriction struct {
	lister     Lister
	authorizer authz.Decider
}

// NewNodeRestriction makes the plugin.
func NewNodeRestriction(l Lister, by authz.Decider) *NodeRestriction { return &NodeRestriction{l, by} }

// Name is [Plugin].
func (*NodeRestriction) Name() string { return "NodeRestriction" }

// Admit is [Mutating].
func (p *NodeRestriction) Admit(r *request.Scope, a *Attributes) (Result, error) {
	return p.Validate(r, a)
}

// Validate is [Validating].
func (p *NodeRestriction) Validate(_ *request.Scope, a *Attributes) (Result, error) {
	node, ok := authz.NodeName(&a.User)
	if !ok || a.Custom {
		return Result{}, nil
	}
	return Result{}, p.restrict(a, node)
}

func (p *NodeRestriction) restrict(a *Attributes, node string) error {
	name := a.Name
	if a.Operation == Create && a.Object != nil && a.Subresource == "" {
		name = object.Meta(a.Object).GetName()
	}
	switch a.Kind.Kind {
	case "Pod":
		return p.restrictPod(a, node)
	case "Node":
		if name != node {
			return a.Forbid(fmt.Errorf("node %q is not allowed to modify node %q", node, name))
		}
		return restrictNode(a, node)
	case "PersistentVolumeClaim":
		return restrictClaim(a, node)
	case "Lease":
		if a.Namespace != corev1.NamespaceNodeLease {
			return a.Forbid(fmt.Errorf("can only access leases in the %q system namespace", corev1.NamespaceNodeLease))
		}
		if name != node {
			return a.Forbid(errors.New("can only access node lease with the same name as the requesting node"))
		}
	case "CSINode":
		if name != node {
			return a.Forbid(errors.New("can only access CSINode with the same name as the requesting node"))
		}
	case "CertificateSigningRequest":
		return restrictRequest(a, node)
	}
	return nil
}

// restrictNode is admitNode.
func restrictNode(a *Attributes, node string) error {
	now, ok := a.Object.(*corev1.Node)
	if !ok || a.Operation == Delete {
		return nil
	}
	if a.Operation == Create {
		if bad := forbiddenLabels(now.Labels, nil); len(bad) > 0 {
			return a.Forbid(fmt.Errorf("node %q is not allowed to set the following labels: %s", node, strings.Join(bad, ", ")))
		}
		if now.Spec.ConfigSource != nil {
			return a.Forbid(fmt.Errorf("node %q is not allowed to create pods with a non-nil configSource", node))
		}
		return nil
	}
	was := a.OldObject.(*corev1.Node)
	switch {
	case now.Spec.ConfigSource != nil && !equality.Semantic.DeepEqual(now.Spec.ConfigSource, was.Spec.ConfigSource):
		return a.Forbid(fmt.Errorf("node %q is not allowed to update configSource to a new non-nil configSource", node))
	case !equality.Semantic.DeepEqual(now.Spec.Taints, was.Spec.Taints):
		return a.Forbid(fmt.Errorf("node %q is not allowed to modify taints", node))
	case !equality.Semantic.DeepEqual(now.OwnerReferences, was.OwnerReferences):
		return a.Forbid(fmt.Errorf("node %q is not allowed to modify ownerReferences", node))
	}
	if bad := forbiddenLabels(now.Labels, was.Labels); len(bad) > 0 {
		return a.Forbid(fmt.Errorf("is not allowed to modify labels: %s", strings.Join(bad, ", ")))
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
func restrictClaim(a *Attributes, node string) error {
	now, ok := a.Object.(*corev1.PersistentVolumeClaim)
	if !ok || a.Subresource != "status" || a.Operation != Update {
		return a.Forbid(errors.New("may only update PVC status"))
	}
	was := a.OldObject.(*corev1.PersistentVolumeClaim).DeepCopy()
	now = now.DeepCopy()
	for _, p := range []*corev1.PersistentVolumeClaim{was, now} {
		p.ResourceVersion, p.ManagedFields = "", nil
		p.Status.Capacity, p.Status.Conditions = nil, nil
		p.Status.AllocatedResources, p.Status.AllocatedResourceStatuses = nil, nil
	}
	if !equality.Semantic.DeepEqual(was, now) {
		return a.Forbid(fmt.Errorf("node %q is not allowed to update fields other than status.quantity and status.conditions: %v", node,
			diff.Diff(internalClaim(was), internalClaim(now))))
	}
	return nil
}

// restrictRequest is admitCSR.
func restrictRequest(a *Attributes, node string) error {
	csr, ok := a.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok || a.Operation != Create || csr.Spec.SignerName != certificatesv1.KubeletServingSignerName && csr.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName {
		return nil
	}
	req, err := capihelper.ParseCSR(csr.Spec.Request)
	if err != nil {
		return a.Forbid(fmt.Errorf("unable to parse csr: %w", err))
	}
	if req.Subject.CommonName != "system:node:"+node {
		return a.Forbid(fmt.Errorf("can only create a node CSR with CN=system:node:%s", node))
	}
	return nil
}

// restrictPod is admitPod, admitPodStatus and admitPodEviction.
func (p *NodeRestriction) restrictPod(a *Attributes, node string) error {
	switch a.Subresource {
	case "":
		if a.Operation == Create {
			return p.restrictMirror(a, node)
		}
	case "status", "eviction":
	default:
		return a.Forbid(fmt.Errorf("unexpected pod subresource %q, only 'status' and 'eviction' are allowed", a.Subresource))
	}
	pod, ok := a.OldObject.(*corev1.Pod)
	if !ok {
		return nil
	}
	evicts := a.Evicting || a.Subresource == "eviction"
	if pod.Spec.NodeName != node {
		switch {
		case evicts:
			return a.Forbid(fmt.Errorf("node %s can only evict pods with spec.nodeName set to itself", node))
		case a.Operation == Delete:
			return a.Forbid(fmt.Errorf("node %q can only delete pods with spec.nodeName set to itself", node))
		}
		return a.Forbid(fmt.Errorf("node %q can only update pod status for pods with spec.nodeName set to itself", node))
	}
	switch now, _ := a.Object.(*corev1.Pod); {
	case evicts, a.Operation == Delete:
	case a.Subresource == "":
		return a.Forbid(fmt.Errorf("unexpected operation %q, node %q can only create and delete mirror pods", a.Operation, node))
	case now != nil && !maps.Equal(pod.Labels, now.Labels):
		return a.Forbid(fmt.Errorf("node %q cannot update labels through pod status", node))
	case now != nil && !equality.Semantic.DeepEqual(pod.Status.ResourceClaimStatuses, now.Status.ResourceClaimStatuses):
		return a.Forbid(fmt.Errorf("node %q cannot update resource claim statues", node)) // upstream's word
	case now != nil && !equality.Semantic.DeepEqual(pod.Status.ExtendedResourceClaimStatus, now.Status.ExtendedResourceClaimStatus):
		return a.Forbid(fmt.Errorf("node %q cannot update extended resource claim status", node))
	}
	return nil
}

// restrictMirror is admitPodCreate: a kubelet makes pods only to show the static ones
// that it runs, and those belong to its node and know nothing of the API.
func (p *NodeRestriction) restrictMirror(a *Attributes, node string) error {
	pod := a.Object.(*corev1.Pod)
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	switch {
	case !mirror:
		return a.Forbid(fmt.Errorf("pod does not have %q annotation, node %q can only create mirror pods", corev1.MirrorPodAnnotationKey, node))
	case pod.Spec.NodeName != node:
		return a.Forbid(fmt.Errorf("node %q can only create pods with spec.nodeName set to itself", node))
	case len(pod.OwnerReferences) > 1:
		return a.Forbid(fmt.Errorf("node %q can only create pods with a single owner reference set to itself", node))
	case len(pod.OwnerReferences) == 0:
		return a.Forbid(fmt.Errorf("node %q can only create pods with an owner reference set to itself", node))
	}
	owner := pod.OwnerReferences[0]
	switch {
	case owner.APIVersion != "v1" || owner.Kind != "Node" || owner.Name != node:
		return a.Forbid(fmt.Errorf("node %q can only create pods with an owner reference set to itself", node))
	case owner.Controller == nil || !*owner.Controller:
		return a.Forbid(fmt.Errorf("node %q can only create pods with a controller owner reference set to itself", node))
	case owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion:
		return a.Forbid(fmt.Errorf("node %q must not set blockOwnerDeletion on an owner reference", node))
	}
	at := p.lister.Get(client.Nodes, "", node)
	if at == nil {
		return apierrors.NewNotFound(client.Nodes.GroupResource(), node)
	}
	if uid := object.Meta(at).GetUID(); owner.UID != uid {
		return a.Forbid(fmt.Errorf("node %s UID mismatch: expected %s got %s", node, owner.UID, uid))
	}
	refers, to, err := podutil.HasAPIObjectReference(internalPod(pod))
	switch {
	case err != nil:
		return a.Forbid(fmt.Errorf("error checking mirror pod for API references: %w", err))
	case refers:
		return a.Forbid(fmt.Errorf("node %q can not create pods that reference %s", node, to))
	}
	return nil
}

// RestrictToken refuses a kubelet a token that is not bound to a pod of its node, or is
// meant for somebody whom the pod has no business with (admitServiceAccount).
//
// a is of the creation of the subresource token of a service account.
func (p *NodeRestriction) RestrictToken(r *request.Scope, a *Attributes, req *authenticationv1.TokenRequest) error {
	ref := req.Spec.BoundObjectRef
	node, ok := authz.NodeName(&a.User)
	switch {
	case !ok:
		return nil
	case ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "":
		return a.Forbid(errors.New("node requested token not bound to a pod"))
	case ref.UID == "":
		return a.Forbid(errors.New("node requested token with a pod binding without a uid"))
	}
	pod, ok := p.lister.Get(client.Pods, a.Namespace, ref.Name).(*corev1.Pod)
	switch {
	case !ok:
		return apierrors.NewNotFound(client.Pods.GroupResource(), ref.Name)
	case ref.UID != pod.UID:
		return a.Forbid(fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	}
	if pod.Spec.NodeName != node {
		return a.Forbid(errors.New("node requested token bound to a pod scheduled on a different node"))
	}
	return p.restrictAudience(r, a, pod, req.Spec.Audiences)
}

// restrictAudience is validateNodeServiceAccountAudience: the audience is one that a
// volume of the pod asks for, its own or its CSI driver's, or the node may ask for any.
func (p *NodeRestriction) restrictAudience(r *request.Scope, a *Attributes, pod *corev1.Pod, audiences []string) error {
	audience := ""
	switch len(audiences) {
	case 0:
	case 1:
		audience = audiences[0]
	default:
		return a.Forbid(errors.New("node may only request 0 or 1 audiences"))
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
			return s.ServiceAccountToken != nil && s.ServiceAccountToken.Audience == audience
		}) {
			return nil
		}
		if p.driverAsks(p.driverOf(pod, v), audience) {
			return nil
		}
	}
	if p.authorizer.Decide(r, authz.Attributes{
		User: a.User, Verb: "request-serviceaccounts-token-audience", Resource: audience, Version: "v1", Namespace: a.Namespace, Name: a.Name,
	}).Allowed {
		return nil
	}
	return a.Forbid(fmt.Errorf("%s is not authorized to request tokens for audience %q", a.User.Name, audience))
}

// driverOf is the CSI driver behind a volume of a pod; "" where there is none. Volumes
// of the plugins that were built in once have none here.
func (p *NodeRestriction) driverOf(pod *corev1.Pod, v *corev1.Volume) string {
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
	pvc, ok := p.lister.Get(client.PersistentVolumeClaims, pod.Namespace, claim).(*corev1.PersistentVolumeClaim)
	if !ok {
		return ""
	}
	pv, ok := p.lister.Get(client.PersistentVolumes, "", pvc.Spec.VolumeName).(*corev1.PersistentVolume)
	if !ok || pv.Spec.CSI == nil {
		return ""
	}
	return pv.Spec.CSI.Driver
}

// driverAsks reports whether a CSI driver asks for tokens for an audience.
func (p *NodeRestriction) driverAsks(driver, audience string) bool {
	if driver == "" {
		return false
	}
	d, ok := p.lister.Get(client.CSIDrivers, "", driver).(*storagev1.CSIDriver)
	return ok && slices.ContainsFunc(d.Spec.TokenRequests, func(r storagev1.TokenRequest) bool { return r.Audience == audience })
}

func internalPod(p *corev1.Pod) *core.Pod {
	in := &core.Pod{}
	if err := corev1conversion.Convert_v1_Pod_To_core_Pod(p, in, nil); err != nil {
		panic("apiserver: converting a Pod: " + err.Error()) // it was read
	}
	return in
}

func internalClaim(p *corev1.PersistentVolumeClaim) *core.PersistentVolumeClaim {
	in := &core.PersistentVolumeClaim{}
	if err := corev1conversion.Convert_v1_PersistentVolumeClaim_To_core_PersistentVolumeClaim(p, in, nil); err != nil {
		panic("apiserver: converting a PersistentVolumeClaim: " + err.Error()) // it was read
	}
	return in
}
