package kubelet

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	upstream "k8s.io/kubernetes/pkg/kubelet/podcertificate"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/registry"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func certifiedPod(keyType string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "client"},
		Spec: corev1.PodSpec{
			NodeName: "node-1", ServiceAccountName: "default", RestartPolicy: corev1.RestartPolicyAlways,
			Containers: []corev1.Container{{Name: "app", Image: "nginx"}},
			Volumes: []corev1.Volume{{Name: "tls", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{DownwardAPI: &corev1.DownwardAPIProjection{}},
				{PodCertificate: &corev1.PodCertificateProjection{
					SignerName: "example.com/signer", KeyType: keyType, CredentialBundlePath: "bundle.pem", MaxExpirationSeconds: ptr.To[int32](3600),
					UserAnnotations: map[string]string{"example.com/a": "b"},
				}},
			}}}}},
		},
	}
}

// certificateStories are what a signer, and somebody who deletes, do to the newest request, and how
// long it is until what is there is looked at. Waits leave room for what is spread by chance.
var certificateStories = map[string][]struct {
	do   string
	wait time.Duration
}{
	"issued, renewed late, denied": {
		{"nothing", time.Minute},
		{"issue", time.Minute},        // to be renewed after an hour
		{"nothing", 50 * time.Minute}, // not yet
		{"nothing", 17 * time.Minute}, // asked again
		{"nothing", 30 * time.Minute}, // overdue, and expired
		{"issue", time.Minute},
		{"nothing", 67 * time.Minute}, // asked again, not overdue
		{"deny", 5 * time.Minute},
		{"nothing", 2 * time.Hour},
	},
	"failed at once": {{"fail", time.Minute}, {"nothing", time.Hour}},
	"deleted while it is waited for": {
		{"delete", 5 * time.Minute},
		{"nothing", 25 * time.Minute},
		{"issue", 5 * time.Minute},
		{"delete", 10 * time.Minute},
		{"nothing", 53 * time.Minute},
		{"delete", time.Minute},
		{"nothing", 30 * time.Minute},
		{"fail", 5 * time.Minute},
	},
}

// answer is a request as the signer leaves it.
func answer(r *certificatesv1.PodCertificateRequest, do string, now time.Time) *certificatesv1.PodCertificateRequest {
	cond := metav1.Condition{Status: metav1.ConditionTrue, Reason: "Because", Message: "of this"}
	switch do {
	case "issue":
		cond.Type = certificatesv1.PodCertificateRequestConditionTypeIssued
		r.Status.CertificateChain = "a comment\n" + string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Headers: map[string]string{"A": "b"}, Bytes: []byte("chain")}))
		r.Status.BeginRefreshAt, r.Status.NotAfter = ptr.To(metav1.NewTime(now.Add(time.Hour))), ptr.To(metav1.NewTime(now.Add(90*time.Minute)))
	case "deny":
		cond.Type = certificatesv1.PodCertificateRequestConditionTypeDenied
	case "fail":
		cond.Type = certificatesv1.PodCertificateRequestConditionTypeFailed
	}
	r.Status.Conditions = []metav1.Condition{cond}
	return r
}

// podOfTest is upstream's pod manager with one pod.
type podOfTest struct{ pod *corev1.Pod }

func (p podOfTest) GetPods() []*corev1.Pod                        { return []*corev1.Pod{p.pod} }
func (p podOfTest) GetPodByUID(uid types.UID) (*corev1.Pod, bool) { return p.pod, uid == p.pod.UID }

func observed(created int, chain string, err error, events []string) string {
	return fmt.Sprintf("%d requests; %q %v; %q", created, chain, err, events)
}

