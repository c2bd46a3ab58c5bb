package cluster_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kviz/cluster"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// chef makes objects that are nearly valid: of the right shape, with values that are sometimes right,
// often at the edge, and that no validation has seen.
type chef struct{ *rand.Rand }

func (c chef) of(list ...string) string { return list[c.IntN(len(list))] }

func (c chef) once(n int) bool { return c.IntN(n) == 0 }

// texts are what strings hold, beside what their field is for.
var texts = []string{
	"", "a", "web", "default", "kube-system", "node-1", "10.96.0.77", "10.244.0.77", "fd00::1", "http", "80", "-1", "1Gi", "100%", "*", "a/b", "example.com/x", "v1",
	"é\x00", strings.Repeat("x", 300), "((((", "{{{", "$(A)", "[", "\\", "apps/v1", "0.0.0.0/0", "10.0.0.0/99", "1h", "* * * * *", "@every -1s", "self == null", "{.spec.x}",
}

// meant are what fields of a name hold that somebody acts on.
var meant = map[string][]string{
	"NodeName": {"node-1", "node-1", "", "nowhere"}, "Image": {"nginx:1.27", "busybox", "", "no such image", "a@b@c"}, "RestartPolicy": {"Always", "Never", "OnFailure", "x"},
	"SchedulerName": {"default-scheduler", ""}, "ServiceAccountName": {"default", ""}, "Kind": {"Pod", "ReplicaSet", "Deployment", "Node", "Job", ""}, "Operator": {"In", "Exists", "NotIn", "Gt", "Equal", "x"},
	"APIVersion": {"v1", "apps/v1", "batch/v1", "a/b/c", ""}, "TopologyKey": {"kubernetes.io/hostname", "", "zone"}, "Protocol": {"TCP", "UDP", ""}, "ClusterIP": {"10.96.0.77", "None", "", "x"},
	"Phase": {"Running", "Pending", "Succeeded", "Failed", "Active", "Terminating", "Bound", ""}, "Status": {"True", "False", "Unknown", ""}, "Schedule": {"* * * * *", "@daily", "x", "@every 1s", ""},
	"WhenUnsatisfiable": {"DoNotSchedule", "ScheduleAnyway", ""}, "AddressType": {"IPv4", "FQDN", ""}, "TimeZone": {"UTC", "x"}, "ConcurrencyPolicy": {"Allow", "Forbid", "Replace"},
	"Effect": {"NoSchedule", "NoExecute", "PreferNoSchedule", ""}, "Type": {"ClusterIP", "NodePort", "LoadBalancer", "RollingUpdate", "Recreate", "OnDelete", "Ready", "Container", "Utilization", ""},
}

// fill fills a value to some depth.
func (c chef) fill(v reflect.Value, name string, depth int) {
	switch x := v.Addr().Interface().(type) {
	case *metav1.ObjectMeta:
		c.meta(x)
		return
	case *metav1.TypeMeta, *runtime.RawExtension:
		return
	case *metav1.FieldsV1:
		return
	case *metav1.Time:
		*x = metav1.Time{Time: time.Unix(int64(c.IntN(3))*883612800, 0).UTC()} // 1970, 1998, 2026
		return
	case *metav1.MicroTime:
		*x = metav1.NewMicroTime(time.Unix(int64(c.IntN(3))*883612800, 0).UTC())
		return
	case *metav1.LabelSelector:
		*x = metav1.LabelSelector{MatchLabels: c.labels()}
		if c.once(3) {
			x.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: c.of("app", "", "a b"), Operator: metav1.LabelSelectorOperator(c.of(meant["Operator"]...)), Values: []string{c.of(texts...)}}}
		}
		return
	case *resource.Quantity:
		*x = resource.MustParse(c.of("0", "1", "-1", "100m", "1Gi", "1e3", "9223372036854775807", "8E"))
		return
	case *intstr.IntOrString:
		if *x = intstr.FromInt32(int32(c.IntN(100) - 1)); c.once(2) {
			*x = intstr.FromString(c.of("50%", "http", "", "-1%", "x"))
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if depth > 0 && !c.once(3) && v.Type().Elem().PkgPath() != "time" {
			v.Set(reflect.New(v.Type().Elem()))
			c.fill(v.Elem(), name, depth-1)
		}
	case reflect.Slice:
		if depth <= 0 || c.once(3) {
			return
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(c.of(append([]string{`{"a":1}`, "-----BEGIN CERTIFICATE REQUEST-----"}, texts...)...)))
			return
		}
		n := 1 + c.IntN(2)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			c.fill(v.Index(i), name, depth-1)
		}
	case reflect.Map:
		if depth <= 0 || c.once(3) {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for range 1 + c.IntN(2) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			c.fill(key, name, depth-1)
			c.fill(value, name, depth-1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && (!c.once(3) || v.Field(i).Kind() == reflect.Struct) {
				c.fill(v.Field(i), f.Name, depth-1)
			}
		}
	case reflect.String:
		if list := meant[name]; list != nil && !c.once(8) {
			v.SetString(c.of(list...))
		} else {
			v.SetString(c.of(texts...))
		}
	case reflect.Bool:
		v.SetBool(c.once(2))
	case reflect.Int, reflect.Int32, reflect.Int64:
		n := []int64{0, 1, 2, 3, 80, 30080, -1, math.MaxInt32, math.MinInt32}[c.IntN(9)]
		v.SetInt(n)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(c.IntN(3)))
	case reflect.Float64:
		v.SetFloat([]float64{0, 1, -1, math.MaxFloat64}[c.IntN(4)])
	}
}

