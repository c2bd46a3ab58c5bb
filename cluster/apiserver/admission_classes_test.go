package apiserver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

func claim(name string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.Resources.Requests = hard("storage", "1Gi")
	return c
}

// A claim without a class gets the newest default one, and grows only where its
// class lets it, within the LimitRange of the namespace.
func TestStorageClassPlugins(t *testing.T) {
	t.Parallel()
	run(t, Config{}, func(w *world, task *sim.Task) {
		c := w.admin()
		class := func(name string, isDefault, grows bool) {
			sc := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "example.com/disk", AllowVolumeExpansion: &grows}
			if isDefault {
				sc.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
			}
			_, err := client.Create(task, c, client.StorageClasses, "", sc)
			w.must(err)
			task.Sleep(time.Second)
		}
		early, err := client.Create(task, c, client.PersistentVolumeClaims, "default", claim("early"))
		w.must(err)
		if early.Spec.StorageClassName != nil {
			t.Errorf("without a class there is %q", *early.Spec.StorageClassName)
		}
		class("old", true, false)
		class("new", true, true)
		class("other", false, true)
		made, err := client.Create(task, c, client.PersistentVolumeClaims, "default", claim("data"))
		w.must(err)
		if made.Spec.StorageClassName == nil || *made.Spec.StorageClassName != "new" {
			t.Fatalf("the class is %v", made.Spec.StorageClassName)
		}
		grow := func(name, size, want string) {
			t.Helper()
			pvc, err := client.Get[*corev1.PersistentVolumeClaim](task, c, client.PersistentVolumeClaims, "default", name)
			w.must(err)
			pvc.Spec.Resources.Requests["storage"] = resource.MustParse(size)
			_, err = client.Update(task, c, client.PersistentVolumeClaims, "default", pvc)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s to %s: %v, want %q", name, size, err, want)
			}
		}
		bind := func(name string) {
			pvc, err := client.Get[*corev1.PersistentVolumeClaim](task, c, client.PersistentVolumeClaims, "default", name)
			w.must(err)
			pvc.Status.Phase = corev1.ClaimBound
			_, err = client.UpdateStatus(task, c, client.PersistentVolumeClaims, "default", pvc)
			w.must(err)
		}
		bind("data")
		bind("early")
		grow("data", "2Gi", "")
		grow("early", "2Gi", "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize")
		_, err = client.Create(task, c, client.LimitRanges, "default", &corev1.LimitRange{
			ObjectMeta: metav1.ObjectMeta{Name: "disks"},
			Spec:       corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypePersistentVolumeClaim, Max: hard("storage", "3Gi")}}},
		})
		w.must(err)
		grow("data", "4Gi", "maximum storage usage per PersistentVolumeClaim is 3Gi, but request is 4Gi")
	})
}

// A pod takes its overhead and its nodes from its RuntimeClass.
func TestRuntimeClassPlugin(t *testing.T) {
	t.Parallel()
	run(t, Config{}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		c := w.admin()
		in := func(class string) *corev1.Pod {
			p := pod("p-" + class)
			p.Spec.RuntimeClassName = &class
			p.Spec.NodeSelector = map[string]string{"disk": "ssd"}
			return p
		}
		if _, err := client.Create(task, c, client.Pods, "default", in("vm")); err == nil || !strings.Contains(err.Error(), `pod rejected: RuntimeClass "vm" not found`) {
			t.Errorf("without the class: %v", err)
		}
		_, err := client.Create(task, c, client.RuntimeClasses, "", &nodev1.RuntimeClass{
			ObjectMeta: metav1.ObjectMeta{Name: "vm"}, Handler: "kata", Overhead: &nodev1.Overhead{PodFixed: hard("memory", "120Mi")},
			Scheduling: &nodev1.Scheduling{
				NodeSelector: map[string]string{"vm": "yes"}, Tolerations: []corev1.Toleration{{Key: "vm", Operator: corev1.TolerationOpExists}},
			},
		})
		w.must(err)
		p, err := client.Create(task, c, client.Pods, "default", in("vm"))
		w.must(err)
		if p == nil || !object.Equal(p.Spec.Overhead, hard("memory", "120Mi")) || p.Spec.NodeSelector["vm"] != "yes" || p.Spec.NodeSelector["disk"] != "ssd" || !tolerated(p, "vm") {
			t.Errorf("the pod is %+v", p)
		}
		bare := pod("bare")
		bare.Spec.Overhead = hard("memory", "1Mi")
		if _, err := client.Create(task, c, client.Pods, "default", bare); err == nil || !strings.Contains(err.Error(), "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead") {
			t.Errorf("an overhead without a class: %v", err)
		}
		clash := in("vm")
		clash.Name, clash.Spec.NodeSelector = "clash", map[string]string{"vm": "no"}
		if _, err := client.Create(task, c, client.Pods, "default", clash); err == nil || !strings.Contains(err.Error(), "conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no") {
			t.Errorf("another node: %v", err)
		}
	})
}

