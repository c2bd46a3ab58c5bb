package clienttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	crdconfigurations "k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration"
	crdscheme "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

type conn struct{ *Server }

var _ client.Interface = (*conn)(nil)

// enter is the way to the server: it takes time and can fail.
func (c *conn) enter(t *sim.Task, verb string, r client.Resource, namespace, name string) error {
	t.Sleep(Latency)
	c.Requests[verb+" "+r.Resource]++
	if c.down {
		return fmt.Errorf("%s %s: dial tcp: %w", verb, r.Resource, client.ErrUnreachable)
	}
	if c.Refuse != nil {
		return c.Refuse(verb, r, namespace, name)
	}
	return nil
}

func (c *conn) Get(t *sim.Task, r client.Resource, namespace, name string) (runtime.Object, error) {
	if err := c.enter(t, "get", r, namespace, name); err != nil {
		return nil, err
	}
	obj, err := c.find(r, namespace, name)
	if err != nil {
		return nil, err
	}
	return obj.DeepCopyObject(), nil
}

func (c *conn) find(r client.Resource, namespace, name string) (runtime.Object, error) {
	if obj, ok := c.kind(r).items.Get(key(namespace, name)); ok {
		return obj, nil
	}
	return nil, apierrors.NewNotFound(r.GroupResource(), name)
}

func (c *conn) List(t *sim.Task, r client.Resource, namespace string, opts metav1.ListOptions) ([]runtime.Object, int64, error) {
	if err := c.enter(t, "list", r, namespace, ""); err != nil {
		return nil, 0, err
	}
	match, err := selects(r, namespace, opts)
	if err != nil {
		return nil, 0, apierrors.NewBadRequest(err.Error())
	}
	var out []runtime.Object
	for _, obj := range c.kind(r).items.Values() {
		if match(obj) {
			out = append(out, obj)
		}
	}
	return out, c.revision, nil
}

func (c *conn) Create(t *sim.Task, r client.Resource, namespace string, obj runtime.Object) (runtime.Object, error) {
	obj = obj.DeepCopyObject()
	m := mustMeta(obj)
	if m.GetNamespace() == "" && r.Namespaced {
		m.SetNamespace(namespace)
	}
	if err := c.enter(t, "create", r, m.GetNamespace(), m.GetName()); err != nil {
		return nil, err
	}
	if m.GetName() == "" {
		m.SetName(c.generate(m.GetGenerateName()))
	}
	if _, err := c.find(r, m.GetNamespace(), m.GetName()); err == nil {
		return nil, apierrors.NewAlreadyExists(r.GroupResource(), m.GetName())
	}
	if ns, ok := c.kind(client.Namespaces).items.Get(m.GetNamespace()); ok && ns.(*corev1.Namespace).DeletionTimestamp != nil {
		return nil, terminating(r, m)
	}
	m.SetUID(c.uid())
	m.SetCreationTimestamp(metav1.NewTime(t.Now().Truncate(1e9)))
	m.SetGeneration(1)
	if ns, ok := obj.(*corev1.Namespace); ok {
		ns.Status.Phase = corev1.NamespaceActive
		ns.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
	}
	if pod, ok := obj.(*corev1.Pod); ok && pod.Status.Phase == "" {
		pod.Status.Phase = corev1.PodPending
	}
	return c.commit(t, r, watch.Added, obj), nil
}

func terminating(r client.Resource, m metav1.Object) error {
	err := apierrors.NewForbidden(r.GroupResource(), m.GetName(), fmt.Errorf("unable to create new content in namespace %s because it is being terminated", m.GetNamespace()))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", m.GetNamespace()), Field: "metadata.namespace",
	})
	return err
}

func (c *conn) Update(t *sim.Task, r client.Resource, namespace string, obj runtime.Object, subresource string) (runtime.Object, error) {
	m := mustMeta(obj)
	if err := c.enter(t, "update", r, namespace, m.GetName()); err != nil {
		return nil, err
	}
	return c.replace(t, r, namespace, obj.DeepCopyObject(), subresource)
}

