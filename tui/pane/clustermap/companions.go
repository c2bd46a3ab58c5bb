package clustermap

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// mostClaims is how many claims of a workload are named.
const mostClaims = 3

// companions are what stands beside a workload: the autoscaler that scales it, and the claims of its pods, as "hpa 2–5"
// and "pvc 2/3"; and the same in words.
func companions(s *view.State, o *view.Object, claims map[string]int) (short, meant []string) {
	if o != nil {
		if text, says := scaler(s, o); text != "" {
			short, meant = append(short, text), append(meant, says)
		}
	}
	if text, says := storage(s, claims); text != "" {
		short, meant = append(short, text), append(meant, says...)
	}
	return short, meant
}

// storage is how many of the claims are bound, and to which volumes; "" for none.
func storage(s *view.State, claims map[string]int) (text string, says []string) {
	if len(claims) == 0 {
		return "", nil
	}
	bound := 0
	for i, key := range slices.Sorted(maps.Keys(claims)) {
		phase, volume := claim(s, key)
		if phase == string(corev1.ClaimBound) {
			bound++
		}
		switch {
		case i < mostClaims && volume != "":
			says = append(says, fmt.Sprintf("claim %s is %s to %s", key, phase, volume))
		case i < mostClaims:
			says = append(says, fmt.Sprintf("claim %s is %s", key, phase))
		case i == mostClaims:
			says = append(says, fmt.Sprintf("and %d more", len(claims)-i))
		}
	}
	return fmt.Sprintf("pvc %d/%d", bound, len(claims)), says
}

// claim is the phase of a claim and its volume.
func claim(s *view.State, key string) (phase, volume string) {
	namespace, name, _ := strings.Cut(key, "/")
	o := s.Object("persistentvolumeclaims", namespace, name)
	if o == nil {
		return "missing", ""
	}
	v, ok := o.Value.(*corev1.PersistentVolumeClaim)
	switch {
	case !ok || v.Status.Phase == "":
		return string(corev1.ClaimPending), ""
	case v.Status.Phase == corev1.ClaimBound:
		return string(v.Status.Phase), v.Spec.VolumeName
	}
	return string(v.Status.Phase), ""
}

// claims are the claims that each workload's pods use.
func (c *population) claims() map[trace.Ref]map[string]int {
	all := map[trace.Ref]map[string]int{}
	for o, t := range c.owners {
		if len(t.claims) > 0 && o.of.Name != "" { // a pod of its own is in no list
			all[key(o.of)] = t.claims
		}
	}
	return all
}
