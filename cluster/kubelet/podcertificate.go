package kubelet

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Nodes, How: simulated.Simplified,
	What: "the keys of pods' certificates are drawn from the cluster's seed, and those of RSA are one key a size",
})

// Times of pods' certificates (podcertificatemanager.go).
const (
	assumeDeleted  = 10 * time.Minute // after which a request that is not seen has been deleted
	refreshOverdue = 10 * time.Minute
	refreshPass    = time.Minute     // how often certificates are looked at, and up to twice that
	spread         = 5 * time.Minute // so that not all certificates are renewed at once

	certificateRetryBase = 5 * time.Millisecond
	certificateRetryMax  = 1000 * time.Second
)

// podCertificates gets the certificates that pods mount
// (pkg/kubelet/podcertificate IssuingManager): a key for each source of each volume, and a
// PodCertificateRequest with what proves that the kubelet has it. A signer, which is no part of
// Kubernetes, writes the certificate into the request's status. From when the signer says on, the
// kubelet asks for the next one.
//
//	initial ──► waiting ──► fresh ──► renewing ──► fresh
//	                │                     │
//	                └─► denied, failed ◄──┘
//
// All of it is lost with the kubelet: the next one asks again. Nothing of it runs before a
// pod mounts a certificate.
type podCertificates struct {
	kl       *Kubelet
	rand     *rand.Rand
	requests *informer.Informer // of this node; nil before a pod mounts a certificate
	known    map[certificateKey]*podCertificate
	queue    []certificateKey
	busy     bool // the task runs
	planned  bool // so is the next look at all
}

// certificateKey is a source of a pod's volume (projectionKey, which upstream's errors print).
type certificateKey struct {
	Namespace   string
	PodName     string
	PodUID      string
	VolumeName  string
	SourceIndex int
}

// certificateState is how far a source is with its certificate (credState).
type certificateState uint8

const (
	initial certificateState = iota
	waiting
	denied
	failed
	fresh
	renewing
)

// podCertificate is what a source has, and what it waits for (projectionRecord).
type podCertificate struct {
	state  certificateState
	queued bool
	causes []trace.ID
	fails  int

	key, chain             string // of fresh and renewing
	renew, ends            time.Time
	toldOverdue, toldEnded bool
	reason, message        string // of denied and failed

	asked     string // the request, of waiting and renewing
	askedKey  string
	abandoned time.Time

	changed trace.ID // the watch event that brought the certificate
}

func (m *podCertificates) init(kl *Kubelet) {
	m.kl, m.known = kl, map[certificateKey]*podCertificate{}
}

// track has the sources of a pod looked at (queueAllProjectionsForPod).
func (m *podCertificates) track(pod *corev1.Pod, why trace.ID) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Projected == nil {
			continue
		}
		for n := range v.Projected.Sources {
			if v.Projected.Sources[n].PodCertificate != nil {
				m.add(certificateKey{pod.Namespace, pod.Name, string(pod.UID), v.Name, n}, why)
			}
		}
	}
}

// forget drops what a pod has that is gone (ForgetPod).
func (m *podCertificates) forget(uid string) {
	for key := range m.known {
		if key.PodUID == uid {
			delete(m.known, key)
		}
	}
}

// add has a source looked at soon.
func (m *podCertificates) add(key certificateKey, why trace.ID) {
	c := m.known[key]
	if c == nil {
		c = &podCertificate{}
		m.known[key] = c
	}
	if !why.IsZero() {
		c.causes = append(c.causes[max(0, len(c.causes)-maxCauses+1):], why)
	}
	if c.queued {
		return
	}
	c.queued = true
	m.queue = append(m.queue, key)
	if !m.busy {
		m.busy = true
		m.kl.p.Go("pod-certificates", m.run)
	}
	m.plan()
}

// plan has all sources looked at again in a while, as long as there are some (runRefreshPass).
func (m *podCertificates) plan() {
	if m.planned {
		return
	}
	m.planned = true
	m.kl.after(m.kl.jitter(refreshPass, 1), "pod-certificates", func(*sim.Task) {
		m.planned = false
		for _, w := range m.kl.sortedWorkers() {
			if !w.gone {
				m.track(w.pod, trace.ID{})
			}
		}
	})
}

// run looks at the sources that wait, one after another (runProjectionProcessor).
func (m *podCertificates) run(t *sim.Task) {
	defer func() { m.busy = false }()
	if m.requests == nil {
		m.watch()
	}
	m.requests.WaitForSync(t)
	for len(m.queue) > 0 {
		key := m.queue[0]
		m.queue = m.queue[1:]
		c, w := m.known[key], m.kl.workers[key.PodUID]
		if c == nil || w == nil || w.gone {
			delete(m.known, key)
			continue
		}
		c.queued = false
		t.SetCauses(c.causes...)
		c.causes = nil
		var err error
		if broken := m.kl.contain(t, w.pod, "a certificate of the pod", func() { err = m.look(t, key, c, w) }); broken != nil {
			err = broken
		}
		if err == nil {
			c.fails = 0
			continue
		}
		d := min(certificateRetryBase<<min(c.fails, 20), certificateRetryMax)
		c.fails++
		m.kl.after(d, "pod-certificates", func(*sim.Task) {
			if m.known[key] == c {
				m.add(key, trace.ID{})
			}
		})
	}
}

