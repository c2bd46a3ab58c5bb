package apiserver

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
)

// A pod may refer only to the secrets that its account names, if the account says so; and an
// account that a policy or webhook has set is looked up, too.
func TestAccountsLimitSecrets(t *testing.T) {
	runHooked(t, func(h *hooked) {
		create := func(p *corev1.Pod) error {
			_, err := h.w.admin().Create(h.t, client.Pods, "default", p)
			return err
		}
		strict := &corev1.ServiceAccount{
			ObjectMeta: metav1.ObjectMeta{Name: "strict", Annotations: map[string]string{"kubernetes.io/enforce-mountable-secrets": "true"}},
			Secrets:    []corev1.ObjectReference{{Name: "known"}},
		}
		_, err := h.w.admin().Create(h.t, client.ServiceAccounts, "default", strict)
		h.w.must(err)
		of := func(name, secret string) *corev1.Pod {
			p := pod(name)
			p.Spec.ServiceAccountName = "strict"
			p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret}}}}
			return p
		}
		h.w.must(create(of("fine", "known")))
		if err := create(of("bad", "other")); err == nil || !strings.Contains(err.Error(), `container app with envFrom referencing secret.secretName="other" is not allowed because service account strict does not reference that secret`) {
			t.Errorf("a secret that the account does not name: %v", err)
		}
		mirror := pod("mirror")
		mirror.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
		mirror.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
		if err := create(mirror); err == nil || !strings.Contains(err.Error(), "a mirror pod may not reference secrets") {
			t.Errorf("a mirror pod with a secret: %v", err)
		}

		h.apply(`apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: nobody}
spec:
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{spec: Object.spec{serviceAccountName: 'nobody'}}"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: nobody}
spec: {policyName: nobody}`)
		h.t.Sleep(10 * time.Millisecond)
		if err := create(pod("changed")); err == nil || !strings.Contains(err.Error(), `serviceaccount "nobody" not found`) {
			t.Errorf("an account that a policy has set: %v", err)
		}
	})
}
