package kubelet

import (
	"context"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	upstream "k8s.io/kubernetes/pkg/kubelet/clustertrustbundle"
	"k8s.io/utils/ptr"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/registry"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// trustStep is something that happens to a bundle; then time passes.
type trustStep struct {
	do     string
	bundle *certificatesv1.ClusterTrustBundle
	wait   time.Duration
}

func trustStory(seed uint64) (steps []trustStep) {
	r := rand.New(rand.NewPCG(seed, seed))
	for i := range 5 + r.IntN(25) {
		n := r.IntN(6)
		is := &certificatesv1.ClusterTrustBundle{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("bundle-%d", n), Labels: map[string]string{"live": fmt.Sprint(r.IntN(2) == 0), "step": fmt.Sprint(i)}}}
		is.Spec.SignerName = []string{"", "example.com/a", "example.com/b"}[n%3] // of a name always the same
		for range r.IntN(4) {
			is.Spec.TrustBundle += "a comment\n" + string(pem.EncodeToMemory(&pem.Block{
				Type: "CERTIFICATE", Headers: map[string]string{"Note": "dropped"}, Bytes: fmt.Appendf(nil, "certificate %d", r.IntN(5)),
			}))
		}
		wait := time.Second
		if r.IntN(4) == 0 {
			wait = 4 * time.Minute
		}
		steps = append(steps, trustStep{[]string{"put", "put", "delete"}[r.IntN(3)], is, wait})
	}
	return steps
}

// trustSources are what pods ask for.
func trustSources() (list []corev1.ClusterTrustBundleProjection) {
	for _, optional := range []*bool{nil, ptr.To(true)} {
		for n := range 6 {
			list = append(list, corev1.ClusterTrustBundleProjection{Name: ptr.To(fmt.Sprintf("bundle-%d", n)), Optional: optional})
		}
		for _, signer := range []string{"example.com/a", "example.com/b", "example.com/c"} {
			for _, selector := range []*metav1.LabelSelector{nil, {}, {MatchLabels: map[string]string{"live": "true"}}, {MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "live", Operator: "Near"}}}} {
				list = append(list, corev1.ClusterTrustBundleProjection{SignerName: &signer, LabelSelector: selector, Optional: optional})
			}
		}
	}
	return list
}

// inOrder are the certificates of a file without the order that means nothing.
func inOrder(text string, err error) string {
	if err != nil {
		return err.Error()
	}
	blocks := strings.SplitAfter(text, "-----END CERTIFICATE-----\n")
	slices.Sort(blocks)
	return strings.Join(blocks, "")
}

// Whatever becomes of bundles, every source of a volume gives the certificates that upstream's
// manager gives, or its error: also those that it still gives though the bundle has changed.
func TestTrustAnchorsAreUpstreams(tt *testing.T) {
	for seed := range uint64(15) {
		var here, there []string
		clienttest.Run(tt, seed, func(b *clienttest.Bench, t *sim.Task) {
			p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKubelet, Instance: "node-1"})
			rt := runtime.New(b.Kernel, registry.New(b.Kernel), runtime.Config{Node: "node-1", PodCIDR: "10.244.1.0/24"})
			kl := Start(p, b.Client(), rt, Config{Node: "node-1", Address: "192.168.0.11", PodCIDR: "10.244.1.0/24"})
			w := newWorker(kl, &corev1.Pod{})
			for _, s := range trustStory(seed) {
				have := b.Object(client.ClusterTrustBundles, "", s.bundle.Name)
				switch {
				case s.do == "delete":
					_ = b.Client().Delete(t, client.ClusterTrustBundles, "", s.bundle.Name, metav1.DeleteOptions{})
				case have == nil:
					clienttest.Must(client.Create(t, b.Client(), client.ClusterTrustBundles, "", s.bundle))
				default:
					clienttest.Must(client.Update(t, b.Client(), client.ClusterTrustBundles, "", s.bundle))
				}
				t.Sleep(s.wait)
				for i, src := range trustSources() {
					src.Path = "path"
					got, err := w.trustAnchors(t, &src)
					here = append(here, fmt.Sprint(i, " ", inOrder(got.data["path"], err)))
				}
			}
		})
		upstreamtest.Bubble(tt, nil, func(ctx context.Context, _ *fake.Clientset, _ informers.SharedInformerFactory) func(context.Context) {
			return func(ctx context.Context) { <-ctx.Done() }
		}, func(ctx context.Context, c *fake.Clientset) {
			bundles := c.CertificatesV1().ClusterTrustBundles()
			f := informers.NewSharedInformerFactory(c, 0)
			manager := clienttest.Must(upstream.NewGAInformerManager(ctx, f, 2*110, 5*time.Minute))
			f.Start(ctx.Done())
			f.WaitForCacheSync(ctx.Done())
			for _, s := range trustStory(seed) {
				_, err := bundles.Get(ctx, s.bundle.Name, metav1.GetOptions{})
				switch {
				case s.do == "delete":
					_ = bundles.Delete(ctx, s.bundle.Name, metav1.DeleteOptions{})
				case err != nil:
					clienttest.Must(bundles.Create(ctx, s.bundle, metav1.CreateOptions{}))
				default:
					clienttest.Must(bundles.Update(ctx, s.bundle, metav1.UpdateOptions{}))
				}
				time.Sleep(s.wait)
				for i, src := range trustSources() {
					var got []byte
					var err error
					if optional := ptr.Deref(src.Optional, false); src.Name != nil {
						got, err = manager.GetTrustAnchorsByName(ctx, *src.Name, optional)
					} else {
						got, err = manager.GetTrustAnchorsBySigner(ctx, *src.SignerName, src.LabelSelector, optional)
					}
					there = append(there, fmt.Sprint(i, " ", inOrder(string(got), err)))
				}
			}
		})
		if diff := cmp.Diff(there, here); diff != "" {
			tt.Fatalf("story %d, -upstream +here:\n%s", seed, diff)
		}
	}
}

// A volume without a name or a signer, and one whose selector is too long, have upstream's
// errors.
func TestTrustAnchorsThatCannotBe(tt *testing.T) {
	clienttest.Run(tt, 1, func(b *clienttest.Bench, t *sim.Task) {
		p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKubelet, Instance: "node-1"})
		rt := runtime.New(b.Kernel, registry.New(b.Kernel), runtime.Config{Node: "node-1", PodCIDR: "10.244.1.0/24"})
		w := newWorker(Start(p, b.Client(), rt, Config{Node: "node-1", Address: "192.168.0.11"}), &corev1.Pod{})
		var values []string
		for i := range 2000 {
			values = append(values, fmt.Sprintf("%060d", i))
		}
		for want, src := range map[string]corev1.ClusterTrustBundleProjection{
			"ClusterTrustBundle projection requires either name or signerName to be set": {},
			"label selector length (122006) is larger than 102400": {SignerName: ptr.To("a/b"), LabelSelector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "In", Values: values}},
			}},
		} {
			if _, err := w.trustAnchors(t, &src); err == nil || err.Error() != want {
				tt.Errorf("error %v, want %s", err, want)
			}
		}
		b.SetDown(true)
		if _, err := w.trustAnchors(t, &corev1.ClusterTrustBundleProjection{Name: ptr.To("a")}); err == nil || err.Error() != "ClusterTrustBundle informer has not yet synced" {
			tt.Errorf("error %v without an API server", err)
		}
	})
}
