package clustertrustbundlepublisher

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	upstream "k8s.io/kubernetes/pkg/controller/certificates/clustertrustbundlepublisher"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// authority is a certificate as the API server's authority has one.
const authority = `-----BEGIN CERTIFICATE-----
MIIBUDCB96ADAgECAgEBMAoGCCqGSM49BAMCMBAxDjAMBgNVBAMTBXJvb3RzMB4X
DTI2MDEwMTAwMDAwMFoXDTM1MTIzMDAwMDAwMFowEDEOMAwGA1UEAxMFcm9vdHMw
WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAST7oJa5x5SYljHQZjhY4fj8X9YMBd9
BaLXL1Bt2tgy9HtKO3wGbBIYje5Xs5fGU6/TpSZT+FnsCskLGmw7JAz2o0IwQDAO
BgNVHQ8BAf8EBAMCAgQwDwYDVR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQUKHi75PYE
nXitr3pLDHXr8mVN864wCgYIKoZIzj0EAwIDSAAwRQIgIEWZTQ4lUtImx5591GZV
PJjeBA2zuN97cME7k1k3KNsCIQCk9/zoB7kXhgUpBpYcEzU2x3rdg/h8J55pavwO
rtNmtA==
-----END CERTIFICATE-----
`

func start(b *clienttest.Bench, certificate string) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
	f := informer.NewFactory(p, p.Lane, b.Client())
	New(reconcile.NewEnv(p, Name, Name, b.Client(), f, 1), certificate).Start()
	f.Start()
	return p
}

func bundle(name, signer, text string) *certificatesv1.ClusterTrustBundle {
	return &certificatesv1.ClusterTrustBundle{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: certificatesv1.ClusterTrustBundleSpec{SignerName: signer, TrustBundle: text}}
}

// The bundle is there from the start, and comes back when somebody changes or deletes it. Those of
// other signers stay. With another authority the next controller publishes that one, and only then
// deletes the older.
func TestTheBundleIsThereAndNoOtherOfItsSigner(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		clienttest.Must(client.Create(t, c, client.ClusterTrustBundles, "", bundle("example.com:signer:roots", "example.com/signer", authority)))
		p := start(b, authority)
		t.Sleep(time.Second)
		name := bundleName(Signer, authority)
		clienttest.Note(t, "somebody writes something else into it")
		is := clienttest.Must(client.Get[*certificatesv1.ClusterTrustBundle](t, c, client.ClusterTrustBundles, "", name))
		is.Spec.TrustBundle = "FORGED"
		clienttest.Must(client.Update(t, c, client.ClusterTrustBundles, "", is))
		t.Sleep(time.Second)
		clienttest.Note(t, "somebody gives the signer two more")
		for _, more := range []string{"b", "a"} {
			clienttest.Must(client.Create(t, c, client.ClusterTrustBundles, "", bundle("kubernetes.io:kube-apiserver-serving:"+more, Signer, authority)))
		}
		t.Sleep(time.Second)
		clienttest.Note(t, "somebody deletes the right one")
		clienttest.Must(0, c.Delete(t, client.ClusterTrustBundles, "", name, metav1.DeleteOptions{}))
		t.Sleep(time.Second)
		clienttest.Note(t, "the authority is another, and the older bundle cannot be deleted at first")
		p.Kill()
		refusals := 0
		b.Refuse = func(verb string, r client.Resource, _, _ string) error {
			if verb == "delete" && refusals < 2 {
				refusals++
				return apierrors.NewInternalError(fmt.Errorf("try again"))
			}
			return nil
		}
		start(b, strings.Repeat(authority, 2))
		t.Sleep(time.Minute)
	})
	var left []string
	for _, o := range b.Objects(client.ClusterTrustBundles) {
		is := o.(*certificatesv1.ClusterTrustBundle)
		left = append(left, is.Name)
		if is.Spec.SignerName == Signer && is.Spec.TrustBundle != strings.Repeat(authority, 2) {
			t.Errorf("%s holds %s", is.Name, is.Spec.TrustBundle)
		}
	}
	if want := []string{"example.com:signer:roots", bundleName(Signer, strings.Repeat(authority, 2))}; !slices.Equal(left, want) {
		t.Errorf("there are %q, want %q", left, want)
	}
	clienttest.Golden(t, "life.txt", b.Transcript(trace.ReconcileAction, trace.ReconcileEnd, trace.CommandStart))
}

