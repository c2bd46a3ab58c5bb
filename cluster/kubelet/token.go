package kubelet

import (
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kviz/cluster/client"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// A pod's token is requested when something in the pod first reads its file; upstream
// does so before the containers start. A token that nobody reads costs nothing that
// way. From then on it is kept fresh as upstream does: written again when four fifths
// of its time are over, or a day after it was issued
// (pkg/kubelet/token/token_manager.go).
const (
	tokenMaxTTL    = 24 * time.Hour
	tokenMaxJitter = 10 // seconds
	tokenDefault   = 3600
)

// onRead reports whether a file of a projected volume is filled when it is read: the
// token, and the certificate beside it in the volume that admission adds to every pod.
func onRead(v *corev1.Volume, src *corev1.VolumeProjection) []string {
	switch {
	case src.ServiceAccountToken != nil:
		return []string{src.ServiceAccountToken.Path}
	case src.ConfigMap != nil && isTokenVolume(v):
		return []string{"ca.crt"}
	}
	return nil
}

// fill gives what stands in a file that is filled when it is read.
func (kl *Kubelet) fill(t *sim.Task, uid string, f runtime.File) (string, error) {
	w := kl.workers[uid]
	if w == nil {
		return "", errors.New("the kubelet does not know the pod any more")
	}
	var text string
	var err error
	if broken := kl.contain(t, w.pod, "the file "+f.Path+" of volume "+f.Volume, func() { text, err = w.fill(t, f) }); broken != nil {
		return "", broken
	}
	return text, err
}

func (w *worker) fill(t *sim.Task, f runtime.File) (string, error) {
	kl := w.kl
	for i := range w.pod.Spec.Volumes {
		v := &w.pod.Spec.Volumes[i]
		if v.Name != f.Volume || v.Projected == nil {
			continue
		}
		for _, src := range v.Projected.Sources {
			switch {
			case src.ServiceAccountToken != nil && src.ServiceAccountToken.Path == f.Path:
				return w.token(t, src.ServiceAccountToken)
			case src.ConfigMap != nil && isTokenVolume(v) && f.Path == "ca.crt" && kl.p.Alive():
				obj, err := kl.c.Get(t, client.ConfigMaps, w.pod.Namespace, src.ConfigMap.Name)
				if err != nil {
					return "", notFoundText("configmap", src.ConfigMap.Name, err)
				}
				return obj.(*corev1.ConfigMap).Data["ca.crt"], nil
			}
		}
	}
	return "", fmt.Errorf("volume %s has no file %s", f.Volume, f.Path)
}

// token is the token in a pod's file: the one that was asked for, or, the first time, a
// new one.
func (w *worker) token(t *sim.Task, src *corev1.ServiceAccountTokenProjection) (string, error) {
	if have := w.tokens[tokenKey(src)]; have != nil {
		return have.Status.Token, nil
	}
	if !w.kl.p.Alive() {
		return "", errors.New("the kubelet is down and has not written it")
	}
	return w.askToken(t, src)
}

func tokenKey(src *corev1.ServiceAccountTokenProjection) string {
	return fmt.Sprintf("%s %d", src.Audience, ptr.Deref(src.ExpirationSeconds, tokenDefault))
}

// askToken asks for a token that is bound to the pod, and writes it.
func (w *worker) askToken(t *sim.Task, src *corev1.ServiceAccountTokenProjection) (string, error) {
	req := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(ptr.Deref(src.ExpirationSeconds, tokenDefault)),
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: w.pod.Name, UID: w.pod.UID},
	}}
	if src.Audience != "" {
		req.Spec.Audiences = []string{src.Audience}
	}
	obj, err := w.kl.c.CreateSub(t, client.ServiceAccounts, w.pod.Namespace, w.pod.Spec.ServiceAccountName, "token", req)
	if err != nil {
		return "", fmt.Errorf("failed to fetch token: %w", err)
	}
	got := obj.(*authenticationv1.TokenRequest)
	if w.tokens == nil {
		w.tokens = map[string]*authenticationv1.TokenRequest{}
	}
	w.tokens[tokenKey(src)] = got
	t.SetCauses(t.Emit(trace.Event{
		Kind: trace.VolumesMounted, Object: client.RefOf(w.pod),
		Payload: &trace.PodStep{
			Node: w.kl.cfg.Node, Pod: w.key(), What: "token written",
			Detail: "good until " + got.Status.ExpirationTimestamp.UTC().Format(time.RFC3339),
		},
	}))
	w.resync()
	return got.Status.Token, nil
}

// refreshTokens writes those tokens again whose time is running out. One that cannot be
// had stays as it is while it is good: the next look tries again.
func (w *worker) refreshTokens(t *sim.Task) {
	for i := range w.pod.Spec.Volumes {
		v := &w.pod.Spec.Volumes[i]
		if v.Projected == nil {
			continue
		}
		for _, src := range v.Projected.Sources {
			s := src.ServiceAccountToken
			if s == nil || w.tokens[tokenKey(s)] == nil || !w.dueToken(t, w.tokens[tokenKey(s)]) {
				continue
			}
			if _, err := w.askToken(t, s); err != nil {
				w.kl.event(t, w.pod, corev1.EventTypeWarning, "FailedMount", "MountVolume.SetUp failed for volume %q : %v", v.Name, err)
			}
		}
	}
}

// dueToken mirrors token_manager.go requiresRefresh.
func (w *worker) dueToken(t *sim.Task, have *authenticationv1.TokenRequest) bool {
	lives := time.Duration(ptr.Deref(have.Spec.ExpirationSeconds, tokenDefault)) * time.Second
	ends := have.Status.ExpirationTimestamp
	jitter := time.Duration(w.kl.rand.Float64()*tokenMaxJitter) * time.Second
	if issued := metav1.NewTime(ends.Add(-lives)); t.Now().After(issued.Add(tokenMaxTTL - jitter)) {
		return true
	}
	return t.Now().After(ends.Add(-lives/5 - jitter))
}
