package admission

import (
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"kviz/cluster/apiserver/request"
)

// enforceMountableSecrets is the annotation of a ServiceAccount whose pods may refer only
// to the secrets that it names.
const enforceMountableSecrets = "kubernetes.io/enforce-mountable-secrets"

// Validate is [Validating]: the account of a pod as it will be stored, whoever has set it, and
// the secrets that the pod refers to.
func (s *ServiceAccount) Validate(r *request.Scope, a *Attributes) (Result, error) {
	p, ok := a.Object.(*corev1.Pod)
	if !ok || !a.Is("Pod") {
		return Result{}, nil
	}
	added := a.Operation == Update && a.Subresource == "ephemeralcontainers"
	switch {
	case !added && (a.Operation != Create || a.Subresource != ""):
		return Result{}, nil
	case !added && isMirror(p):
		return Result{}, checkMirrorPod(a, p)
	case p.Spec.ServiceAccountName == "":
		return Result{}, a.Forbid(fmt.Errorf("no service account specified for pod %s/%s", a.Namespace, p.Name))
	}
	sa, err := s.account(r, a.Namespace, p.Spec.ServiceAccountName)
	if err != nil {
		return Result{}, a.Forbid(fmt.Errorf("error looking up service account %s/%s: %w", a.Namespace, p.Spec.ServiceAccountName, err))
	}
	return Result{}, s.mayUse(a, sa, p)
}

func isMirror(p *corev1.Pod) bool {
	_, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror
}

// checkMirrorPod refuses what a mirror pod may not refer to.
func checkMirrorPod(a *Attributes, p *corev1.Pod) error {
	if p.Spec.ServiceAccountName != "" {
		return a.Forbid(errors.New("a mirror pod may not reference service accounts"))
	}
	secrets := false
	podutil.VisitPodSecretNames(p, func(string) bool {
		secrets = true
		return false
	})
	if secrets {
		return a.Forbid(errors.New("a mirror pod may not reference secrets"))
	}
	for _, v := range p.Spec.Volumes {
		if v.Projected == nil {
			continue
		}
		for _, src := range v.Projected.Sources {
			if src.ServiceAccountToken != nil {
				return a.Forbid(errors.New("a mirror pod may not use ServiceAccountToken volume projections"))
			}
		}
	}
	return nil
}

// mayUse refuses secrets that an account does not name, if it is to be asked.
func (*ServiceAccount) mayUse(a *Attributes, sa *corev1.ServiceAccount, p *corev1.Pod) error {
	if on, _ := strconv.ParseBool(sa.Annotations[enforceMountableSecrets]); !on {
		return nil
	}
	if a.Operation == Update {
		if err := unmountableBy(mountable(sa), sa, "ephemeral container", ephemeral(p.Spec.EphemeralContainers)); err != nil {
			return request.PlainError(err) // upstream gives it no reason, which makes it a 500
		}
		return nil
	}
	if err := unmountable(sa, p); err != nil {
		return a.Forbid(err)
	}
	return nil
}

func mountable(sa *corev1.ServiceAccount) map[string]bool {
	names := map[string]bool{}
	for _, s := range sa.Secrets {
		names[s.Name] = true
	}
	return names
}

// unmountable says which secret a pod may not have (limitSecretReferences).
func unmountable(sa *corev1.ServiceAccount, p *corev1.Pod) error {
	may := mountable(sa)
	for _, v := range p.Spec.Volumes {
		if s := v.Secret; s != nil && !may[s.SecretName] {
			return fmt.Errorf("volume with secret.secretName=%q is not allowed because service account %s does not reference that secret", s.SecretName, sa.Name)
		}
	}
	if err := unmountableBy(may, sa, "init container", p.Spec.InitContainers); err != nil {
		return err
	}
	if err := unmountableBy(may, sa, "container", p.Spec.Containers); err != nil {
		return err
	}
	pull := map[string]bool{}
	for _, s := range sa.ImagePullSecrets {
		pull[s.Name] = true
	}
	for i, s := range p.Spec.ImagePullSecrets {
		if !pull[s.Name] {
			return fmt.Errorf("imagePullSecrets[%d].name=%q is not allowed because service account %s does not reference that imagePullSecret", i, s.Name, sa.Name)
		}
	}
	return nil
}

// unmountableBy is the same of containers, which are called what.
func unmountableBy(may map[string]bool, sa *corev1.ServiceAccount, what string, list []corev1.Container) error {
	for _, c := range list {
		for _, e := range c.Env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && !may[e.ValueFrom.SecretKeyRef.Name] {
				return fmt.Errorf("%s %s with envVar %s referencing secret.secretName=%q is not allowed because service account %s does not reference that secret", what, c.Name, e.Name, e.ValueFrom.SecretKeyRef.Name, sa.Name)
			}
		}
		for _, e := range c.EnvFrom {
			if e.SecretRef != nil && !may[e.SecretRef.Name] {
				return fmt.Errorf("%s %s with envFrom referencing secret.secretName=%q is not allowed because service account %s does not reference that secret", what, c.Name, e.SecretRef.Name, sa.Name)
			}
		}
	}
	return nil
}

// ephemeral are ephemeral containers as others.
func ephemeral(list []corev1.EphemeralContainer) []corev1.Container {
	out := make([]corev1.Container, len(list))
	for i := range list {
		out[i] = corev1.Container(list[i].EphemeralContainerCommon)
	}
	return out
}