// watch begins to watch the node's requests.
func (m *podCertificates) watch() {
	kl := m.kl
	m.rand = kl.k.Rand(fmt.Sprintf("kubelet/%s certificates at %s", kl.cfg.Node, kl.k.Elapsed()))
	m.requests = informer.New(kl.p, kl.p.Lane, kl.c, client.PodCertificateRequests, "", informer.Options{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", kl.cfg.Node).String()})
	changed := func(obj runtime.Object, why trace.ID) {
		if w := kl.workers[string(obj.(*certificatesv1.PodCertificateRequest).Spec.PodUID)]; w != nil && !w.gone {
			m.track(w.pod, why)
		}
	}
	m.requests.AddHandler(informer.Handler{
		Add:    func(_ *sim.Task, obj runtime.Object, why trace.ID) { changed(obj, why) },
		Update: func(_ *sim.Task, _, obj runtime.Object, why trace.ID) { changed(obj, why) },
		Delete: func(_ *sim.Task, obj runtime.Object, why trace.ID) { changed(obj, why) },
	})
	m.requests.Start()
}

// look takes the next step of a source (handleProjection).
func (m *podCertificates) look(t *sim.Task, key certificateKey, c *podCertificate, w *worker) error {
	src := certificateSource(w.pod, key)
	if src == nil {
		return nil
	}
	switch c.state {
	case initial:
		if err := m.ask(t, key, c, w, src, "initial"); err != nil {
			return err
		}
		c.state = waiting
	case fresh:
		if t.Now().Before(c.renew) {
			return nil
		}
		m.late(t, c, w)
		if err := m.ask(t, key, c, w, src, "refresh"); err != nil {
			return err
		}
		c.state = renewing
	case waiting, renewing:
		obj, ok := m.requests.Get(informer.Key(key.Namespace, c.asked))
		switch {
		case !ok && t.Now().After(c.abandoned):
			was := c.state
			if c.state = initial; was == renewing {
				c.state = fresh
			}
			return fmt.Errorf("PodCertificateRequest %q appears to have been deleted", key.Namespace+"/"+c.asked)
		case !ok:
			return fmt.Errorf("while getting PodCertificateRequest %q: podcertificaterequest.%s %q not found", key.Namespace+"/"+c.asked, certificatesv1.GroupName, c.asked)
		}
		if decided := m.answered(t, c, w, obj.(*certificatesv1.PodCertificateRequest)); !decided && c.state == renewing {
			m.late(t, c, w)
		}
	}
	return nil
}

// answered takes what a signer has said of a request, and reports whether it has.
func (m *podCertificates) answered(t *sim.Task, c *podCertificate, w *worker, r *certificatesv1.PodCertificateRequest) bool {
	name := r.Namespace + "/" + r.Name
	for _, cond := range r.Status.Conditions {
		switch cond.Type {
		case certificatesv1.PodCertificateRequestConditionTypeDenied:
			*c = podCertificate{state: denied, reason: cond.Reason, message: cond.Message, queued: c.queued, causes: c.causes}
			m.kl.event(t, w.pod, corev1.EventTypeWarning, cond.Type, "PodCertificateRequest %s was denied, reason=%q, message=%q", name, cond.Reason, cond.Message)
			return true
		case certificatesv1.PodCertificateRequestConditionTypeFailed:
			*c = podCertificate{state: failed, reason: cond.Reason, message: cond.Message, queued: c.queued, causes: c.causes}
			m.kl.event(t, w.pod, corev1.EventTypeWarning, cond.Type, "PodCertificateRequest %s failed, reason=%q, message=%q", name, cond.Reason, cond.Message)
			return true
		case certificatesv1.PodCertificateRequestConditionTypeIssued:
			next := podCertificate{state: fresh, key: c.askedKey, chain: cleanChain(r.Status.CertificateChain), queued: c.queued, causes: c.causes}
			if r.Status.BeginRefreshAt != nil && r.Status.NotAfter != nil { // the API server sees to it
				next.renew, next.ends = r.Status.BeginRefreshAt.Add(m.jitter()), r.Status.NotAfter.Time
			}
			if causes := t.Causes(); len(causes) > 0 {
				next.changed = causes[len(causes)-1]
			}
			*c = next
			m.say(t, w, "certificate issued", "%s has one of signer %s, good until %s", name, r.Spec.SignerName, c.ends.UTC().Format(time.RFC3339))
			return true
		}
	}
	return false
}

// late tells once each that a certificate should have been renewed, and that its time is over.
func (m *podCertificates) late(t *sim.Task, c *podCertificate, w *worker) {
	if t.Now().After(c.renew.Add(refreshOverdue)) && !c.toldOverdue {
		m.kl.event(t, w.pod, corev1.EventTypeWarning, "CertificateOverdueForRefresh", "PodCertificate refresh overdue")
		c.toldOverdue = true
	}
	if t.Now().After(c.ends) && !c.toldEnded {
		m.kl.event(t, w.pod, corev1.EventTypeWarning, "CertificateExpired", "PodCertificate expired")
		c.toldEnded = true
	}
}

// ask makes a key and creates the request (createPodCertificateRequest).
func (m *podCertificates) ask(t *sim.Task, key certificateKey, c *podCertificate, w *worker, src *corev1.PodCertificateProjection, what string) error {
	kl, pod := m.kl, w.pod
	account, err := client.Get[*corev1.ServiceAccount](t, kl.c, client.ServiceAccounts, pod.Namespace, pod.Spec.ServiceAccountName)
	if err != nil {
		return fmt.Errorf("while fetching service account: %w", err)
	}
	if kl.node.uid == "" {
		return fmt.Errorf("while getting node object from local cache: node %q not found", kl.cfg.Node)
	}
	private, proof, err := keyAndProof(m.rand, src.KeyType)
	if err != nil {
		return fmt.Errorf("while creating %s PodCertificateRequest: while generating keypair: %w", what, err)
	}
	r := &certificatesv1.PodCertificateRequest{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, GenerateName: "req-",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}},
		},
		Spec: certificatesv1.PodCertificateRequestSpec{
			SignerName: src.SignerName, PodName: pod.Name, PodUID: pod.UID, ServiceAccountName: account.Name, ServiceAccountUID: account.UID,
			NodeName: types.NodeName(kl.cfg.Node), NodeUID: kl.node.uid, MaxExpirationSeconds: src.MaxExpirationSeconds,
			StubPKCS10Request: proof, UnverifiedUserAnnotations: src.UserAnnotations,
		},
	}
	m.say(t, w, "certificate requested", "volume %s wants one of signer %s: ask for it with a new key (%s)", key.VolumeName, src.SignerName, src.KeyType)
	made, err := client.Create(t, kl.c, client.PodCertificateRequests, pod.Namespace, r)
	if err != nil {
		return fmt.Errorf("while creating %s PodCertificateRequest: while creating on API: %w", what, err)
	}
	c.asked, c.askedKey, c.abandoned = made.Name, private, made.CreationTimestamp.Add(assumeDeleted+m.jitter())
	return nil
}

