package apiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

	"kviz/cluster/trace"
)

// The ImagePolicyWebhook plugin (plugin/pkg/admission/imagepolicy): a server outside
// is asked with an ImageReview whether the images of a pod may be run. It is off
// unless an AdmissionConfiguration names it. The kubeconfig that leads to the server
// is one of those that come with the simulation.

// imagePolicy is the plugin as it is configured.
type imagePolicy struct {
	reviewer
	said           *utilcache.LRUExpireCache // statuses, by the review's spec
	allowed, other time.Duration             // how long an answer is remembered
	failOpen       bool
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
func readImagePolicy(raw []byte) (*pluginConfig, error) {
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
		{"backoff", &p.RetryBackoff, time.Millisecond, 1, 5 * time.Minute, reviewPause},
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
	file := reviewFile(p.KubeConfigFile)
	if file == nil {
		return nil, fmt.Errorf("stat %s: no such file or directory", p.KubeConfigFile)
	}
	address, err := readKubeconfig(file)
	if err != nil {
		return nil, err
	}
	failing := "refuses"
	if p.DefaultAllow {
		failing = "allows"
	}
	return &pluginConfig{
		says: fmt.Sprintf("asks %s, and %s where that does not answer", address, failing),
		make: func(s *Server) any {
			return &imagePolicy{
				reviewer: reviewer{s, imageCodec, address, reviewTimeout, p.RetryBackoff}, said: utilcache.NewLRUExpireCacheWithClock(1024, virtualClock{s.k}),
				allowed: p.AllowTTL, other: p.DenyTTL, failOpen: p.DefaultAllow,
			}
		},
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

// checkImages is the plugin's Validate.
func checkImages(c *call, op operation) (string, []trace.FieldDiff, error) {
	p := configured[*imagePolicy](c.s, "ImagePolicyWebhook")
	sub := c.req.Subresource
	if p == nil || op == opDelete || !c.kind.Is("Pod") || sub != "" && sub != "ephemeralcontainers" {
		return "", nil, nil
	}
	pod, ok := c.obj.(*corev1.Pod)
	if !ok {
		return "", nil, nil
	}
	review := &imagepolicyv1alpha1.ImageReview{
		TypeMeta: metav1.TypeMeta{Kind: "ImageReview", APIVersion: imagepolicyv1alpha1.SchemeGroupVersion.String()},
		Spec:     imageSpec(pod, sub != ""),
	}
	review.Spec.Namespace = c.req.Namespace
	key, err := json.Marshal(review.Spec)
	if err != nil {
		return "", nil, c.forbid(err)
	}
	was, known := p.said.Get(string(key))
	st, _ := was.(imagepolicyv1alpha1.ImageReviewStatus)
	if !known {
		c.Task.SetCauses(c.Last)
		result, answered, err := p.ask(c.Task, review, &imagepolicyv1alpha1.ImageReview{}, c.deadline())
		if !answered.IsZero() {
			c.Last = answered
		}
		if err != nil && !p.failOpen {
			return "", nil, c.forbid(err)
		}
		if err != nil { // upstream's plugin marks the pod, though it should only look
			c.annotate(imagePolicyAudit+"failed-open", "true")
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, corev1.ImagePolicyFailedOpenKey, "true")
			return "the backend could not be asked, so the images are allowed: " + err.Error() + ".", nil, nil
		}
		st = result.(*imagepolicyv1alpha1.ImageReview).Status
		ttl := p.other
		if st.Allowed {
			ttl = p.allowed
		}
		if ttl > 0 {
			p.said.Add(string(key), st, ttl)
		}
	}
	for _, k := range sortedKeys(st.AuditAnnotations) {
		c.annotate(imagePolicyAudit+k, st.AuditAnnotations[k])
	}
	switch {
	case st.Allowed && known:
		return "the backend has allowed the images before.", nil, nil
	case st.Allowed:
		return "the backend allows the images.", nil, nil
	case st.Reason != "":
		return "", nil, c.forbid(fmt.Errorf("image policy webhook backend denied one or more images: %s", st.Reason))
	}
	return "", nil, c.forbid(errors.New("one or more images rejected by webhook backend"))
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