// Whatever a signer answers, and when, the kubelet asks as often as upstream's, gives the volume the same
// certificates or error, and records the same Events.
func TestPodCertificatesAreUpstreams(tt *testing.T) {
	for name, story := range certificateStories {
		var here, there []string
		clienttest.Run(tt, 1, func(b *clienttest.Bench, t *sim.Task) {
			c := b.Client()
			clienttest.Must(client.Create(t, c, client.ServiceAccounts, "demo", &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}))
			p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKubelet, Instance: "node-1"})
			rt := runtime.New(b.Kernel, registry.New(b.Kernel), runtime.Config{Node: "node-1", PodCIDR: "10.244.1.0/24"})
			kl := Start(p, c, rt, Config{Node: "node-1", Address: "192.168.0.11", PodCIDR: "10.244.1.0/24"})
			t.Sleep(time.Second)
			pod := clienttest.Must(client.Create(t, c, client.Pods, "demo", certifiedPod("ED25519")))
			t.Sleep(time.Second)
			newest := ""
			for _, s := range story {
				for _, o := range b.Objects(client.PodCertificateRequests) { // their names count up
					if r := o.(*certificatesv1.PodCertificateRequest); len(r.Status.Conditions) == 0 {
						newest = r.Name
					}
				}
				switch s.do {
				case "nothing":
				case "delete":
					_ = c.Delete(t, client.PodCertificateRequests, "demo", newest, metav1.DeleteOptions{})
				default:
					r := clienttest.Must(client.Get[*certificatesv1.PodCertificateRequest](t, c, client.PodCertificateRequests, "demo", newest))
					clienttest.Must(client.UpdateStatus(t, c, client.PodCertificateRequests, "demo", answer(r, s.do, t.Now())))
				}
				t.Sleep(s.wait)
				_, chain, _, err := kl.certificates.bundle(certificateKey{"demo", "client", string(pod.UID), "tls", 1})
				var events []string
				for _, o := range b.Objects(client.Events) {
					if e := o.(*corev1.Event); strings.Contains(e.Message, "PodCertificate") && e.Reason != "FailedMount" {
						events = append(events, e.Reason)
					}
				}
				here = append(here, observed(b.Requests["create podcertificaterequests"], chain, err, events))
			}
		})
		recorder := record.NewFakeRecorder(100)
		pod := certifiedPod("ED25519")
		pod.UID = "pod-uid"
		var manager *upstream.IssuingManager
		created := 0
		upstreamtest.Bubble(tt, []apiruntime.Object{
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "node-uid"}}, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "default"}}, pod,
		}, func(_ context.Context, c *fake.Clientset, f informers.SharedInformerFactory) func(context.Context) {
			c.PrependReactor("create", "podcertificaterequests", func(a clienttesting.Action) (bool, apiruntime.Object, error) {
				created++
				r := a.(clienttesting.CreateAction).GetObject().(*certificatesv1.PodCertificateRequest)
				r.Name, r.CreationTimestamp = fmt.Sprintf("req-%d", created), metav1.Now()
				return false, nil, nil
			})
			manager = upstream.NewIssuingManager(c, podOfTest{pod}, recorder, f.Certificates().V1().PodCertificateRequests(), f.Core().V1().Nodes(), "node-1", clock.RealClock{})
			return manager.Run
		}, func(ctx context.Context, c *fake.Clientset) {
			time.Sleep(time.Second)
			manager.TrackPod(ctx, pod)
			time.Sleep(time.Second)
			requests := c.CertificatesV1().PodCertificateRequests("demo")
			var events []string
			for _, s := range story {
				newest := fmt.Sprintf("req-%d", created)
				switch s.do {
				case "nothing":
				case "delete":
					_ = requests.Delete(ctx, newest, metav1.DeleteOptions{})
				default:
					r := clienttest.Must(requests.Get(ctx, newest, metav1.GetOptions{}))
					clienttest.Must(requests.UpdateStatus(ctx, answer(r, s.do, time.Now()), metav1.UpdateOptions{}))
				}
				time.Sleep(s.wait)
				_, chain, err := manager.GetPodCertificateCredentialBundle(ctx, "demo", "client", "pod-uid", "tls", 1)
				for len(recorder.Events) > 0 {
					events = append(events, strings.Fields(<-recorder.Events)[1])
				}
				there = append(there, observed(created, string(chain), err, events))
			}
		})
		if diff := cmp.Diff(there, here); diff != "" {
			tt.Errorf("%s, -upstream +here:\n%s", name, diff)
		}
	}
}

// A key of each type that a pod may ask for is drawn from the seed, and signs a request that proves it.
func TestPodKeys(t *testing.T) {
	for _, keyType := range []string{"RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"} {
		private, proof, err := keyAndProof(rand.New(rand.NewPCG(1, 2)), keyType)
		if err != nil {
			t.Errorf("%s: %v", keyType, err)
			continue
		}
		r, err := x509.ParseCertificateRequest(proof)
		if err == nil {
			err = r.CheckSignature()
		}
		if err != nil {
			t.Errorf("%s: the request: %v", keyType, err)
			continue
		}
		block, _ := pem.Decode([]byte(private))
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			t.Errorf("%s: the key: %v", keyType, err)
			continue
		}
		if r, is := key.(*rsa.PrivateKey); is {
			if err := r.Validate(); err != nil {
				t.Errorf("%s: %v", keyType, err)
			}
			for _, p := range r.Primes {
				if !p.ProbablyPrime(20) {
					t.Errorf("%s: %v is no prime", keyType, p)
				}
			}
		}
		if public := key.(crypto.Signer).Public().(interface{ Equal(crypto.PublicKey) bool }); !public.Equal(r.PublicKey) {
			t.Errorf("%s: the request is signed with another key", keyType)
		}
		if again, _, _ := keyAndProof(rand.New(rand.NewPCG(1, 2)), keyType); again != private {
			t.Errorf("%s: another key from the same seed", keyType)
		}
	}
	if _, _, err := keyAndProof(rand.New(rand.NewPCG(1, 2)), "DSA"); err == nil || !strings.Contains(err.Error(), `unknown key type "DSA"`) {
		t.Errorf("a key of type DSA: %v", err)
	}
}