// replace puts obj in the place of what is there.
func (c *conn) replace(t *sim.Task, r client.Resource, namespace string, obj runtime.Object, subresource string) (runtime.Object, error) {
	m := mustMeta(obj)
	old, err := c.find(r, namespace, m.GetName())
	if err != nil {
		return nil, err
	}
	om := mustMeta(old)
	if s, ok := obj.(*autoscalingv1.Scale); ok && subresource == "scale" {
		whole := old.DeepCopyObject()
		whole.(metav1.Object).SetResourceVersion(m.GetResourceVersion())
		replicas := s.Spec.Replicas
		reflect.ValueOf(whole).Elem().FieldByName("Spec").FieldByName("Replicas").Set(reflect.ValueOf(&replicas))
		if whole, err = c.replace(t, r, namespace, whole, ""); err != nil {
			return nil, err
		}
		return scaleOf(whole), nil
	}
	if rv := m.GetResourceVersion(); rv != "" && rv != om.GetResourceVersion() {
		return nil, apierrors.NewConflict(r.GroupResource(), m.GetName(), fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if m.GetUID() != "" && m.GetUID() != om.GetUID() {
		return nil, apierrors.NewConflict(r.GroupResource(), m.GetName(), fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", m.GetUID(), om.GetUID()))
	}
	obj = merge(old, obj, subresource)
	m = mustMeta(obj)
	m.SetUID(om.GetUID())
	m.SetCreationTimestamp(om.GetCreationTimestamp())
	m.SetDeletionTimestamp(om.GetDeletionTimestamp())
	m.SetDeletionGracePeriodSeconds(om.GetDeletionGracePeriodSeconds())
	m.SetGeneration(om.GetGeneration())
	if specChanged(old, obj) {
		m.SetGeneration(om.GetGeneration() + 1)
	}
	m.SetResourceVersion(om.GetResourceVersion())
	if reflect.DeepEqual(old, obj) {
		return obj.DeepCopyObject(), nil // no change, no revision
	}
	if m.GetDeletionTimestamp() != nil && removable(obj) {
		return c.commit(t, r, watch.Deleted, obj), nil
	}
	return c.commit(t, r, watch.Modified, obj), nil
}

// merge keeps what the subresource may not change.
func merge(old, obj runtime.Object, subresource string) runtime.Object {
	switch subresource {
	case "status":
		out := old.DeepCopyObject()
		mustMeta(out).SetAnnotations(mustMeta(obj).GetAnnotations())
		mustMeta(out).SetFinalizers(mustMeta(obj).GetFinalizers())
		reflect.ValueOf(out).Elem().FieldByName("Status").Set(reflect.ValueOf(obj).Elem().FieldByName("Status"))
		return out
	case "finalize":
		out := old.DeepCopyObject().(*corev1.Namespace)
		out.Spec.Finalizers = obj.(*corev1.Namespace).Spec.Finalizers
		return out
	}
	if f := reflect.ValueOf(obj).Elem().FieldByName("Status"); f.IsValid() {
		f.Set(reflect.ValueOf(old.DeepCopyObject()).Elem().FieldByName("Status"))
	}
	if ns, ok := obj.(*corev1.Namespace); ok {
		ns.Spec = old.(*corev1.Namespace).Spec
	}
	return obj
}

// specChanged says whether an update makes a new generation. An EndpointSlice
// is all spec.
func specChanged(old, obj runtime.Object) bool {
	if a, ok := old.(*discoveryv1.EndpointSlice); ok {
		b := obj.(*discoveryv1.EndpointSlice)
		return !reflect.DeepEqual(a.Endpoints, b.Endpoints) || !reflect.DeepEqual(a.Ports, b.Ports) || !reflect.DeepEqual(a.Labels, b.Labels)
	}
	return !reflect.DeepEqual(field(old, "Spec"), field(obj, "Spec"))
}

func field(obj runtime.Object, name string) any {
	if f := reflect.ValueOf(obj).Elem().FieldByName(name); f.IsValid() {
		return f.Interface()
	}
	return nil
}

// removable reports whether nothing holds an object that is being deleted.
func removable(obj runtime.Object) bool {
	m := mustMeta(obj)
	if ns, ok := obj.(*corev1.Namespace); ok && len(ns.Spec.Finalizers) > 0 {
		return false
	}
	grace := m.GetDeletionGracePeriodSeconds()
	return len(m.GetFinalizers()) == 0 && (grace == nil || *grace == 0)
}

func (c *conn) Patch(t *sim.Task, r client.Resource, namespace, name string, pt types.PatchType, data []byte, subresource string) (runtime.Object, error) {
	if err := c.enter(t, "patch", r, namespace, name); err != nil {
		return nil, err
	}
	old, err := c.find(r, namespace, name)
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	var after []byte
	switch pt {
	case types.StrategicMergePatchType:
		after, err = strategicpatch.StrategicMergePatch(before, data, newObject(r))
	case types.MergePatchType:
		after, err = jsonpatch.MergePatch(before, data)
	case types.JSONPatchType:
		var p jsonpatch.Patch
		if p, err = jsonpatch.DecodePatch(data); err == nil {
			after, err = p.Apply(before)
		}
	default:
		err = fmt.Errorf("patch type %s is not supported here", pt)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	obj := newObject(r)
	if err := json.Unmarshal(after, obj); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return c.replace(t, r, namespace, obj, subresource)
}

// Apply knows of the fields that were applied before, and of no others.
func (c *conn) Apply(t *sim.Task, r client.Resource, namespace, name string, configuration []byte, manager string) (runtime.Object, error) {
	return c.apply(t, r, namespace, name, configuration, manager, "")
}

// ApplyStatus knows as little.
func (c *conn) ApplyStatus(t *sim.Task, r client.Resource, namespace, name string, configuration []byte, manager string) (runtime.Object, error) {
	return c.apply(t, r, namespace, name, configuration, manager, "status")
}

func (c *conn) apply(t *sim.Task, r client.Resource, namespace, name string, configuration []byte, manager, subresource string) (runtime.Object, error) {
	if err := c.enter(t, "patch", r, namespace, name); err != nil {
		return nil, err
	}
	old, err := c.find(r, namespace, name)
	if err != nil {
		return nil, err
	}
	obj, err := Applied(r, old, configuration, manager, subresource)
	if err != nil {
		return nil, err
	}
	return c.replace(t, r, namespace, obj, subresource)
}

// Applied is an object after a server-side apply that takes over what others own.
func Applied(r client.Resource, old runtime.Object, configuration []byte, manager, subresource string) (runtime.Object, error) {
	known, types := scheme.Scheme, applyconfigurations.NewTypeConverter(scheme.Scheme)
	if r == client.CustomResourceDefinitions {
		known, types = crdscheme.Scheme, crdconfigurations.NewTypeConverter(crdscheme.Scheme)
	}
	m, err := managedfields.NewDefaultFieldManager(types, known, known, known, r.GVK(), r.GroupVersion(), subresource, nil)
	if err != nil {
		return nil, err
	}
	applied := &unstructured.Unstructured{}
	if err := json.Unmarshal(configuration, &applied.Object); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	live := old.DeepCopyObject()
	live.GetObjectKind().SetGroupVersionKind(r.GVK())
	obj, err := m.Apply(live, applied, manager, true)
	if err != nil {
		return nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(old.GetObjectKind().GroupVersionKind())
	entries := mustMeta(obj).GetManagedFields()
	for i := range entries {
		entries[i].Time = nil // it is the machine's
	}
	mustMeta(obj).SetManagedFields(entries)
	return obj, nil
}

func (c *conn) Delete(t *sim.Task, r client.Resource, namespace, name string, opts metav1.DeleteOptions) error {
	if err := c.enter(t, "delete", r, namespace, name); err != nil {
		return err
	}
	old, err := c.find(r, namespace, name)
	if err != nil {
		return err
	}
	obj := old.DeepCopyObject()
	m := mustMeta(obj)
	if p := opts.Preconditions; p != nil {
		if p.UID != nil && *p.UID != m.GetUID() {
			return apierrors.NewConflict(r.GroupResource(), name, fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", *p.UID, m.GetUID()))
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != m.GetResourceVersion() {
			return apierrors.NewConflict(r.GroupResource(), name, fmt.Errorf("Precondition failed: ResourceVersion in precondition: %s, ResourceVersion in object meta: %s", *p.ResourceVersion, m.GetResourceVersion()))
		}
	}
	finalize(m, opts.PropagationPolicy)
	if pod, ok := obj.(*corev1.Pod); ok {
		grace := podGrace(pod, opts.GracePeriodSeconds)
		if old := m.GetDeletionGracePeriodSeconds(); old == nil || *old > grace {
			m.SetDeletionGracePeriodSeconds(&grace)
		}
	}
	first := m.GetDeletionTimestamp() == nil
	if removable(obj) {
		c.commit(t, r, watch.Deleted, obj)
		return nil
	}
	if first {
		now := metav1.NewTime(t.Now().Truncate(1e9))
		m.SetDeletionTimestamp(&now)
	}
	if ns, ok := obj.(*corev1.Namespace); ok {
		ns.Status.Phase = corev1.NamespaceTerminating
	}
	if !reflect.DeepEqual(old, obj) {
		c.commit(t, r, watch.Modified, obj)
	}
	return nil
}

// finalize sets the finalizers that a propagation policy asks for.
func finalize(m metav1.Object, policy *metav1.DeletionPropagation) {
	if policy == nil {
		return
	}
	keep := []string{}
	for _, f := range m.GetFinalizers() {
		if f != metav1.FinalizerOrphanDependents && f != metav1.FinalizerDeleteDependents {
			keep = append(keep, f)
		}
	}
	switch *policy {
	case metav1.DeletePropagationOrphan:
		keep = append(keep, metav1.FinalizerOrphanDependents)
	case metav1.DeletePropagationForeground:
		keep = append(keep, metav1.FinalizerDeleteDependents)
	}
	m.SetFinalizers(keep)
}

func podGrace(pod *corev1.Pod, asked *int64) int64 {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return 0
	}
	if asked != nil {
		return *asked
	}
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		return *s
	}
	return 30
}

func (c *conn) CreateSub(t *sim.Task, r client.Resource, namespace, name, subresource string, obj runtime.Object) (runtime.Object, error) {
	if err := c.enter(t, "create", r, namespace, name); err != nil {
		return nil, err
	}
	old, err := c.find(r, namespace, name)
	if err != nil {
		return nil, err
	}
	if b, ok := obj.(*corev1.Binding); ok && subresource == "binding" {
		pod := old.DeepCopyObject().(*corev1.Pod)
		if pod.Spec.NodeName != "" {
			return nil, apierrors.NewConflict(r.GroupResource(), name, fmt.Errorf("pod %s is already assigned to node %q", name, pod.Spec.NodeName))
		}
		pod.Spec.NodeName = b.Target.Name
		c.commit(t, r, watch.Modified, pod)
		return &metav1.Status{Status: metav1.StatusSuccess}, nil
	}
	return nil, apierrors.NewMethodNotSupported(r.GroupResource(), "create "+subresource)
}

// GetScale is [client.Scales], for the kinds with spec.replicas.
func (c *conn) GetScale(t *sim.Task, r client.Resource, namespace, name string) (*autoscalingv1.Scale, error) {
	if err := c.enter(t, "get", r, namespace, name); err != nil {
		return nil, err
	}
	spec, ok := reflect.TypeOf(newObject(r)).Elem().FieldByName("Spec")
	if ok {
		_, ok = spec.Type.FieldByName("Replicas")
	}
	if !ok {
		return nil, apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "the server could not find the requested resource", 0, true)
	}
	obj, err := c.find(r, namespace, name)
	if err != nil {
		return nil, err
	}
	return scaleOf(obj), nil
}

// scaleOf is the scale of an object of Kubernetes' own kinds.
func scaleOf(obj runtime.Object) *autoscalingv1.Scale {
	m, v := mustMeta(obj), reflect.ValueOf(obj).Elem()
	s := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(), ResourceVersion: m.GetResourceVersion()}}
	s.Spec.Replicas = *v.FieldByName("Spec").FieldByName("Replicas").Interface().(*int32)
	if f := v.FieldByName("Status").FieldByName("Replicas"); f.IsValid() {
		s.Status.Replicas = int32(f.Int())
	}
	selector, _ := v.FieldByName("Spec").FieldByName("Selector").Interface().(*metav1.LabelSelector)
	if byLabels, ok := v.FieldByName("Spec").FieldByName("Selector").Interface().(map[string]string); ok {
		selector = metav1.SetAsLabelSelector(byLabels)
	}
	if parsed, err := metav1.LabelSelectorAsSelector(selector); err == nil && selector != nil {
		s.Status.Selector = parsed.String()
	}
	return s
}

// GetAggregated is [client.Aggregation]: what [Server.Aggregated] answers.
func (c *conn) GetAggregated(t *sim.Task, r client.AggregatedRead) (int, []byte, error) {
	if err := c.enter(t, r.Verb(), client.Resource{GroupVersionResource: r.Resource}, r.Namespace, r.Name); err != nil {
		return 0, nil, err
	}
	if c.Aggregated == nil || !c.Aggregates(r.Resource.GroupVersion()) {
		return http.StatusNotFound, []byte("404 page not found"), nil
	}
	code, body := c.Aggregated(r)
	return code, body, nil
}

// StaleGroups and Aggregates are [client.Discovery].
func (c *conn) StaleGroups() []client.StaleGroup { return nil }

func (c *conn) Aggregates(gv schema.GroupVersion) bool {
	return slices.Contains(c.AggregatedGroups, gv)
}

// Served is [client.Discovery]: what [Server.Discovered] says, or every kind with every verb.
func (c *conn) Served(gr schema.GroupResource) (client.ServedResource, bool) {
	if c.Discovered != nil {
		return c.Discovered(gr)
	}
	for _, r := range client.All() {
		if r.GroupResource() == gr {
			return client.ServedResource{Resource: r, Verbs: []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}}, true
		}
	}
	return client.ServedResource{}, false
}

func newObject(r client.Resource) runtime.Object {
	for _, s := range []*runtime.Scheme{scheme.Scheme, crdscheme.Scheme} {
		if obj, err := s.New(r.GVK()); err == nil {
			return obj
		}
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(r.GVK())
	return u
}

// Number is a resourceVersion as a number.
func Number(resourceVersion string) int64 {
	n, _ := strconv.ParseInt(resourceVersion, 10, 64)
	return n
}
