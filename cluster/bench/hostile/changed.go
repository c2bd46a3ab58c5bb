package hostile

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// real are objects as people write them.
var real = []struct{ path, text string }{
	{core + "configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n","labels":{"app":"web"},"annotations":{"note":"x"}},"data":{"a":"1","b":"two"},"binaryData":{"c":"AAEC"},"immutable":false}`},
	{core + "services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"n"},"spec":{"type":"NodePort","selector":{"app":"web"},"ports":[{"name":"http","port":80,"targetPort":"http","protocol":"TCP"},{"name":"x","port":81}],"sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":10}},"externalIPs":["1.2.3.4"]}}`},
	{core + "pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"n","labels":{"a":"w"},"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"o","uid":"u"}]},"spec":{"initContainers":[{"name":"i","image":"busybox","command":["true"]}],"containers":[{"name":"c","image":"nginx:1.27","ports":[{"name":"http","containerPort":80}],"env":[{"name":"A","value":"b"},{"name":"B","value":"$(A)"},{"name":"IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}}],"resources":{"requests":{"cpu":"10m","memory":"1Mi"},"limits":{"memory":"1Gi"}},"livenessProbe":{"httpGet":{"path":"/","port":80},"periodSeconds":5},"volumeMounts":[{"name":"v","mountPath":"/v","subPath":"s"}]}],"volumes":[{"name":"v","emptyDir":{}},{"name":"p","projected":{"sources":[{"configMap":{"name":"big-0"}},{"downwardAPI":{"items":[{"path":"l","fieldRef":{"fieldPath":"metadata.labels"}}]}}]}}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"Exists"}]}]}},"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{"labelSelector":{"matchLabels":{"a":"w"}},"topologyKey":"kubernetes.io/hostname"}}]}},"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"kubernetes.io/hostname","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"a":"w"}}}],"tolerations":[{"operator":"Exists"}],"terminationGracePeriodSeconds":1,"hostAliases":[{"ip":"1.1.1.1","hostnames":["h"]}]}}`},
	{custom + "free", `{"apiVersion":"example.com/v1","kind":"Free","metadata":{"name":"n"},"spec":{"a":[1,2,{"b":"c"}],"d":{"e":1.5}}}`},
	{custom + "ruled", `{"apiVersion":"example.com/v1","kind":"Ruled","metadata":{"name":"n"},"spec":{"items":[1,2,3]}}`},
}

// changed is a real object with some of its values replaced, repeated or taken away.
func changed(d *draw) Request {
	r := real[d.IntN(len(real))]
	var o any
	if err := json.Unmarshal([]byte(r.text), &o); err != nil {
		panic(err)
	}
	times := d.upTo(6)
	for range times {
		o = d.change(o)
	}
	if m, ok := o.(object); ok && d.IntN(10) > 0 {
		if meta, ok := m["metadata"].(object); ok {
			meta["name"] = d.name()
		}
	}
	path := r.path
	if d.IntN(2) == 0 {
		path += "?dryRun=All"
	}
	request := post(path, o, "%d changes", times)
	if d.IntN(4) == 0 {
		request.Method, request.Path, request.Type = http.MethodPatch, r.path+"/"+d.name()+"?fieldManager=m&force=true", applyType
	}
	return request
}

// change replaces one value somewhere below.
func (d *draw) change(v any) any {
	if d.IntN(4) == 0 {
		return d.value(v)
	}
	switch v := v.(type) {
	case object:
		if keys := slices.Sorted(maps.Keys(v)); len(keys) > 0 {
			k := keys[d.IntN(len(keys))]
			switch d.IntN(12) {
			case 0:
				delete(v, k)
			case 1:
				for i := range d.upTo(3000) {
					v[fmt.Sprintf("%s%d", k, i)] = v[k]
				}
			default:
				v[k] = d.change(v[k])
			}
		}
		return v
	case list:
		if len(v) > 0 {
			i := d.IntN(len(v))
			if d.IntN(6) == 0 {
				for range d.upTo(3000) {
					v = append(v, v[i])
				}
				return v
			}
			v[i] = d.change(v[i])
		}
		return v
	}
	return d.value(v)
}

// value is something in the place of a value.
func (d *draw) value(was any) any {
	switch d.IntN(12) {
	case 0:
		return nil
	case 1:
		return nested(d.upTo(3000))
	case 2:
		return strings.Repeat(one(d, "a", "$(A)", "é", "{{", "a.", "-"), d.upTo(200_000))
	case 3:
		return -1
	case 4:
		return 1e300
	case 5:
		return 9223372036854775807
	case 6:
		return fmt.Sprintf("1e%d", d.upTo(1_000_000_000))
	case 7:
		return list{was, was}
	case 8:
		return object{"a": was}
	case 9:
		return true
	case 10:
		return ""
	}
	return one(d, "::1", "..", "0/0", "*", "\x00", "%s%n", "2147483648", "1h99999999999h")
}
