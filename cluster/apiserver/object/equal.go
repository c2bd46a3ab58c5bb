package object

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// Equal is semantic equality: 1000m of CPU is 1 CPU.
func Equal(a, b any) bool { return apiequality.Semantic.DeepEqual(a, b) }
