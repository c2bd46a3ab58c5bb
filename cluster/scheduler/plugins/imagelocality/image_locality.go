// Package imagelocality is the ImageLocality plugin: nodes that already have
// the pod's images score higher, and more so the bigger the images are. An
// image that only few nodes have counts less, so that pods do not pile up on
// one node because it was the first to pull.
//
// Mirrors pkg/scheduler/framework/plugins/imagelocality.
//
// Start reading at [ImageLocality.Score].
package imagelocality

import (
	"fmt"
	"slices"
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

// ImageLocality is the plugin. Nodes says how many nodes there are, Image what
// is known of an image, nil if no node has it.
type ImageLocality struct {
	Nodes func() int
	Image func(name string) *framework.ImageState
}

// Name is [Name].
func (*ImageLocality) Name() string { return Name }

// SignPod: the images of the containers.
func (*ImageLocality) SignPod(pod *corev1.Pod) ([]framework.SignFragment, *framework.Status) {
	names := []string{}
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		names = append(names, NormalizedName(c.Image))
	}
	slices.Sort(names)
	return []framework.SignFragment{{Key: framework.ImageNamesSignerName, Value: slices.Compact(names)}}, nil
}

// wanted is the pod's images, and what is known of those that some node has.
type wanted struct {
	images int
	nodes  int
	known  []*framework.ImageState
}

// PreScore looks the images up once.
func (pl *ImageLocality) PreScore(state *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) *framework.Status {
	state.Write(stateKey, pl.wants(pod))
	return nil
}

func (pl *ImageLocality) wants(pod *corev1.Pod) *wanted {
	names := images(pod)
	w := &wanted{images: len(names), nodes: pl.Nodes()}
	for _, name := range names {
		if s := pl.Image(name); s != nil {
			w.known = append(w.known, s)
		}
	}
	return w
}

// wanted is what PreScore has looked up, or would where the profile has no PreScore of this plugin:
// upstream's has none.
func (pl *ImageLocality) wanted(state *framework.CycleState, pod *corev1.Pod) *wanted {
	if w := framework.Read[*wanted](state, stateKey); w != nil {
		return w
	}
	return pl.wants(pod)
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
func (pl *ImageLocality) Score(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) int64 {
	w := pl.wanted(state, pod)
	return Priority(w.present(node), w.images)
}

// present is the bytes the node has of the images, each scaled by the part of
// the nodes that have it.
func (w *wanted) present(node *framework.NodeInfo) (sum int64) {
	for _, s := range w.known {
		if s.On(node) {
			sum += int64(float64(s.Size) * (float64(s.Nodes) / float64(w.nodes)))
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
func (pl *ImageLocality) ExplainScore(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) string {
	w := pl.wanted(state, pod)
	return fmt.Sprintf("%d MB of the pod's images are here, scaled by how many nodes have them; 23 MB or less score 0", w.present(node)/mb)
}
