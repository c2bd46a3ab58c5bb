// Package imagelocality is the ImageLocality plugin: nodes that already have
// the pod's images score higher, and more so the bigger the images are. An
// image that only few nodes have counts less, so that pods do not pile up on
// one node because it was the first to pull.
//
// Mirrors pkg/scheduler/framework/plugins/imagelocality.
package imagelocality

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/scheduler/framework"
)

const (
	// Name is the plugin's name.
	Name = "ImageLocality"

	mb           int64 = 1024 * 1024
	minThreshold int64 = 23 * mb   // fewer bytes are not worth anything
	maxThreshold int64 = 1000 * mb // per container; more bytes are worth no more

	stateKey = "Score" + Name
)

// ImageLocality is the plugin. Nodes says how many nodes there are.
type ImageLocality struct{ Nodes func() int }

// Name is [Name].
func (*ImageLocality) Name() string { return Name }

// PreScore writes the images' names out in full once.
func (*ImageLocality) PreScore(state *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) *framework.Status {
	state.Write(stateKey, images(pod))
	return nil
}

func images(pod *corev1.Pod) []string {
	var names []string
	for _, c := range pod.Spec.InitContainers {
		names = append(names, NormalizedName(c.Image))
	}
	for _, c := range pod.Spec.Containers {
		names = append(names, NormalizedName(c.Image))
	}
	for _, v := range pod.Spec.Volumes {
		if v.Image != nil {
			names = append(names, NormalizedName(v.Image.Reference))
		}
	}
	return names
}

// NormalizedName adds the tag ":latest" to an image without a tag.
func NormalizedName(image string) string {
	if strings.LastIndex(image, ":") <= strings.LastIndex(image, "/") {
		return image + ":latest"
	}
	return image
}

// Score is between 0 and 100 for between 23 MB and 1000 MB a container that
// need not be pulled.
func (pl *ImageLocality) Score(state *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo) int64 {
	names := framework.Read[[]string](state, stateKey)
	return Priority(present(names, node, pl.Nodes()), len(names))
}

// present is the bytes the node has of the images, each scaled by the part of
// the nodes that have it.
func present(names []string, node *framework.NodeInfo, nodes int) (sum int64) {
	if len(node.Images) == 0 || nodes == 0 {
		return 0
	}
	for _, name := range names {
		if s, ok := node.Images[name]; ok {
			sum += int64(float64(s.Size) * (float64(s.Nodes) / float64(nodes)))
		}
	}
	return sum
}

// Priority maps bytes to a score.
func Priority(sum int64, images int) int64 {
	most := maxThreshold * int64(images)
	return framework.MaxNodeScore * (min(max(sum, minThreshold), most) - minThreshold) / (most - minThreshold)
}

// ExplainScore names the bytes.
func (pl *ImageLocality) ExplainScore(state *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo) string {
	names := framework.Read[[]string](state, stateKey)
	return fmt.Sprintf("%d MB of the pod's images are here, scaled by how many nodes have them; 23 MB or less score 0", present(names, node, pl.Nodes())/mb)
}
