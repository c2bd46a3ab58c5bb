package patch

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// scan reads the JSON of a pod status patch in one pass. What a kubelet does not
// usually write (an unknown field, an escape in a string, a number with a
// fraction) fails it, and encoding/json has its turn.
type scan struct {
	data   []byte
	at     int
	failed bool
}

// scanPodStatusPatch reads a patch into p, if it is such as kubelets write.
func scanPodStatusPatch(patch []byte, p *podStatusPatch) bool {
	s := &scan{data: patch}
	s.object(func(key []byte) {
		switch string(key) {
		case "metadata":
			s.object(func(key []byte) {
				if string(key) != "uid" {
					s.failed = true
					return
				}
				uid := types.UID(s.text())
				p.Metadata.UID = &uid
			})
		case "status":
			s.object(func(key []byte) { s.podStatus(key, p) })
		default:
			s.failed = true
		}
	})
	s.space()
	return !s.failed && s.at == len(s.data)
}

func (s *scan) podStatus(key []byte, p *podStatusPatch) {
	st := &p.Status
	switch string(key) {
	case "phase":
		readField(s, &st.Phase, func() corev1.PodPhase { return corev1.PodPhase(s.usual()) })
	case "reason":
		readField(s, &st.Reason, s.text)
	case "message":
		readField(s, &st.Message, s.text)
	case "hostIP":
		readField(s, &st.HostIP, s.text)
	case "podIP":
		readField(s, &st.PodIP, s.text)
	case "qosClass":
		readField(s, &st.QOSClass, func() corev1.PodQOSClass { return corev1.PodQOSClass(s.usual()) })
	case "observedGeneration":
		readField(s, &st.ObservedGeneration, s.integer)
	case "startTime":
		readField(s, &st.StartTime, func() *metav1.Time { t := s.time(); return &t })
	case "containerStatuses":
		readField(s, &st.ContainerStatuses, s.containers)
	case "initContainerStatuses":
		readField(s, &st.InitContainerStatuses, s.containers)
	case "hostIPs":
		st.HostIPs = readList(s, func() (ip corev1.HostIP) {
			s.only("ip", func() { ip.IP = s.text() })
			return ip
		})
	case "podIPs":
		st.PodIPs = readList(s, func() (ip corev1.PodIP) {
			s.only("ip", func() { ip.IP = s.text() })
			return ip
		})
	case "conditions":
		st.Conditions = readList(s, s.condition)
	default:
		s.failed = true
	}
}

func (s *scan) condition() (c conditionPatch) {
	s.object(func(key []byte) {
		switch string(key) {
		case "type":
			c.Type = corev1.PodConditionType(s.usual())
		case "status":
			readField(s, &c.Status, func() corev1.ConditionStatus { return corev1.ConditionStatus(s.usual()) })
		case "observedGeneration":
			readField(s, &c.ObservedGeneration, s.integer)
		case "lastTransitionTime":
			readField(s, &c.LastTransitionTime, s.time)
		case "reason":
			readField(s, &c.Reason, s.usual)
		case "message":
			readField(s, &c.Message, s.text)
		default:
			s.failed = true
		}
	})
	return c
}

func (s *scan) containers() []corev1.ContainerStatus { return readList(s, s.container) }

func (s *scan) container() (c corev1.ContainerStatus) {
	s.object(func(key []byte) {
		switch string(key) {
		case "name":
			c.Name = s.text()
		case "image":
			c.Image = s.text()
		case "imageID":
			c.ImageID = s.text()
		case "containerID":
			c.ContainerID = s.text()
		case "ready":
			c.Ready = s.boolean()
		case "started":
			started := s.boolean()
			c.Started = &started
		case "restartCount":
			n := s.integer()
			if c.RestartCount = int32(n); int64(c.RestartCount) != n {
				s.failed = true
			}
		case "state":
			s.state(&c.State)
		case "lastState":
			s.state(&c.LastTerminationState)
		case "resources":
			s.rest(&c.Resources)
		case "allocatedResources":
			s.rest(&c.AllocatedResources)
		default:
			s.failed = true
		}
	})
	return c
}

func (s *scan) state(to *corev1.ContainerState) {
	s.object(func(key []byte) {
		switch string(key) {
		case "waiting":
			w := &corev1.ContainerStateWaiting{}
			to.Waiting = w
			s.object(func(key []byte) {
				switch string(key) {
				case "reason":
					w.Reason = s.usual()
				case "message":
					w.Message = s.text()
				default:
					s.failed = true
				}
			})
		case "running":
			r := &corev1.ContainerStateRunning{}
			to.Running = r
			s.only("startedAt", func() {
				if !s.null() {
					r.StartedAt = s.time()
				}
			})
		default: // of terminated containers there are few
			s.failed = true
		}
	})
}

