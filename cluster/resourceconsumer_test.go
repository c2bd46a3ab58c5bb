package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kviz/raftstore/steady"
)

// The controller of the resource consumers splits what a request asks for, and their Service spreads it
// over their pods, as in Kubernetes' end-to-end tests of autoscaling.
func TestResourceConsumers(t *testing.T) {
	consumer := func(name string) *corev1.Pod {
		p := simplePod(name, corev1.Container{Image: "registry.k8s.io/e2e-test-images/resource-consumer:1.14"})
		p.Labels = map[string]string{"name": "rc"}
		return p
	}
	ctrl := simplePod("ctrl", corev1.Container{
		Image:   "registry.k8s.io/e2e-test-images/agnhost:2.56",
		Command: []string{"/agnhost", "resource-consumer-controller", "--consumer-service-name=rc", "--consumer-service-namespace=default", "--consumer-port=80"},
	})
	ctrl.Labels = map[string]string{"name": "ctrl"}
	o := serveOutside(t, consumer("rc-1"), consumer("rc-2"), ctrl)
	ctx := t.Context()
	for _, name := range []string{"rc", "ctrl"} {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
			Selector: map[string]string{"name": name}, Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
		}}
		if _, err := o.api.CoreV1().Services("default").Create(ctx, svc, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(path string) (int, string) {
		code := 0
		r := o.api.CoreV1().RESTClient().Post().AbsPath("/api/v1/namespaces/default/" + path)
		if at := strings.IndexByte(path, '?'); at >= 0 {
			r = o.api.CoreV1().RESTClient().Post().AbsPath("/api/v1/namespaces/default/" + path[:at])
			for pair := range strings.SplitSeq(path[at+1:], "&") {
				name, value, _ := strings.Cut(pair, "=")
				r = r.Param(name, value)
			}
		}
		res := r.Do(ctx)
		b, err := res.Raw()
		var status apierrors.APIStatus
		if errors.As(err, &status) {
			return int(status.Status().Code), fmt.Sprint(status.Status().Details)
		}
		res.StatusCode(&code)
		return code, string(b)
	}
	steady.Until(t, "the Services have endpoints", func() bool {
		code, said := ask("services/ctrl:http/proxy/ConsumeCPU?millicores=1&durationSec=0&requestSizeMillicores=1")
		return code == 200 && !strings.Contains(said, "Failed")
	})
	for _, want := range []struct {
		path string
		code int
		says string
	}{
		{"services/ctrl:http/proxy/ConsumeCPU?millicores=950&durationSec=30&requestSizeMillicores=100", 200, "RC manager: sending 9 requests to consume 100 millicores each and 1 request to consume 50 millicores\n" + strings.Repeat("Consumed 100 millicores\n", 9) + "Consumed 50 millicores\n"},
		{"services/ctrl:http/proxy/ConsumeMem?megabytes=200&durationSec=30&requestSizeMegabytes=100", 200, "Consumed 100 megabytes\n"},
		{"services/ctrl:http/proxy/ConsumeCPU?millicores=950&durationSec=30", 400, "not given function argument"},
		{"services/ctrl:http/proxy/ConsumeCPU?millicores=1000000&durationSec=30&requestSizeMillicores=1", 400, "incorrect function argument"},
		{"pods/rc-1:8080/proxy/ConsumeCPU?millicores=150&durationSec=30", 200, "ConsumeCPU\n150 millicores\n30 durationSec\n"},
		{"pods/rc-1:8080/proxy/ConsumeMem?megabytes=-1&durationSec=30", 400, "incorrect function argument"},
		{"pods/rc-1:8080/proxy/BumpMetric?metric=QPS&delta=2.5&durationSec=3000", 200, "BumpMetric\nQPS metric\n2.5 delta\n3000 durationSec\n"},
		{"pods/rc-1:8080/proxy/metrics", 200, "# TYPE QPS gauge\nQPS 2.500000\n"},
		{"pods/rc-1:8080/proxy/Nothing", 404, "unknown function: /Nothing"},
	} {
		if code, said := ask(want.path); code != want.code || !strings.Contains(said, want.says) {
			t.Errorf("%s: %d %q", want.path, code, said)
		}
	}
	total := 0
	for _, pod := range []string{"rc-1", "rc-2"} {
		log, err := o.api.CoreV1().Pods("default").GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(context.WithoutCancel(ctx))
		n := strings.Count(string(log), "ConsumeCPU millicores: 100,")
		if err != nil || n == 0 {
			t.Errorf("%s got nothing of what the Service spreads: %q, %v", pod, log, err)
		}
		total += n
	}
	if total != 9 {
		t.Errorf("%d requests came to the consumers, of 9", total)
	}
}
