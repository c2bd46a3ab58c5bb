// Package proof runs kube-controller-manager's own binary beside kviz' controllers. The binary is built from
// Kubernetes' tree (the tool line of go.mod) and runs in a process of its own; kviz runs without a controller
// manager then (kviz serve --without controller-manager), and the real one acts on it.
//
// Start reading in DESIGN.md.
package proof