func (c chef) labels() map[string]string {
	l := map[string]string{"app": c.of("web", "bad")}
	if c.once(3) {
		l[c.of(texts...)] = c.of(texts...)
	}
	return l
}

func (c chef) meta(m *metav1.ObjectMeta) {
	m.Labels, m.UID = c.labels(), types.UID(fmt.Sprint("uid-", c.Uint64()))
	if c.once(8) {
		m.UID = "uid-"
	}
	if !c.once(8) {
		m.CreationTimestamp = metav1.Unix(1767225600, 0)
	}
	if c.once(4) {
		m.Labels = nil
	}
	if c.once(4) {
		m.Finalizers = []string{c.of("kubernetes", "foregroundDeletion", "x", "orphan", "batch.kubernetes.io/job-tracking")}
	}
	if c.once(4) {
		m.OwnerReferences = []metav1.OwnerReference{{Kind: c.of(meant["Kind"]...), APIVersion: c.of(meant["APIVersion"]...), Name: c.of("web", "", "a"), UID: "uid-"}}
		if c.once(2) {
			yes := true
			m.OwnerReferences[0].Controller = &yes
		}
	}
	if c.once(4) {
		m.Annotations = map[string]string{c.of("kviz.dev/behaviour", "deployment.kubernetes.io/revision", "kubectl.kubernetes.io/last-applied-configuration", ""): c.of(texts...)}
	}
	if c.once(6) {
		at := metav1.Unix(1767225600, 0)
		m.DeletionTimestamp = &at
	}
	m.Generation = int64(c.IntN(3)) - 1
}

// settled are kinds whose objects say what the API server does with everybody's requests: with
// nonsense in them a cluster refuses everything, and rightly so.
var settled = []string{
	"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
	"FlowSchema", "PriorityLevelConfiguration", "APIService", "CustomResourceDefinition", "Lease", "Namespace", "PriorityClass", "LimitRange", "ResourceQuota",
}

// dish is a value and where it is put.
type dish struct {
	key   string
	value []byte
}

// dishes are some objects of each kind, of those that are settled or of the others, and values that are no objects.
func (c chef) dishes(tb testing.TB, of func(*registry.Kind) bool, each int) (all []dish) {
	for _, k := range registry.Kinds {
		if !k.Stored() || k.Hub != nil || !of(k) {
			continue
		}
		for i := range each {
			obj := k.New()
			c.fill(reflect.ValueOf(obj).Elem(), "", 9)
			m, err := meta.Accessor(obj)
			if err != nil {
				tb.Fatal(err)
			}
			name := fmt.Sprintf("bad-%d", i)
			if m.SetName(name); c.once(8) {
				m.SetName("")
			}
			key := k.Prefix + name
			if k.Namespaced {
				m.SetNamespace("default")
				if key = k.Prefix + "default/" + name; c.once(10) {
					key = k.Prefix + name
				}
			}
			if pod, ok := obj.(*corev1.Pod); ok && len(pod.Spec.Containers) == 0 && !c.once(4) {
				pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "nginx:1.27"}}
			}
			obj.GetObjectKind().SetGroupVersionKind(k.GVK())
			value, err := registry.Encode(k, obj)
			if c.once(4) { // as a very old one, or somebody by hand, writes it
				value, err = json.Marshal(obj)
			}
			if err != nil {
				tb.Fatalf("%s: %v", key, err)
			}
			switch c.IntN(20) {
			case 0:
				value = value[:len(value)*2/3]
			case 1:
				value[c.IntN(len(value))] ^= 1 << c.IntN(8)
			}
			all = append(all, dish{key, value})
		}
		for i, junk := range []string{"", "null", "[]", "k8s\x00", `{"kind":"Status","apiVersion":"v1"}`, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"}}`} {
			if c.once(6) {
				all = append(all, dish{fmt.Sprintf("%sdefault/junk-%d", k.Prefix, i), []byte(junk)})
			}
		}
	}
	return all
}