func (m *podCertificates) jitter() time.Duration {
	return time.Duration(m.rand.Int64N(int64(spread)))
}

func (m *podCertificates) say(t *sim.Task, w *worker, what, detail string, args ...any) {
	t.SetCauses(t.Emit(trace.Event{
		Kind: trace.VolumesMounted, Object: client.RefOf(w.pod),
		Payload: &trace.PodStep{Node: m.kl.cfg.Node, Pod: w.key(), What: what, Detail: fmt.Sprintf(detail, args...)},
	}))
}

// certificateSource is a source of a pod's volume, nil where there is no such.
func certificateSource(pod *corev1.Pod, key certificateKey) *corev1.PodCertificateProjection {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Name == key.VolumeName && v.Projected != nil && key.SourceIndex < len(v.Projected.Sources) {
			return v.Projected.Sources[key.SourceIndex].PodCertificate
		}
	}
	return nil
}

// bundle is a source's key and certificates, or why there are none
// (GetPodCertificateCredentialBundle).
func (m *podCertificates) bundle(key certificateKey) (private, chain string, change trace.ID, err error) {
	c := m.known[key]
	if c == nil {
		return "", "", trace.ID{}, fmt.Errorf("no credentials yet for key=%v", key)
	}
	switch c.state {
	case fresh, renewing:
		return c.key, c.chain, c.changed, nil
	case denied:
		return "", "", trace.ID{}, fmt.Errorf("PodCertificateRequest was permanently denied: reason=%q message=%q", c.reason, c.message)
	case failed:
		return "", "", trace.ID{}, fmt.Errorf("PodCertificateRequest was permanently failed: reason=%q message=%q", c.reason, c.message)
	}
	return "", "", trace.ID{}, errors.New("credential bundle is not issued yet")
}

// podCertificate are the files of a volume's source (projected.go collectData).
func (w *worker) podCertificate(volume string, n int, src *corev1.PodCertificateProjection) (payload, error) {
	private, chain, change, err := w.kl.certificates.bundle(certificateKey{w.pod.Namespace, w.pod.Name, w.uid, volume, n})
	if err != nil {
		return payload{}, err
	}
	data := map[string]string{}
	if src.CredentialBundlePath != "" {
		data[src.CredentialBundlePath] = private + chain
	}
	if src.KeyPath != "" {
		data[src.KeyPath] = private
	}
	if src.CertificateChainPath != "" {
		data[src.CertificateChainPath] = chain
	}
	return payload{data, private + chain, change}, nil
}

// cleanChain takes out of a chain what is between and in the heads of its blocks
// (cleanCertificateChain).
func cleanChain(text string) string {
	var clean bytes.Buffer
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		clean.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes}))
	}
	return clean.String()
}
