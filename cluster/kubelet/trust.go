package kubelet

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilcache "k8s.io/apimachinery/pkg/util/cache"

	"kviz/cluster/client"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Nodes, How: simulated.Simplified,
	What: "a kubelet watches ClusterTrustBundles of certificates.k8s.io/v1 without asking which versions are served",
})

// How long the certificates of a volume are kept as they were written, how long a pod waits for
// the first list of bundles, and how long a selector may be
// (clustertrustbundle_manager.go).
const (
	anchorsTTL        = 5 * time.Minute
	trustPatience     = 10 * time.Second
	maxSelectorLength = 100 * 1024
)

// trust gives volumes the certificates of ClusterTrustBundles
// (pkg/kubelet/clustertrustbundle). It watches all of these, from the first pod on that
// mounts some.
//
// The certificates come without duplicates and comments, and in an order that means
// nothing: they are shuffled, so that nobody relies on one. What was made of the bundles is
// kept until one of the signer changes, or for five minutes. Upstream forgets by its signer a
// bundle that has one, so a pod that mounts it by its name sees a change only when the five
// minutes are over; so it is here.
type trust struct {
	kl       *Kubelet
	bundles  *informer.Informer // nil before a pod mounts one
	patience time.Time          // until when the first list is waited for
	made     *utilcache.LRUExpireCache
	rand     *rand.Rand
	asked    map[anchorsKey]*anchorsUse
}

// anchorsKey is what a volume asks for: the certificates of one bundle, or those of a
// signer's bundles (cacheKeyType).
type anchorsKey struct{ name, signer, selector string }

// anchorsUse is which pods ask for it, and the newest watch event that concerned it.
type anchorsUse struct {
	users   int
	changed trace.ID
}

func (m *trust) init(kl *Kubelet) {
	m.kl, m.asked = kl, map[anchorsKey]*anchorsUse{}
	m.made = utilcache.NewLRUExpireCacheWithClock(int(2*kl.cfg.Pods), kl.k)
}

// trustAnchors is the file of a volume's source (projected.go collectData).
func (w *worker) trustAnchors(t *sim.Task, src *corev1.ClusterTrustBundleProjection) (payload, error) {
	m, key := &w.kl.trust, anchorsKey{}
	var selector labels.Selector
	switch {
	case src.Name != nil:
		key.name = *src.Name
	case src.SignerName != nil:
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(src.LabelSelector); err != nil {
			return payload{}, fmt.Errorf("while parsing label selector: %w", err)
		}
		key.signer, key.selector = *src.SignerName, selector.String()
		if n := len(key.selector); n > maxSelectorLength {
			return payload{}, fmt.Errorf("label selector length (%d) is larger than %d", n, maxSelectorLength)
		}
	default:
		return payload{}, errors.New("ClusterTrustBundle projection requires either name or signerName to be set")
	}
	use := m.asked[key]
	if use == nil {
		use = &anchorsUse{}
		m.asked[key] = use
	}
	if !w.trusts[key] {
		w.trusts[key] = true
		use.users++
	}
	if !m.watch(t) {
		return payload{}, errors.New("ClusterTrustBundle informer has not yet synced")
	}
	anchors, err := m.anchors(key, selector)
	if err != nil && (src.Optional == nil || !*src.Optional) {
		return payload{}, err
	}
	return payload{map[string]string{src.Path: anchors}, anchors, use.changed}, nil
}

// watch begins to watch bundles, if nobody has, and reports whether the first list is there
// (ensureManagerSet).
func (m *trust) watch(t *sim.Task) bool {
	if m.bundles == nil {
		kl := m.kl
		m.rand = kl.k.Rand(fmt.Sprintf("kubelet/%s trust anchors at %s", kl.cfg.Node, kl.k.Elapsed()))
		m.patience = t.Now().Add(trustPatience)
		m.bundles = informer.New(kl.p, kl.p.Lane, kl.c, client.ClusterTrustBundles, "", informer.Options{})
		m.bundles.AddHandler(informer.Handler{
			Add:    func(_ *sim.Task, obj runtime.Object, why trace.ID) { m.forget(obj, why) },
			Update: func(_ *sim.Task, _, obj runtime.Object, why trace.ID) { m.forget(obj, why) },
			Delete: func(_ *sim.Task, obj runtime.Object, why trace.ID) { m.forget(obj, why) },
		})
		m.bundles.Start()
	}
	return m.bundles.WaitForSyncWithin(t, max(0, m.patience.Sub(t.Now())))
}

// forget drops what was made of a bundle (dropCacheFor).
func (m *trust) forget(obj runtime.Object, why trace.ID) {
	is := obj.(*certificatesv1.ClusterTrustBundle)
	signer := is.Spec.SignerName
	m.made.RemoveAll(func(key any) bool {
		if k := key.(anchorsKey); signer != "" {
			return k.signer == signer
		} else {
			return k.name == is.Name
		}
	})
	for key, use := range m.asked {
		if key.name == is.Name || signer != "" && key.signer == signer {
			use.changed = why
		}
	}
}

// anchors are the certificates that a volume asks for, an error where no bundle has any for it
// (GetTrustAnchorsByName, GetTrustAnchorsBySigner).
func (m *trust) anchors(key anchorsKey, selector labels.Selector) (string, error) {
	if made, ok := m.made.Get(key); ok {
		return made.(string), nil
	}
	var bundles []*certificatesv1.ClusterTrustBundle
	if selector == nil {
		obj, ok := m.bundles.Get(key.name)
		if !ok {
			return "", fmt.Errorf("while getting ClusterTrustBundle: clustertrustbundle.%s %q not found", certificatesv1.GroupName, key.name)
		}
		bundles = append(bundles, obj.(*certificatesv1.ClusterTrustBundle))
	} else {
		for _, obj := range m.bundles.List() {
			if is := obj.(*certificatesv1.ClusterTrustBundle); is.Spec.SignerName == key.signer && selector.Matches(labels.Set(is.Labels)) {
				bundles = append(bundles, is)
			}
		}
		if len(bundles) == 0 {
			return "", errors.New("combination of signerName and labelSelector matched zero ClusterTrustBundles")
		}
	}
	anchors := m.normalize(bundles)
	m.made.Add(key, anchors, anchorsTTL)
	return anchors, nil
}

// normalize is normalizeTrustAnchors.
func (m *trust) normalize(bundles []*certificatesv1.ClusterTrustBundle) string {
	found := map[string]bool{}
	for _, is := range bundles {
		for block, rest := pem.Decode([]byte(is.Spec.TrustBundle)); block != nil; block, rest = pem.Decode(rest) {
			found[string(block.Bytes)] = true
		}
	}
	list := slices.Sorted(maps.Keys(found))
	m.rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	var text bytes.Buffer
	for _, der := range list {
		text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(der)}))
	}
	return text.String()
}

// forgetTrust notes that a pod asks for no certificates any more.
func (w *worker) forgetTrust() {
	for key := range w.trusts {
		use := w.kl.trust.asked[key]
		if use.users--; use.users == 0 {
			delete(w.kl.trust.asked, key)
		}
	}
	clear(w.trusts)
}
