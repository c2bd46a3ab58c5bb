package cluster_test

import (
	"regexp"
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// A device breaks, and the pods that have it go elsewhere: testdata/device-taints.txt is what is typed and what
// is seen.
func TestDeviceTaints(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "device-taints", typed(t, c, "testdata/device-taints.txt", uncertain, []varies{
			{regexp.MustCompile(`#[0-9]+`), "#N"},
			{regexp.MustCompile(`(version|revision) [0-9]+`), "$1 N"},
			{regexp.MustCompile(`train-[a-z0-9]+-[a-z0-9]{5}`), "train-…"},
		}))
	})
}

// Devices as an administrator meets them, whose drivers are kubectl: testdata/devices.txt is what is typed and
// what is seen.
func TestDevices(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "devices", typed(t, c, "testdata/devices.txt", uncertain, []varies{
			{regexp.MustCompile(`#[0-9]+`), "#N"},
			{regexp.MustCompile(`(version|revision) [0-9]+`), "$1 N"},
		}))
	})
}
