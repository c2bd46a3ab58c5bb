package servicestest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

// Service is a Service called web in the namespace demo.
func Service(r *rapid.T, round int) *corev1.Service {
	draw := func(what string, most int) int { return rapid.IntRange(0, most).Draw(r, fmt.Sprint(what, " ", round)) }
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web", UID: "web-uid"}}
	svc.Spec.ClusterIP, svc.Spec.IPFamilies = "10.96.0.10", []corev1.IPFamily{corev1.IPv4Protocol}
	if draw("headless", 3) == 0 {
		svc.Spec.ClusterIP = corev1.ClusterIPNone
	}
	svc.Spec.PublishNotReadyAddresses = draw("publish not ready", 4) == 0
	svc.Spec.Ports = []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(8080)}}
	if draw("named port", 1) == 0 {
		svc.Spec.Ports[0].TargetPort = intstr.FromString("http")
	}
	if draw("two ports", 3) == 0 {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "metrics", Protocol: corev1.ProtocolTCP, Port: 9090, TargetPort: intstr.FromInt32(9090)})
	}
	if draw("labelled", 2) == 0 {
		svc.Labels = map[string]string{"team": fmt.Sprint(draw("team", 1))}
	}
	return svc
}

// Pods are up to 230 pods, ready and not ready, starting and terminating, some of them
// without an address or a port named http.
func Pods(r *rapid.T, round int) (out []*corev1.Pod) {
	most := rapid.SampledFrom([]int{0, 3, 12, 100, 105, 230}).Draw(r, fmt.Sprint("pods at most ", round))
	absent := rapid.IntRange(0, 4).Draw(r, fmt.Sprint("absent, of 5, ", round))
	salt := rapid.Uint64().Draw(r, fmt.Sprint("salt ", round))
	for i := range most {
		h := (uint64(i) + salt) * 0x9e3779b97f4a7c15 >> 32
		pick := func(n uint64) uint64 { v := h % n; h /= n; return v }
		if int(pick(5)) < absent {
			continue
		}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: fmt.Sprintf("web-%03d", i), UID: types.UID(fmt.Sprint("pod-", i))}}
		p.Spec.NodeName = fmt.Sprint("node-", i%3)
		p.Status.Phase = corev1.PodRunning
		p.Status.PodIP = fmt.Sprintf("10.244.%d.%d", i%3, i)
		p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
		p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "http", Protocol: corev1.ProtocolTCP, ContainerPort: int32(8080 + i%2)}}}}
		if pick(3) > 0 {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		if pick(6) == 0 {
			now := metav1.Unix(1000, 0)
			p.DeletionTimestamp = &now
		}
		switch pick(12) {
		case 0:
			p.Status.Phase = corev1.PodFailed
		case 1:
			p.Status.PodIP, p.Status.PodIPs = "", nil
		case 2:
			p.Spec.Hostname, p.Spec.Subdomain = fmt.Sprint("host-", i), "web"
		case 3:
			p.Spec.Containers[0].Ports = nil
		}
		out = append(out, p)
	}
	return out
}
