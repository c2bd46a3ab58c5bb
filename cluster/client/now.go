package client

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/sim"
)

// Now is the virtual time as objects carry it: in seconds, which is what the API's JSON
// and the store have of a metav1.Time. A component's object is taken into the watch cache
// as it is, and with a fraction its age would be a second less there than anywhere else.
func Now(t *sim.Task) metav1.Time { return metav1.NewTime(t.Now().Truncate(time.Second)) }
