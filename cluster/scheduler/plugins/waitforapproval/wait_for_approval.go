// Package waitforapproval is the WaitForApproval plugin: at Permit it has every pod wait until
// somebody allows or rejects it by hand (kviz scheduler allow, kviz scheduler reject), or until its
// time is over. It shows what Permit is for, since none of Kubernetes' default plugins waits there.
//
// It is this project's own, as a plugin is that somebody compiles into their scheduler
// (WithPlugin of cmd/kube-scheduler/app). A profile that does not name it does not have it.
// A rejected pod is tried again when its labels change, or after five minutes.
//
// Start reading at [WaitForApproval.Permit].
package waitforapproval

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"kviz/cluster/scheduler/framework"
)

// Name is the plugin's name.
const Name = "WaitForApproval"

// WaitForApproval is the plugin.
type WaitForApproval struct{ timeout time.Duration }

// longest is as long as any Permit plugin may have a pod wait.
const longest = 15 * time.Minute

// args are what a configuration may say.
type args struct {
	// TimeoutSeconds is how long a pod waits; 60 if it is left out.
	TimeoutSeconds *int64 `json:"timeoutSeconds"`
}

// New makes the plugin. Its arguments are as they were written: upstream does not know them
// (pkg/scheduler/framework/runtime/registry.go DecodeInto).
func New(written runtime.Object) (*WaitForApproval, error) {
	var a args
	if raw, ok := written.(*runtime.Unknown); ok {
		if err := yaml.UnmarshalStrict(raw.Raw, &a); err != nil {
			return nil, err
		}
	}
	pl := &WaitForApproval{timeout: time.Minute}
	if s := a.TimeoutSeconds; s != nil {
		if *s < 1 || *s > int64(longest/time.Second) {
			return nil, fmt.Errorf("timeoutSeconds: Invalid value: %d: not in valid range [1, %d]", *s, int64(longest/time.Second))
		}
		pl.timeout = time.Duration(*s) * time.Second
	}
	return pl, nil
}

// Name is [Name].
func (*WaitForApproval) Name() string { return Name }

// Permit has the pod wait.
func (pl *WaitForApproval) Permit(*framework.CycleState, *corev1.Pod, string) (*framework.Status, time.Duration) {
	return framework.NewStatus(Name, framework.Wait), pl.timeout
}

// EventsToRegister: the pod is labelled otherwise.
func (*WaitForApproval) EventsToRegister() []framework.ClusterEventWithHint {
	return []framework.ClusterEventWithHint{
		{Event: framework.ClusterEvent{Resource: framework.TargetPod, Action: framework.UpdatePodLabel}},
	}
}
