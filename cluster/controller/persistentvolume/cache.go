package persistentvolume

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"

	"kviz/cluster/informer"
)

// cache is the newest that the controller knows of claims and volumes: from the informers, or
// what it has written itself and has not seen come back yet.
//
// Volumes are kept by their access modes, as upstream's index.go does.
type cache struct {
	claims map[string]*corev1.PersistentVolumeClaim
	byName map[string]*corev1.PersistentVolume
	byMode map[string][]string // access modes, as a string -> names of volumes, sorted
}

func newCache() *cache {
	return &cache{map[string]*corev1.PersistentVolumeClaim{}, map[string]*corev1.PersistentVolume{}, map[string][]string{}}
}

// newer reports whether an object may take the place of what there is of it. The same version
// may: periodic looks bring it (storeObjectUpdate).
func newer(was, is metav1.Object) bool {
	a, errA := strconv.ParseInt(was.GetResourceVersion(), 10, 64)
	b, errB := strconv.ParseInt(is.GetResourceVersion(), 10, 64)
	return errA != nil || errB != nil || a <= b
}

func (c *cache) storeClaim(claim *corev1.PersistentVolumeClaim) bool {
	key := informer.KeyOf(claim)
	if was := c.claims[key]; was != nil && !newer(was, claim) {
		return false
	}
	c.claims[key] = claim
	return true
}

func (c *cache) storeVolume(v *corev1.PersistentVolume) bool {
	was := c.byName[v.Name]
	if was != nil && !newer(was, v) {
		return false
	}
	if was != nil && modesOf(was) != modesOf(v) {
		c.removeVolume(was)
		was = nil
	}
	c.byName[v.Name] = v
	if was == nil {
		names := c.byMode[modesOf(v)]
		i, _ := slices.BinarySearch(names, v.Name)
		c.byMode[modesOf(v)] = slices.Insert(names, i, v.Name)
	}
	return true
}

func (c *cache) removeVolume(v *corev1.PersistentVolume) {
	delete(c.byName, v.Name)
	names := c.byMode[modesOf(v)]
	if i, found := slices.BinarySearch(names, v.Name); found {
		names = slices.Delete(names, i, i+1)
	}
	if len(names) == 0 {
		delete(c.byMode, modesOf(v))
		return
	}
	c.byMode[modesOf(v)] = names
}

func (c *cache) volume(name string) (*corev1.PersistentVolume, bool) {
	v, there := c.byName[name]
	return v, there
}

func modesOf(v *corev1.PersistentVolume) string {
	return v1helper.GetAccessModesAsString(v.Spec.AccessModes)
}

// modesFor are the sets of access modes that have all that a claim asks for, those with the
// fewest first (allPossibleMatchingAccessModes).
func (c *cache) modesFor(claim *corev1.PersistentVolumeClaim) []string {
	var sets []string
	for set := range c.byMode {
		if has := v1helper.GetAccessModesFromString(set); !slices.ContainsFunc(claim.Spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool { return !slices.Contains(has, m) }) {
			sets = append(sets, set)
		}
	}
	slices.SortFunc(sets, func(a, b string) int {
		if d := len(v1helper.GetAccessModesFromString(a)) - len(v1helper.GetAccessModesFromString(b)); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return sets
}

// best is the volume that a claim gets, nil for none (findByClaim).
func (c *cache) best(claim *corev1.PersistentVolumeClaim, delay bool) (*corev1.PersistentVolume, error) {
	for _, set := range c.modesFor(claim) {
		names := c.byMode[set]
		list := make([]*corev1.PersistentVolume, len(names))
		for i, name := range names {
			list[i] = c.byName[name]
		}
		if v, err := volume.FindMatchingVolume(claim, list, nil, nil, delay, true); v != nil || err != nil {
			return v, err
		}
	}
	return nil, nil
}
