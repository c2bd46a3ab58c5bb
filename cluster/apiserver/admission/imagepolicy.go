package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/clock"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/apiserver/webhook"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// ImagePolicyWebhook is the plugin of that name (plugin/pkg/admission/imagepolicy): a
// server outside is asked with an ImageReview whether the images of a pod may be run. It
// is off unless an AdmissionConfiguration names it. The kubeconfig that leads to the
// server is one of those that come with the simulation.
type ImagePolicyWebhook struct {
	cfg     *imagePolicy // nil where it is off
	backend Backend
	said    *utilcache.LRUExpireCache // statuses, by the review's spec
}

// Backend is the server that ImagePolicyWebhook asks. answered is the event of its
// newest answer, zero if there was none.
type Backend interface {
	Ask(t *sim.Task, review, into runtime.Object, until time.Duration) (result runtime.Object, answered trace.ID, err error)
}

// Name is [Plugin].
func (*ImagePolicyWebhook) Name() string { return "ImagePolicyWebhook" }

// imagePolicy is the plugin's decoded configuration.
type imagePolicy struct {
	address        string
	pause          time.Duration // before a second try
	allowed, other time.Duration // how long an answer is remembered
	failOpen       bool
}

// NewImagePolicyWebhook makes the plugin as it is configured. backend makes what leads
// to the server at an address, with the pause before a second try.
func NewImagePolicyWebhook(cfg Configurations, now clock.PassiveClock, backend func(codec runtime.Codec, address string, pause time.Duration) Backend) *ImagePolicyWebhook {
	p := &ImagePolicyWebhook{}
	if p.cfg = configured[*imagePolicy](cfg, p); p.cfg != nil {
		p.backend, p.said = backend(imageCodec, p.cfg.address, p.cfg.pause), utilcache.NewLRUExpireCacheWithClock(1024, now)
	}
	return p
}

// imagePolicyConfig is its configuration (AdmissionConfig). Numbers are seconds, and
// of the back-off milliseconds; 0 is the default, -1 none.
type imagePolicyConfig struct {
	ImagePolicy struct {
		KubeConfigFile string        `json:"kubeConfigFile"`
		AllowTTL       time.Duration `json:"allowTTL"`
		DenyTTL        time.Duration `json:"denyTTL"`
		RetryBackoff   time.Duration `json:"retryBackoff"`
		DefaultAllow   bool          `json:"defaultAllow"`
	} `json:"imagePolicy"`
}

// readImagePolicy reads the plugin's configuration.
func readImagePolicy(raw []byte) (*Configuration, error) {
	if raw == nil {
		return nil, errors.New("no config specified")
	}
	var cfg imagePolicyConfig
	if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096).Decode(&cfg); err != nil {
		return nil, err
	}
	p := &cfg.ImagePolicy
	for _, d := range []struct {
		name               string
		value              *time.Duration
		scale, least, most time.Duration
		otherwise          time.Duration
	}{
		{"backoff", &p.RetryBackoff, time.Millisecond, 1, 5 * time.Minute, webhook.ReviewPause},
		{"allow cache", &p.AllowTTL, time.Second, time.Second, 30 * time.Minute, 5 * time.Minute},
		{"deny cache", &p.DenyTTL, time.Second, time.Second, 30 * time.Minute, 30 * time.Second},
	} {
		switch *d.value {
		case -1:
			*d.value = 0
		case 0:
			*d.value = d.otherwise
		default:
			if *d.value *= d.scale; *d.value < d.least || *d.value > d.most {
				return nil, fmt.Errorf("valid value is between %v and %v, got %v", d.least, d.most, *d.value)
			}
		}
	}
	file := webhook.File(p.KubeConfigFile)
	if file == nil {
		return nil, fmt.Errorf("stat %s: no such file or directory", p.KubeConfigFile)
	}
	address, err := webhook.ReadKubeconfig(file)
	if err != nil {
		return nil, err
	}
	failing := "refuses"
	if p.DefaultAllow {
		failing = "allows"
	}
	return &Configuration{
		Says:  fmt.Sprintf("asks %s, and %s where that does not answer", address, failing),
		value: &imagePolicy{address: address, pause: p.RetryBackoff, allowed: p.AllowTTL, other: p.DenyTTL, failOpen: p.DefaultAllow},
	}, nil
}