// seeds is how many times it is cooked for, each time something else (KVIZ_SEED begins elsewhere).
const seeds = 6

// Whatever the store holds, written past all validation, the cluster starts with it and goes on: the
// components that work on it meet nothing that they panic at. (That a panic would be contained is for
// the tests of each component.) The same store is started on again.
func TestWhateverIsStoredCanBeStarted(t *testing.T) {
	t.Parallel()
	for n := range uint64(seeds) {
		seed := steady.Seed() + n
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			steady.Bubble(t, func(t *testing.T) {
				dir := t.TempDir()
				cook := chef{rand.New(rand.NewPCG(seed, 1))}
				session := func(use func(*cluster.Cluster)) {
					c := boot(t, cluster.Config{Seed: seed, Members: 1, NoSync: true, Nodes: 1, DataDir: dir})
					use(c)
					for _, p := range panics(c) {
						t.Error(p)
					}
					if err := c.Close(); err != nil {
						t.Fatal(err)
					}
				}
				ordinary := func(k *registry.Kind) bool { return !slices.Contains(settled, k.Kind) }
				session(func(c *cluster.Cluster) {
					for _, d := range cook.dishes(t, ordinary, 3) {
						if err := c.PutRaw(d.key, d.value); err != nil {
							t.Fatal(err)
						}
					}
					run(t, c, "sleep 180; kubectl run fine-0 --image=nginx:1.27; kubectl wait pod/fine-0 --for=condition=Ready --timeout=3m")
				})
				session(func(c *cluster.Cluster) {
					run(t, c, `
sleep 180
kubectl run fine-1 --image=nginx:1.27
kubectl wait pod/fine-0 pod/fine-1 --for=condition=Ready --timeout=3m
for r in $(kubectl api-resources --verbs=list -o name); do kubectl get $r -A -o wide > /dev/null || true; done
`)
					for _, d := range cook.dishes(t, func(k *registry.Kind) bool { return !ordinary(k) }, 3) {
						if err := c.PutRaw(d.key, d.value); err != nil {
							t.Fatal(err)
						}
					}
					run(t, c, "sleep 180")
				})
			})
		})
	}
}

// panics are what was contained in a run.
func panics(c *cluster.Cluster) (all []string) {
	events, _, _ := c.Trace().Read(c.Trace().First(), 1<<22)
	for _, e := range events {
		if p, ok := e.Payload.(*trace.Panicked); ok {
			if s := fmt.Sprintf("%s: %s, %s: %s", e.Object, p.Process, p.Doing, p.Panic); !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
		if p, ok := e.Payload.(*trace.Process); ok && strings.HasPrefix(p.Reason, "panic: ") {
			all = append(all, p.Process+": "+p.Reason)
		}
	}
	return all
}

// A component that panics where it contains nothing ends alone, as the real program would, and is started
// again: after a second, and then after ten.
func TestAComponentThatPanicsIsRestarted(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 3, Bare: true, Nodes: 1})
		for range 2 {
			if err := c.Panic("scheduler"); err != nil {
				t.Fatal(err)
			}
			run(t, c, "sleep 5")
		}
		run(t, c, "kubectl run web --image=nginx:1.27; kubectl wait pod/web --for=condition=Ready --timeout=1m")
		var told []string
		events, _, _ := c.Trace().Read(c.Trace().First(), 1<<20)
		var down time.Duration
		for _, e := range events {
			p, ok := e.Payload.(*trace.Process)
			switch {
			case !ok || e.Lane.Component != trace.CompScheduler:
			case e.Kind == trace.ProcessExit:
				down = e.At
				what, how, _ := strings.Cut(p.Reason, " (") // the function is the test's
				_, how, _ = strings.Cut(how, "), ")
				told = append(told, what+", "+how)
			case down > 0:
				told = append(told, fmt.Sprintf("%v later: %s", e.At-down, p.Reason))
			}
		}
		const end, begin = "panic: out of luck, exit status 2", " later: its static pod is restarted"
		if want := []string{end, "1s" + begin, end, "10s" + begin}; !slices.Equal(told, want) {
			t.Errorf("told %q", told)
		}
	})
}
