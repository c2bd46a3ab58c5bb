package admission

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// DefaultTolerationSeconds is the plugin of that name
// (plugin/pkg/admission/defaulttolerationseconds): a pod stays on a node that fails for
// 300 s.
type DefaultTolerationSeconds struct{}

// Name is [Plugin].
func (DefaultTolerationSeconds) Name() string { return "DefaultTolerationSeconds" }

// Admit is [Mutating].
func (DefaultTolerationSeconds) Admit(_ *request.Scope, a *Attributes) (Result, error) {
	if a.Operation == Delete || a.Subresource != "" {
		return Result{}, nil
	}
	p, ok := a.Object.(*corev1.Pod)
	if !ok {
		return Result{}, nil
	}
	var diff []trace.FieldDiff
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if tolerates(p.Spec.Tolerations, key) {
			continue
		}
		seconds := int64(300)
		p.Spec.Tolerations = append(p.Spec.Tolerations[:len(p.Spec.Tolerations):len(p.Spec.Tolerations)],
			corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds})
		diff = append(diff, trace.FieldDiff{
			Path: "spec.tolerations[" + strconv.Itoa(len(p.Spec.Tolerations)-1) + "]",
			To:   `{"key":"` + key + `","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}`,
		})
	}
	if len(diff) == 0 {
		return Result{}, nil
	}
	return Result{Note: "the pod tolerates a node that is not ready or unreachable for 300 s.", Diff: diff}, nil
}

func tolerates(list []corev1.Toleration, key string) bool {
	for _, t := range list {
		if (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}
