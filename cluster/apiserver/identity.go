package apiserver

import (
	"time"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/sim"
)

// virtualClock is the kernel's time as Kubernetes' clocks have it.
type virtualClock struct{ k *sim.Kernel }

// Now is clock.PassiveClock.
func (c virtualClock) Now() time.Time { return c.k.Now() }

// Since is clock.PassiveClock.
func (c virtualClock) Since(t time.Time) time.Duration { return c.k.Now().Sub(t) }

// selfUser is the API server as its own client (genericapiserver's loopback).
var selfUser = authn.User{Name: "system:apiserver", Groups: []string{authn.Masters}}