// imageCodec writes and reads ImageReviews as upstream's client does.
var imageCodec = func() runtime.Codec {
	s := runtime.NewScheme()
	utilruntime.Must(imagepolicyv1alpha1.AddToScheme(s))
	metav1.AddToGroupVersion(s, corev1.SchemeGroupVersion) // a Status may be the answer
	return serializer.NewCodecFactory(s).LegacyCodec(imagepolicyv1alpha1.SchemeGroupVersion)
}()

// imagePolicyAudit is before the keys of the plugin's audit annotations.
const imagePolicyAudit = "imagepolicywebhook.image-policy.k8s.io/"

// Validate is [Validating].
func (p *ImagePolicyWebhook) Validate(r *request.Scope, a *Attributes) (did Result, err error) {
	sub := a.Subresource
	if p.cfg == nil || a.Operation == Delete || !a.Is("Pod") || sub != "" && sub != "ephemeralcontainers" {
		return Result{}, nil
	}
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return Result{}, nil
	}
	review := &imagepolicyv1alpha1.ImageReview{
		TypeMeta: metav1.TypeMeta{Kind: "ImageReview", APIVersion: imagepolicyv1alpha1.SchemeGroupVersion.String()},
		Spec:     imageSpec(pod, sub != ""),
	}
	review.Spec.Namespace = a.Namespace
	key, err := json.Marshal(review.Spec)
	if err != nil {
		return Result{}, a.Forbid(err)
	}
	was, known := p.said.Get(string(key))
	st, _ := was.(imagepolicyv1alpha1.ImageReviewStatus)
	if !known {
		result, answered, err := p.backend.Ask(r.Ask(), review, &imagepolicyv1alpha1.ImageReview{}, r.Task.Deadline())
		r.Hear(answered)
		if err != nil && !p.cfg.failOpen {
			return Result{}, a.Forbid(err)
		}
		if err != nil { // upstream's plugin marks the pod, though it should only look
			r.Annotate(imagePolicyAudit+"failed-open", "true")
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, corev1.ImagePolicyFailedOpenKey, "true")
			did.Note = "the backend could not be asked, so the images are allowed: " + err.Error() + "."
			return did, nil
		}
		st = result.(*imagepolicyv1alpha1.ImageReview).Status
		ttl := p.cfg.other
		if st.Allowed {
			ttl = p.cfg.allowed
		}
		if ttl > 0 {
			p.said.Add(string(key), st, ttl)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(st.AuditAnnotations)) {
		r.Annotate(imagePolicyAudit+k, st.AuditAnnotations[k])
	}
	switch {
	case st.Allowed && known:
		did.Note = "the backend has allowed the images before."
	case st.Allowed:
		did.Note = "the backend allows the images."
	case st.Reason != "":
		return did, a.Forbid(fmt.Errorf("image policy webhook backend denied one or more images: %s", st.Reason))
	default:
		return did, a.Forbid(errors.New("one or more images rejected by webhook backend"))
	}
	return did, nil
}

// imageSpec is what the backend is told of a pod: its images, and the annotations
// that are meant for it.
func imageSpec(pod *corev1.Pod, ephemeral bool) imagepolicyv1alpha1.ImageReviewSpec {
	spec := imagepolicyv1alpha1.ImageReviewSpec{Annotations: map[string]string{}}
	add := func(image string) {
		spec.Containers = append(spec.Containers, imagepolicyv1alpha1.ImageReviewContainerSpec{Image: image})
	}
	if ephemeral {
		for i := range pod.Spec.EphemeralContainers {
			add(pod.Spec.EphemeralContainers[i].Image)
		}
	} else {
		for i := range pod.Spec.Containers {
			add(pod.Spec.Containers[i].Image)
		}
		for i := range pod.Spec.InitContainers {
			add(pod.Spec.InitContainers[i].Image)
		}
	}
	for k, v := range pod.Annotations {
		if strings.Contains(k, ".image-policy.k8s.io/") {
			spec.Annotations[k] = v
		}
	}
	return spec
}
