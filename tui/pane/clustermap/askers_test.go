package clustermap

import (
	"slices"
	"testing"

	"kviz/cluster/view"
)

// The controllers that everybody asks about stand before those whose names come first, by
// the names that controllers really have.
func TestKnownControllersComeFirst(t *testing.T) {
	var all []*view.Controller
	for _, name := range []string{"clusterrole-aggregation-controller", "deployment-controller", "endpoints-controller", "replicaset-controller"} {
		all = append(all, &view.Controller{Name: name})
	}
	var got []string
	for _, c := range knownFirst(all) {
		got = append(got, short(c))
	}
	if want := []string{"deployment", "replicaset", "clusterrole-aggregation", "endpoints"}; !slices.Equal(got, want) {
		t.Errorf("in this order: %v, want %v", got, want)
	}
}
