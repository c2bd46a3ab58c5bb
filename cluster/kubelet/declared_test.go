package kubelet

import (
	"slices"
	"testing"

	"k8s.io/component-helpers/nodedeclaredfeatures/features"
	"k8s.io/component-helpers/nodedeclaredfeatures/types"
)

// A change to another version of Kubernetes needs a decision about each feature that is new there.
func TestEachFeatureIsDecidedAbout(t *testing.T) {
	known := map[string]bool{}
	for _, f := range features.AllFeatures {
		for _, gate := range f.Requirements().EnabledFeatureGates {
			known[gate] = true
			if _, ok := acts[gate]; !ok {
				t.Errorf("nothing says whether this kubelet acts on %s", gate)
			}
		}
	}
	for gate := range acts {
		if !known[gate] {
			t.Errorf("no feature has the gate %s", gate)
		}
	}
}

// What it acts on is declared, and nothing else.
func TestDeclaredFeaturesAreThoseThatAreActedOn(t *testing.T) {
	if got := declaredFeatures(acts); len(got) > 0 {
		t.Errorf("it declares %v: a pod that needs one would run without it", got)
	}
	const restart = "RestartAllContainersOnContainerExits"
	if got := declaredFeatures(types.FeatureGateMap{restart: true}); !slices.Equal(got, []string{restart}) {
		t.Errorf("with %s it declares %v", restart, got)
	}
}
