//go:build versions

package main

// What is built here is not imported; these hold the versions, kviz' own first, so that
// both programs share their compiled packages.
import (
	_ "k8s.io/kubernetes/test/e2e"
	_ "kviz/cluster"
)
