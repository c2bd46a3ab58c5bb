package admission

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"pgregory.net/rapid"
)

// TestLimitRangerIsUpstreams compares defaults and refusals with those of the
// plugin that runs in a kube-apiserver.
func TestLimitRangerIsUpstreams(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lr := &corev1.LimitRange{}
		for range rapid.IntRange(1, 3).Draw(t, "items") {
			lr.Spec.Limits = append(lr.Spec.Limits, corev1.LimitRangeItem{
				Type: rapid.SampledFrom([]corev1.LimitType{corev1.LimitTypeContainer, corev1.LimitTypePod, corev1.LimitTypePersistentVolumeClaim}).Draw(t, "type"),
				Min:  drawResources(t, "min"), Max: drawResources(t, "max"), Default: drawResources(t, "default"),
				DefaultRequest: drawResources(t, "defaultRequest"), MaxLimitRequestRatio: drawResources(t, "ratio"),
			})
		}
		p := &corev1.Pod{}
		p.Spec.Containers = drawContainers(t, 1)
		p.Spec.InitContainers = drawContainers(t, 0)
		if rapid.Bool().Draw(t, "whole") {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: drawResources(t, "requests"), Limits: drawResources(t, "limits")}
		}
		theirs := internalPod(p.DeepCopy()) // conversion shares maps
		if err := limitranger.PodMutateLimitFunc(lr, theirs); err != nil {
			t.Fatal(err)
		}
		defaultResources(lr, p)
		ours := internalPod(p.DeepCopy())
		if !equality.Semantic.DeepEqual(ours.Spec, theirs.Spec) || !equality.Semantic.DeepEqual(ours.Annotations, theirs.Annotations) {
			t.Fatalf("defaults:\n got %+v\nwant %+v", ours, theirs)
		}
		sameFaults(t, utilerrors.NewAggregate(podFaults(lr, p)), limitranger.PodValidateLimitFunc(lr, theirs))

		claim := &corev1.PersistentVolumeClaim{}
		claim.Spec.Resources.Requests = drawResources(t, "storage")
		sameFaults(t, utilerrors.NewAggregate(claimFaults(lr, claim)), limitranger.PersistentVolumeClaimValidateLimitFunc(lr, internalClaim(claim.DeepCopy())))
	})
}

func drawContainers(t *rapid.T, least int) []corev1.Container {
	var out []corev1.Container
	for i := range rapid.IntRange(least, 2).Draw(t, "containers") {
		c := corev1.Container{Name: fmt.Sprintf("c%d", i)}
		c.Resources.Requests, c.Resources.Limits = drawResources(t, "requests"), drawResources(t, "limits")
		if least == 0 && rapid.Bool().Draw(t, "sidecar") {
			always := corev1.ContainerRestartPolicyAlways
			c.RestartPolicy = &always
		}
		out = append(out, c)
	}
	return out
}

func drawResources(t *rapid.T, label string) corev1.ResourceList {
	var out corev1.ResourceList
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceStorage} {
		q := rapid.SampledFrom([]string{"", "", "0", "1", "1500m", "2", "3Gi", "9007199254740993"}).Draw(t, label)
		if q == "" {
			continue
		}
		if out == nil {
			out = corev1.ResourceList{}
		}
		out[name] = resource.MustParse(q)
	}
	return out
}

// sameFaults compares refusals; upstream's are in random order.
func sameFaults(t *rapid.T, got, want error) {
	if g, w := faults(got), faults(want); !slices.Equal(g, w) {
		t.Fatalf("refusals:\n got %s\nwant %s", strings.Join(g, "\n     "), strings.Join(w, "\n     "))
	}
}

func faults(err error) []string {
	if err == nil {
		return nil
	}
	var out []string
	for _, e := range err.(utilerrors.Aggregate).Errors() {
		out = append(out, e.Error())
	}
	slices.Sort(out)
	return out
}