func tolerated(p *corev1.Pod, key string) bool {
	for _, t := range p.Spec.Tolerations {
		if t.Key == key {
			return true
		}
	}
	return false
}

// An Ingress without a class gets the newest default one; one that names its class, by
// the old annotation too, keeps that.
func TestDefaultIngressClass(t *testing.T) {
	t.Parallel()
	run(t, Config{}, func(w *world, task *sim.Task) {
		c := w.admin()
		class := func(name, isDefault string) {
			ic := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{networkingv1.AnnotationIsDefaultIngressClass: isDefault}}}
			ic.Spec.Controller = "example.com/door"
			_, err := client.Create(task, c, client.IngressClasses, "", ic)
			w.must(err)
		}
		create := func(name string, change func(*networkingv1.Ingress)) string {
			t.Helper()
			ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
			ingress.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}
			if change != nil {
				change(ingress)
			}
			made, err := client.Create(task, c, client.Ingresses, "default", ingress)
			w.must(err)
			if made.Spec.IngressClassName == nil {
				return ""
			}
			return *made.Spec.IngressClassName
		}
		is := func(got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("the class is %q, want %q", got, want)
			}
		}
		is(create("early", nil), "")
		class("old", "true")
		task.Sleep(time.Second)
		class("newer-b", "true")
		class("newer-a", "true")
		class("newest", "false")
		is(create("late", nil), "newer-a")
		own := "old"
		is(create("named", func(i *networkingv1.Ingress) { i.Spec.IngressClassName = &own }), "old")
		is(create("annotated", func(i *networkingv1.Ingress) {
			i.Annotations = map[string]string{"kubernetes.io/ingress.class": "nginx"}
		}), "")
	})
}

// A pod that gets a node gets the node's region and zone, whatever its own labels or
// its Binding's say.
func TestPodTopologyLabels(t *testing.T) {
	t.Parallel()
	run(t, Config{}, func(w *world, task *sim.Task) {
		c := w.admin()
		_, err := client.Create(task, c, client.ServiceAccounts, "default", &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
		w.must(err)
		for _, zone := range []string{"a", ""} {
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + zone, Labels: map[string]string{"rack": "7"}}}
			if n.Name = "plain"; zone != "" {
				n.Name = "placed"
				n.Labels[corev1.LabelTopologyZone], n.Labels[corev1.LabelTopologyRegion] = zone, "north"
			}
			_, err := client.Create(task, c, client.Nodes, "", n)
			w.must(err)
		}
		labels := func(name string, pod *corev1.Pod, bind *corev1.Binding) string {
			t.Helper()
			pod.Name, pod.Namespace = name, "default"
			pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "nginx:1.27"}}
			_, err := client.Create(task, c, client.Pods, "default", pod)
			w.must(err)
			if bind != nil {
				bind.Name, bind.Target.Kind = name, "Node"
				_, err := c.CreateSub(task, client.Pods, "default", name, "binding", bind)
				w.must(err)
			}
			got, err := client.Get[*corev1.Pod](task, c, client.Pods, "default", name)
			w.must(err)
			return fmt.Sprint(got.Labels)
		}
		to := func(node string, labels map[string]string) *corev1.Binding {
			return &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Target: corev1.ObjectReference{Name: node}}
		}
		placed := "topology.kubernetes.io/region:north topology.kubernetes.io/zone:a"
		for _, x := range []struct {
			name string
			pod  *corev1.Pod
			bind *corev1.Binding
			want string
		}{
			{"bound", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}}, to("placed", nil), "map[app:web " + placed + "]"},
			{"lying", &corev1.Pod{}, to("placed", map[string]string{corev1.LabelTopologyZone: "z", "by": "me"}), "map[by:me " + placed + "]"},
			{"made-for-it", &corev1.Pod{Spec: corev1.PodSpec{NodeName: "placed"}}, nil, "map[" + placed + "]"},
			{"plain", &corev1.Pod{}, to("plain", nil), "map[]"},
			{"nowhere", &corev1.Pod{Spec: corev1.PodSpec{NodeName: "gone"}}, nil, "map[]"},
		} {
			if got := labels(x.name, x.pod, x.bind); got != x.want {
				t.Errorf("%s: %s, want %s", x.name, got, x.want)
			}
		}
	})
}
