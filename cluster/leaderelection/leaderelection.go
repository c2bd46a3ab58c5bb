// Package leaderelection is client-go's tools/leaderelection: of several copies
// of a component, the one that holds a Lease works and the others wait.
package leaderelection

import (
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// Run takes part in the election for the Lease name in kube-system until the
// lease is lost: it waits until identity holds the Lease, starts onStarted as a
// task of its own, and renews. When it cannot renew in time it calls onStopped
// and returns; the caller decides whether to end the process, as upstream's
// components do.
func Run(t *sim.Task, c client.Interface, name, identity string, onStarted func(*sim.Task), onStopped func()) {
}
