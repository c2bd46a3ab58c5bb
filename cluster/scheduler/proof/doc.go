// Package proof runs kube-scheduler's own binary beside kviz' scheduler. The binary is built from
// Kubernetes' tree (the tool line of go.mod) and runs in a process of its own; kviz runs without a
// scheduler then (kviz serve --without scheduler), and the real one schedules on it.
//
// Start reading in DESIGN.md.
package proof
