package proof

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Two things of a recorder's are chance, and with them whether an Event comes at all.

// burst is how many Events of a type a source sends about an object before it is held to one every five minutes
// (client-go's tools/record, defaultSpamBurst). Which are left out then depends on how many came of tries that failed.
const burst = 25

// unsettled tells that a StatefulSet's controller could not write the owners of a pod's claims.
var unsettled = regexp.MustCompile(`^(\(combined from similar events\): )?Update Pod (\S+) in StatefulSet \S+ failed`)

// series are Events of one source about one object.
type series struct{ about, by string }

// of is the series of some Events about an object, by the beginnings of their reasons and of their messages.
func of(kind, name, reason, component, message string) series {
	return series{fmt.Sprintf("Event %s %s: %s", kind, name, reason), fmt.Sprintf(" by %s: %s", component, message)}
}

func (s series) has(line string) bool {
	return strings.HasPrefix(line, s.about) && strings.Contains(line, s.by)
}

// created is the Event of a StatefulSet's pod that was made. It is not recorded where the new pod's claims are in the
// controller's cache already, so that it gives them their owner (persistentVolumeClaimRetentionPolicy), and somebody has
// written them since: CreateStatefulPod ends with FailedUpdate then, although the pod is there, and the next look finds
// it. Where the claims are not in the cache yet, their owner is left to that next look, and the pod was "successful".
func created(set, pod string) series {
	return of("StatefulSet", set, "Normal SuccessfulCreate", "statefulset-controller", "Create Pod "+pod)
}

// note takes note of an Event as it is seen, since a later one may take its place.
func (r *room) note(e *unstructured.Unstructured) {
	if m := unsettled.FindStringSubmatch(at(e, "message")); m != nil && at(e, "source", "component") == "statefulset-controller" {
		r.open[created(at(e, "involvedObject", "name"), m[2]+" in ")] = true
	}
}

// open are the series that are not compared: of what the recorder may have left out, and of what may not have been recorded.
func (s *side) open(ns string) (all []series) {
	s.mu.Lock()
	defer s.mu.Unlock()
	type source struct{ component, kind, name, uid, level string }
	sent := map[source]int64{}
	for _, e := range s.all("events", ns) {
		n, _, _ := unstructured.NestedInt64(e.Object, "count")
		sent[source{at(e, "source", "component"), at(e, "involvedObject", "kind"), s.told(at(e, "involvedObject", "name")), at(e, "involvedObject", "uid"), at(e, "type")}] += max(n, 1)
	}
	for from, n := range sent {
		if n < burst {
			continue
		}
		all = append(all, of(from.kind, from.name, from.level+" ", from.component, ""))
		if from.component == "statefulset-controller" { // one that says that claims could not be written may be missing
			all = append(all, created(from.name, ""))
		}
	}
	for one := range s.rooms[ns].open {
		all = append(all, one)
	}
	return all
}