// readField reads a field that may be null.
func readField[T any](s *scan, f *patched[T], value func() T) {
	f.set = true
	if s.null() {
		var zero T
		f.value = zero
		return
	}
	f.value = value()
}

// readList reads an array; null is none.
func readList[T any](s *scan, item func() T) []T {
	if s.null() {
		return nil
	}
	list := []T{}
	for first := true; s.more('[', ']', first); first = false {
		list = append(list, item())
	}
	return list
}

// only reads an object of one field.
func (s *scan) only(name string, value func()) {
	s.object(func(key []byte) {
		if string(key) != name {
			s.failed = true
			return
		}
		value()
	})
}

// object reads an object; field must read the value.
func (s *scan) object(field func(key []byte)) {
	for first := true; s.more('{', '}', first); first = false {
		key := s.string()
		s.take(':')
		if !s.failed {
			field(key)
		}
	}
}

// more goes to the next item of an object or array; false at its end.
func (s *scan) more(open, end byte, first bool) bool {
	if first {
		s.take(open)
	}
	s.space()
	if s.failed || s.at >= len(s.data) {
		s.failed = true
		return false
	}
	switch c := s.data[s.at]; {
	case c == end:
		s.at++
		return false
	case first:
		return true
	case c == ',':
		s.at++
		s.space()
		return true
	}
	s.failed = true
	return false
}

func (s *scan) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

func (s *scan) take(c byte) {
	s.space()
	if s.at >= len(s.data) || s.data[s.at] != c {
		s.failed = true
		return
	}
	s.at++
}

// string is the bytes of a string without escapes.
func (s *scan) string() []byte {
	s.take('"')
	for from := s.at; !s.failed && s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; {
		case c == '"':
			s.at++
			return s.data[from : s.at-1]
		case c == '\\' || c < ' ' || c > '~':
			s.failed = true
		}
	}
	s.failed = true
	return nil
}

func (s *scan) text() string { return string(s.string()) }

// usual is a string that is one of a few in most pods' status, and is made once for all of them.
func (s *scan) usual() string {
	b := s.string()
	if known, ok := usual[string(b)]; ok {
		return known
	}
	return string(b)
}

var usual = func() map[string]string {
	m := map[string]string{}
	for _, s := range []string{
		string(corev1.PodPending), string(corev1.PodRunning), string(corev1.PodSucceeded), string(corev1.PodFailed),
		string(corev1.PodQOSGuaranteed), string(corev1.PodQOSBurstable), string(corev1.PodQOSBestEffort),
		string(corev1.PodScheduled), string(corev1.PodReadyToStartContainers), string(corev1.PodInitialized), string(corev1.ContainersReady), string(corev1.PodReady),
		string(corev1.ConditionTrue), string(corev1.ConditionFalse), string(corev1.ConditionUnknown),
		"ContainersNotReady", "ContainersNotInitialized", "PodCompleted", "ContainerCreating", "PodInitializing",
	} {
		m[s] = s
	}
	return m
}()

func (s *scan) word(w string) bool {
	s.space()
	if end := s.at + len(w); end <= len(s.data) && string(s.data[s.at:end]) == w {
		s.at = end
		return true
	}
	return false
}

func (s *scan) null() bool { return s.word("null") }

func (s *scan) boolean() bool {
	switch {
	case s.word("true"):
		return true
	case s.word("false"):
	default:
		s.failed = true
	}
	return false
}

func (s *scan) integer() (n int64) {
	s.space()
	from := s.at
	for s.at < len(s.data) && s.data[s.at] >= '0' && s.data[s.at] <= '9' && s.at-from < 18 {
		n = n*10 + int64(s.data[s.at]-'0')
		s.at++
	}
	if s.at == from || s.at-from > 1 && s.data[from] == '0' || s.at < len(s.data) && s.data[s.at] != ',' && s.data[s.at] != '}' {
		s.failed = true
	}
	return n
}

// time is a time as metav1.Time reads it.
func (s *scan) time() metav1.Time {
	t, err := time.Parse(time.RFC3339, s.text())
	if err != nil {
		s.failed = true
	}
	return metav1.NewTime(t.Local())
}

// rest reads what is left to encoding/json: an object of any kind.
func (s *scan) rest(to any) {
	s.space()
	from, depth := s.at, 0
	for ; !s.failed && s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case '{':
			depth++
		case '}':
			depth--
		case '"':
			s.string()
			s.at--
		}
		if depth == 0 {
			s.at++
			if json.Unmarshal(s.data[from:s.at], to) != nil {
				s.failed = true
			}
			return
		}
	}
	s.failed = true
}
