package kubelet

import (
	"encoding/json"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusPatch is the strategic merge patch from old to new, nil when they are
// equal. It holds the changed fields only, and of the conditions the changed
// ones (status_manager.go PatchPodStatus), fields in the order of their names.
func statusPatch(uid string, old, new *corev1.PodStatus) []byte {
	p := &patchWriter{uid: uid}
	p.conditions(old.Conditions, new.Conditions)
	if !sameContainers(old.ContainerStatuses, new.ContainerStatuses) {
		p.json("containerStatuses", new.ContainerStatuses)
	}
	p.text("hostIP", old.HostIP, new.HostIP)
	p.hostIPs(old.HostIPs, new.HostIPs)
	if !sameContainers(old.InitContainerStatuses, new.InitContainerStatuses) {
		p.json("initContainerStatuses", new.InitContainerStatuses)
	}
	p.text("message", old.Message, new.Message)
	if old.ObservedGeneration != new.ObservedGeneration {
		p.field("observedGeneration")
		if new.ObservedGeneration == 0 {
			p.out = append(p.out, "null"...)
		} else {
			p.out = strconv.AppendInt(p.out, new.ObservedGeneration, 10)
		}
	}
	p.text("phase", string(old.Phase), string(new.Phase))
	p.text("podIP", old.PodIP, new.PodIP)
	p.podIPs(old.PodIPs, new.PodIPs)
	p.text("qosClass", string(old.QOSClass), string(new.QOSClass))
	p.text("reason", old.Reason, new.Reason)
	if !old.StartTime.Equal(new.StartTime) {
		p.field("startTime")
		p.time(new.StartTime)
	}
	if p.out == nil {
		return nil
	}
	return append(p.out, "}}"...)
}

// patchWriter writes the patch as encoding/json would write maps of the same.
type patchWriter struct {
	uid string
	out []byte // nil until there is a change
}

// field begins a field of the status.
func (p *patchWriter) field(name string) {
	if p.out == nil {
		p.out = make([]byte, 0, 768)
		p.out = append(p.out, `{"metadata":{"uid":`...)
		p.string(p.uid)
		p.out = append(p.out, `},"status":{`...)
	} else {
		p.out = append(p.out, ',')
	}
	p.out = append(p.out, '"')
	p.out = append(p.out, name...)
	p.out = append(p.out, '"', ':')
}

// text is a field that is cleared with null.
func (p *patchWriter) text(name, old, new string) {
	if old == new {
		return
	}
	p.field(name)
	if new == "" {
		p.out = append(p.out, "null"...)
		return
	}
	p.string(new)
}

func (p *patchWriter) json(name string, v any) {
	p.field(name)
	p.value(v)
}

func (p *patchWriter) value(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic("kubelet: a pod status does not marshal: " + err.Error())
	}
	p.out = append(p.out, b...)
}

func (p *patchWriter) string(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			p.value(s)
			return
		}
	}
	p.out = append(p.out, '"')
	p.out = append(p.out, s...)
	p.out = append(p.out, '"')
}

func (p *patchWriter) time(t *metav1.Time) {
	if t.IsZero() {
		p.out = append(p.out, "null"...)
		return
	}
	p.out = append(p.out, '"')
	p.out = t.UTC().AppendFormat(p.out, time.RFC3339)
	p.out = append(p.out, '"')
}

// hostIPs and podIPs merge by ip. Of the pod's, what is no longer there has
// to be deleted by name.
func (p *patchWriter) hostIPs(old, new []corev1.HostIP) {
	if sameList(old, new) {
		return
	}
	p.json("hostIPs", new)
}

func (p *patchWriter) podIPs(old, new []corev1.PodIP) {
	if sameList(old, new) {
		return
	}
	p.field("podIPs")
	p.out = append(p.out, '[')
	n := 0
	address := func(directive, ip string) {
		if n++; n > 1 {
			p.out = append(p.out, ',')
		}
		p.out = append(p.out, '{')
		p.out = append(p.out, directive...)
		p.out = append(p.out, `"ip":`...)
		p.string(ip)
		p.out = append(p.out, '}')
	}
	for _, ip := range new {
		address("", ip.IP)
	}
	for _, o := range old {
		kept := false
		for _, ip := range new {
			kept = kept || ip.IP == o.IP
		}
		if !kept {
			address(`"$patch":"delete",`, o.IP)
		}
	}
	p.out = append(p.out, ']')
}

// conditions are the kubelet's conditions that differ, cleared fields written
// out as null.
func (p *patchWriter) conditions(old, new []corev1.PodCondition) {
	written := 0
	for i := range new {
		n, o := &new[i], (*corev1.PodCondition)(nil)
		if !isOwned(n.Type) {
			continue
		}
		for j := range old {
			if old[j].Type == n.Type {
				o = &old[j]
			}
		}
		if o != nil && n.Type == corev1.PodScheduled && o.Status == n.Status {
			continue // the scheduler's
		}
		if o != nil && o.Status == n.Status && o.Reason == n.Reason && o.Message == n.Message && o.ObservedGeneration == n.ObservedGeneration {
			continue
		}
		if written++; written == 1 {
			p.field("conditions")
			p.out = append(p.out, '[')
		} else {
			p.out = append(p.out, ',')
		}
		p.condition(o, n)
	}
	if written > 0 {
		p.out = append(p.out, ']')
	}
}

func (p *patchWriter) condition(o, n *corev1.PodCondition) {
	p.out = append(p.out, `{"lastTransitionTime":`...)
	p.time(&n.LastTransitionTime)
	p.setOrClear(`,"message":`, n.Message, o != nil && o.Message != "")
	p.out = append(p.out, `,"observedGeneration":`...)
	p.out = strconv.AppendInt(p.out, n.ObservedGeneration, 10)
	p.setOrClear(`,"reason":`, n.Reason, o != nil && o.Reason != "")
	p.out = append(p.out, `,"status":`...)
	p.string(string(n.Status))
	p.out = append(p.out, `,"type":`...)
	p.string(string(n.Type))
	p.out = append(p.out, '}')
}

func (p *patchWriter) setOrClear(field, value string, was bool) {
	switch {
	case value != "":
		p.out = append(p.out, field...)
		p.string(value)
	case was:
		p.out = append(p.out, field...)
		p.out = append(p.out, "null"...)
	}
}