// step is something that somebody does to a bundle.
type step struct{ do, name string }

// story is what happens to bundles of the signer.
func story(seed uint64) (steps []step) {
	r := rand.New(rand.NewPCG(seed, seed))
	names := []string{bundleName(Signer, authority), "kubernetes.io:kube-apiserver-serving:older", "kubernetes.io:kube-apiserver-serving:oldest"}
	for range 3 + r.IntN(20) {
		steps = append(steps, step{[]string{"create", "update", "delete", "wait"}[r.IntN(4)], names[r.IntN(len(names))]})
	}
	return steps
}

// Whatever happens to bundles of the signer, the same ones are there with the same certificates
// as with upstream's controller, after as many writes of each kind.
func TestWritesWhatUpstreamWrites(tt *testing.T) {
	for seed := range uint64(30) {
		var here, there []string
		clienttest.Run(tt, seed, func(b *clienttest.Bench, t *sim.Task) {
			c := b.Client()
			start(b, authority)
			t.Sleep(time.Second)
			for _, s := range story(seed) {
				switch s.do {
				case "create":
					_, _ = client.Create(t, c, client.ClusterTrustBundles, "", bundle(s.name, Signer, "MORE"))
				case "update":
					if is, err := client.Get[*certificatesv1.ClusterTrustBundle](t, c, client.ClusterTrustBundles, "", s.name); err == nil {
						is.Spec.TrustBundle = "CHANGED"
						clienttest.Must(client.Update(t, c, client.ClusterTrustBundles, "", is))
					}
				case "delete":
					_ = c.Delete(t, client.ClusterTrustBundles, "", s.name, metav1.DeleteOptions{})
				}
				t.Sleep(time.Second)
				now := map[string]string{}
				for _, o := range b.Objects(client.ClusterTrustBundles) {
					is := o.(*certificatesv1.ClusterTrustBundle)
					now[is.Name] = is.Spec.TrustBundle
				}
				here = append(here, said(s, now, b.Requests["create clustertrustbundles"], b.Requests["update clustertrustbundles"], b.Requests["delete clustertrustbundles"]))
			}
		})
		upstreamtest.Bubble(tt, nil, func(_ context.Context, c *fake.Clientset, _ informers.SharedInformerFactory) func(context.Context) {
			ca := clienttest.Must(dynamiccertificates.NewStaticCAContent("kube-apiserver-serving", []byte(authority)))
			return clienttest.Must(upstream.NewGAClusterTrustBundlePublisher(Signer, ca, c)).Run
		}, func(ctx context.Context, c *fake.Clientset) {
			bundles := c.CertificatesV1().ClusterTrustBundles()
			time.Sleep(time.Second)
			for _, s := range story(seed) {
				switch s.do {
				case "create":
					_, _ = bundles.Create(ctx, bundle(s.name, Signer, "MORE"), metav1.CreateOptions{})
				case "update":
					if is, err := bundles.Get(ctx, s.name, metav1.GetOptions{}); err == nil {
						is.Spec.TrustBundle = "CHANGED"
						clienttest.Must(bundles.Update(ctx, is, metav1.UpdateOptions{}))
					}
				case "delete":
					_ = bundles.Delete(ctx, s.name, metav1.DeleteOptions{})
				}
				time.Sleep(time.Second)
				now, verbs := map[string]string{}, map[string]int{}
				for _, is := range clienttest.Must(bundles.List(ctx, metav1.ListOptions{})).Items {
					now[is.Name] = is.Spec.TrustBundle
				}
				for _, a := range c.Actions() {
					verbs[a.GetVerb()]++
				}
				there = append(there, said(s, now, verbs["create"], verbs["update"], verbs["delete"]))
			}
		})
		if diff := cmp.Diff(there, here); diff != "" {
			tt.Errorf("story %d, -upstream +here:\n%s", seed, diff)
		}
	}
}

func said(s step, now map[string]string, creates, updates, deletes int) string {
	text := fmt.Sprintf("%s %s: %d creates, %d updates, %d deletions;", s.do, s.name, creates, updates, deletes)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		text += fmt.Sprintf(" %s=%.8q", name, now[name])
	}
	return text
}
