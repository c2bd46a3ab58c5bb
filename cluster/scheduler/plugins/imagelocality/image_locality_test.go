package imagelocality

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/scheduler/framework"
)

func TestScore(t *testing.T) {
	node := framework.NewNodeInfo(&corev1.Node{})
	other := framework.NewNodeInfo(&corev1.Node{})
	other.Slot = 64
	known := map[string]*framework.ImageState{
		"gcr.io/40:latest":   {Size: 40 * mb},
		"gcr.io/140:latest":  {Size: 140 * mb},
		"gcr.io/300:latest":  {Size: 300 * mb},
		"gcr.io/10:latest":   {Size: 10 * mb},
		"gcr.io/2000:latest": {Size: 2000 * mb},
	}
	for _, s := range known {
		s.Add(node)
		s.Add(node)
	}
	known["gcr.io/2000:latest"].Add(other)
	elsewhere := &framework.ImageState{Size: 900 * mb}
	elsewhere.Add(other)
	elsewhere.Add(node)
	elsewhere.Remove(node)
	known["elsewhere:latest"] = elsewhere
	// Numbers of upstream's TestImageLocalityPriority for the same images on one
	// of two nodes.
	for name, tt := range map[string]struct {
		images []string
		want   int64
	}{
		"absent":                          {[]string{"other"}, 0},
		"only on another node":            {[]string{"elsewhere"}, 0},
		"small, below the threshold":      {[]string{"gcr.io/10"}, 0},
		"150 MB of 2 containers":          {[]string{"gcr.io/40", "gcr.io/300"}, 7}, // (170-23)/(2000-23)
		"one image there, one not":        {[]string{"gcr.io/140:latest", "gcr.io/900"}, 2},
		"everybody has it, and it is big": {[]string{"gcr.io/2000"}, 100},
	} {
		pod := &corev1.Pod{}
		for _, i := range tt.images {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Image: i})
		}
		pl, state := &ImageLocality{Nodes: func() int { return 2 }, Image: func(n string) *framework.ImageState { return known[n] }}, &framework.CycleState{}
		pl.PreScore(state, pod, nil)
		if got := pl.Score(state, pod, node); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

func TestNormalizedName(t *testing.T) {
	for in, want := range map[string]string{
		"root":                   "root:latest",
		"root:tag":               "root:tag",
		"gcr.io:5000/root":       "gcr.io:5000/root:latest",
		"root@sha256:0123456789": "root@sha256:0123456789",
	} {
		if got := NormalizedName(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
