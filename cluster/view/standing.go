package view

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// Standing is whether a controller of kube-controller-manager, or of cloud-controller-manager, works.
type Standing struct {
	Works  bool
	Why    string // it does not: "is stopped (kviz fault stop)"
	Slower string // how much longer each of its runs takes, because of a fault: "30s"; "" for no longer
	Event  trace.ID
}

// Standing says how a controller is, by its name: it by itself, then its process.
func (s *State) Standing(controller string) Standing {
	st := Standing{Works: true}
	for _, f := range s.FaultsOn("controller/" + controller) {
		switch f.Fault.Fault {
		case "stop":
			st.Works, st.Why, st.Event = false, "is stopped (kviz fault stop)", f.Event
		case "crash":
			st.Works, st.Why, st.Event = false, "has crashed (kviz fault crash)", f.Event
		case "slow":
			st.Slower = f.Detail
			if st.Works {
				st.Event = f.Event
			}
		}
	}
	if !st.Works {
		return st
	}
	manager := Manager(controller)
	name, lease := "the controller manager", managerLease
	if manager == trace.CompCCM {
		name, lease = cloudLease, cloudLease
	}
	p, held := s.Process(manager), s.Lease(lease)
	switch {
	case s.Without(manager):
		st.Works, st.Why = false, "does not run: "+s.Lacks(manager)
	case p == nil:
		st.Works, st.Why = false, "does not run: "+name+" has not started yet"
	case !p.Up:
		st.Works, st.Why, st.Event = false, "does not run: "+name+" is down", p.Event
	case held == nil || held.Event.Compare(p.Event) < 0:
		st.Works, st.Why, st.Event = false, "does not run: "+name+" waits for its Lease "+lease, p.Event
	}
	return st
}

// managerLease is the Lease that the active controller manager holds.
const managerLease = "kube-controller-manager"

// attending are the controllers that bring about what is wanted of the objects of a kind.
var attending = map[string][]string{
	"deployments":                {"deployment-controller"},
	"replicasets":                {"replicaset-controller"},
	"replicationcontrollers":     {"replicationcontroller-controller"},
	"statefulsets":               {"statefulset-controller"},
	"daemonsets":                 {"daemonset-controller"},
	"jobs":                       {"job-controller"},
	"cronjobs":                   {"cronjob-controller"},
	"horizontalpodautoscalers":   {scaledBy},
	"services":                   {"endpointslice-controller", "endpoints-controller"},
	"nodes":                      {"node-lifecycle-controller", "taint-eviction-controller"},
	"poddisruptionbudgets":       {"disruption-controller"},
	"resourcequotas":             {"resourcequota-controller"},
	"volumeattachments":          {"persistentvolume-attach-detach-controller"},
	"devicetaintrules":           {deviceEviction},
	"certificatesigningrequests": {"certificatesigningrequest-approving-controller", "certificatesigningrequest-signing-controller"},
}

// Attendants are the controllers that bring about what is wanted of the object that a ref names.
func (s *State) Attendants(ref trace.Ref) []string {
	if o := s.ObjectOf(ref); o != nil {
		return attendants(o)
	}
	return nil
}

// attendants are the controllers that have something to do with an object as it is.
func attendants(o *Object) []string {
	names := attending[o.Resource]
	names = append(names[:len(names):len(names)], ofMachine(o)...)
	switch {
	case unranged(o):
		names = append(names[:len(names):len(names)], "node-ipam-controller")
	case balanced(o):
		names = append(names[:len(names):len(names)], serviceController)
	case o.Resource == "namespaces" && o.Deleting():
		names = []string{"namespace-controller"}
	case o.Resource == "namespaces":
		names = []string{"serviceaccount-controller", "root-ca-certificate-publisher-controller"}
	}
	for _, f := range o.Finalizers() {
		if who := finishers[f]; who != "" && o.Deleting() {
			names = append(names[:len(names):len(names)], who)
		}
	}
	return names
}

// unranged reports whether a node has no range of addresses for its pods.
func unranged(o *Object) bool {
	n, ok := o.Value.(*corev1.Node)
	return ok && n.Spec.PodCIDR == ""
}

// finishers are the controllers that take a finalizer off an object that was asked to go.
var finishers = map[string]string{
	"foregroundDeletion":               "garbage-collector-controller",
	"orphan":                           "garbage-collector-controller",
	"kubernetes.io/pvc-protection":     "persistentvolumeclaim-protection-controller",
	"kubernetes.io/pv-protection":      "persistentvolume-protection-controller",
	"kubernetes.io/vac-protection":     "volumeattributesclass-protection-controller",
	"batch.kubernetes.io/job-tracking": "job-controller",
	balancerFinalizer:                  serviceController,
}

// ControllerNames are the controllers of kube-controller-manager and cloud-controller-manager that
// have shown up or were broken, sorted.
func (s *State) ControllerNames() []string {
	var names []string
	s.lanes.all(func(name string, _ *Lane) bool {
		if strings.HasSuffix(name, "-controller") {
			names = append(names, name)
		}
		return true
	})
	for _, f := range s.Faults() {
		if name, ok := strings.CutPrefix(f.Target, "controller/"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
