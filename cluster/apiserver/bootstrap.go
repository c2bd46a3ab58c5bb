package apiserver

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	schedulinghelper "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
)

// bootstrap writes what a kube-apiserver's post-start hooks write into a new
// cluster: the system namespaces, the RBAC policy, the system priority
// classes, the kubernetes Service with its endpoints, and the default ServiceCIDR.
// It goes past the pipeline, and leaves alone what exists.
func (s *Server) bootstrap(t *sim.Task) {
	for s.st.Resume(t) != nil {
		t.Sleep(time.Second)
	}
	var nonces *rand.Rand // nil for those that there are
	if r := s.st.Revision(); r > 1 {
		// A store from a run before has objects with names and UIDs drawn from the
		// same seed; what is drawn now must differ.
		s.names.Stream = s.k.Rand(fmt.Sprintf("%s@%d", s.streamName("apiserver"), r))
		nonces = s.k.Rand(fmt.Sprintf("%s@%d", s.streamName("encryption"), r))
	}
	s.encryption.Start(t, s.p, nonces)
	for {
		resp, err := s.st.Range(t, &pb.RangeRequest{Key: []byte("/registry/"), RangeEnd: cacher.PrefixEnd("/registry/"), KeysOnly: true})
		if err == nil && resp.Count > 0 {
			s.takeUp(resp.Kvs)
			return // not a new cluster
		}
		if err == nil {
			break
		}
		t.Sleep(time.Second)
	}
	objs := s.initialObjects(second(t))
	for len(objs) > 0 {
		n := min(transactionOps, len(objs))
		s.writeInitial(t, objs[:n])
		objs = objs[n:]
	}
}

// takeUp notes what a store has.
func (s *Server) takeUp(keys []*mvccpb.KeyValue) {
	s.lacksServiceCIDR = true
	for _, kv := range keys {
		if isServiceCIDR(kv.Key) {
			s.lacksServiceCIDR = false
		}
		if k := registry.KindOfKey(kv.Key); k != nil {
			s.note(k, kv.Key)
		}
	}
}

// second is now, as times are in objects.
func second(t *sim.Task) metav1.Time { return metav1.NewTime(t.Now().Truncate(time.Second)) }

func (s *Server) writeInitial(t *sim.Task, objs []initial) {
	req := &pb.TxnRequest{}
	for _, o := range objs {
		key := o.kind.Prefix + o.kind.Key(object.Meta(o.obj).GetNamespace(), object.Meta(o.obj).GetName())
		value, err := registry.Encode(o.kind, o.obj)
		if err != nil {
			panic("apiserver: " + err.Error())
		}
		sealed, err := s.transformer(o.kind).Write(t, key, value)
		for ; err != nil; sealed, err = s.transformer(o.kind).Write(t, key, value) {
			t.Sleep(time.Second) // a KMS plugin is down
		}
		req.Compare = append(req.Compare, &pb.Compare{Result: pb.Compare_EQUAL, Target: pb.Compare_MOD, Key: []byte(key), TargetUnion: &pb.Compare_ModRevision{}})
		req.Success = append(req.Success, storage.Put(key, sealed))
	}
	for {
		if _, _, err := s.st.Txn(t, req); err == nil {
			return
		}
		t.Sleep(time.Second)
	}
}

// transactionOps is how many operations go into one transaction; etcd allows
// 128.
const transactionOps = 100

// initial is an object of a new cluster.
type initial struct {
	kind *registry.Kind
	obj  runtime.Object
}

func (s *Server) initialObjects(now metav1.Time) []initial {
	var out []initial
	add := func(r client.Resource, obj runtime.Object) {
		registry.Scheme.Default(obj)
		obj.GetObjectKind().SetGroupVersionKind(r.GVK())
		m := object.Meta(obj)
		if m.GetUID() == "" {
			m.SetUID(s.names.UID())
		}
		m.SetCreationTimestamp(now)
		out = append(out, initial{registry.KindFor(r.GroupVersionResource), obj})
	}
	for _, name := range []string{"kube-system", "kube-public", "kube-node-lease", "default"} {
		add(client.Namespaces, &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}},
			Spec:       corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
		})
	}
	addPolicy(add)
	for _, pc := range schedulinghelper.SystemPriorityClasses() {
		pc = pc.DeepCopy()
		pc.Generation = 1
		add(client.PriorityClasses, pc)
	}
	add(client.Services, s.kubernetesService())
	slice := kubernetesSlice([]string{s.cfg.AdvertiseIP})
	slice.Generation = 1
	add(client.EndpointSlices, slice)
	// Its UID is not drawn from the server's stream, in which a seed has its names.
	endpoints := kubernetesEndpoints([]string{s.cfg.AdvertiseIP})
	endpoints.UID = object.NewUID(s.k.Rand(s.streamName("kubernetes-endpoints")))
	add(client.Endpoints, endpoints)
	return append(out, s.initialServiceCIDR(now))
}

// addPolicy adds the default RBAC objects
// (pkg/registry/rbac/rest/storage_rbac.go).
func addPolicy(add func(client.Resource, runtime.Object)) {
	roles := append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...)
	byName := make([]*rbacv1.ClusterRole, len(roles))
	for i := range roles {
		byName[i] = &roles[i]
	}
	slices.SortFunc(byName, func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	for i := range roles {
		aggregate(&roles[i], byName)
		add(client.ClusterRoles, roles[i].DeepCopy())
	}
	bindings := append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...)
	for i := range bindings {
		add(client.ClusterRoleBindings, bindings[i].DeepCopy())
	}
	inNamespaces := bootstrappolicy.NamespaceRoles()
	for _, ns := range sortedKeys(inNamespaces) {
		for i := range inNamespaces[ns] {
			add(client.Roles, inNamespaces[ns][i].DeepCopy())
		}
	}
	nsBindings := bootstrappolicy.NamespaceRoleBindings()
	for _, ns := range sortedKeys(nsBindings) {
		for i := range nsBindings[ns] {
			add(client.RoleBindings, nsBindings[ns][i].DeepCopy())
		}
	}
}

// aggregate does what the clusterrole-aggregation controller does from then on: admin, edit
// and view are the sum of the roles labelled for them, by their names. So the controller
// finds nothing to do in a new cluster.
func aggregate(role *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) {
	if role.AggregationRule == nil {
		return
	}
	for _, ls := range role.AggregationRule.ClusterRoleSelectors {
		sel, err := metav1.LabelSelectorAsSelector(&ls)
		if err != nil {
			continue
		}
		for _, part := range all {
			if part.Name != role.Name && sel.Matches(labels.Set(part.Labels)) {
				aggregate(part, all)
				for _, r := range part.Rules {
					if !hasRule(role.Rules, r) {
						role.Rules = append(role.Rules, r)
					}
				}
			}
		}
	}
}

func hasRule(rules []rbacv1.PolicyRule, r rbacv1.PolicyRule) bool {
	for i := range rules {
		if object.Equal(rules[i], r) {
			return true
		}
	}
	return false
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func ptr[T any](v T) *T { return &v }
