package cluster_test

import (
	"testing"

	"kviz/cluster/bench"
)

// BenchmarkLarge brings up 200 nodes and 1,000 pods on the bare store.
func BenchmarkLarge(b *testing.B) {
	for b.Loop() {
		results, err := bench.Large(b.Context(), true, 200, 1000)
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range results {
			b.Log(r.Name, r.Got)
		}
	}
}
