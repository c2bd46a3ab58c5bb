package apiserver

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// newPod is the pod a request creates; nil if it does something else.
func newPod(c *call, op operation) *corev1.Pod {
	if op != opCreate || c.req.Subresource != "" {
		return nil
	}
	p, _ := c.obj.(*corev1.Pod)
	return p
}

const (
	tokenVolumePrefix = "kube-api-access"
	tokenMountPath    = "/var/run/secrets/kubernetes.io/serviceaccount"
	tokenLifetime     = 60*60 + 7 // seconds: an hour, and 7 s by which the default is known
)

// admitServiceAccount is the ServiceAccount plugin
// (plugin/pkg/admission/serviceaccount): every pod runs as a service account
// and has its token mounted.
func admitServiceAccount(c *call, op operation) (string, []trace.FieldDiff, error) {
	p := newPod(c, op)
	if p == nil {
		return "", nil, nil
	}
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return "", nil, c.checkMirrorPod(p)
	}
	note := ""
	diff := make([]trace.FieldDiff, 0, 8) // room for the plugins after this one
	if p.Spec.ServiceAccountName == "" {
		p.Spec.ServiceAccountName, p.Spec.DeprecatedServiceAccount = "default", "default"
		note = "added the default account"
		diff = append(diff, trace.FieldDiff{Path: "spec.serviceAccountName", To: `"default"`})
	}
	sa, err := c.serviceAccount(p.Spec.ServiceAccountName)
	if err != nil {
		return "", nil, c.forbid(fmt.Errorf("error looking up service account %s/%s: %w", c.Ref.Namespace, p.Spec.ServiceAccountName, err))
	}
	if automount(sa, p) {
		if d := c.mountToken(p); len(d) > 0 {
			diff = append(diff, d...)
			if note != "" {
				note += " and its token volume"
			} else {
				note = "added the token volume of account " + sa.Name
			}
		}
	}
	if len(p.Spec.ImagePullSecrets) == 0 && len(sa.ImagePullSecrets) > 0 {
		p.Spec.ImagePullSecrets = append([]corev1.LocalObjectReference(nil), sa.ImagePullSecrets...)
		diff = append(diff, trace.FieldDiff{Path: "spec.imagePullSecrets", To: object.JSON(sa.ImagePullSecrets)})
	}
	if note != "" {
		note += "."
	}
	return note, diff, nil
}

// checkMirrorPod refuses what a mirror pod may not refer to.
func (c *call) checkMirrorPod(p *corev1.Pod) error {
	if p.Spec.ServiceAccountName != "" {
		return c.forbid(fmt.Errorf("a mirror pod may not reference service accounts"))
	}
	for _, v := range p.Spec.Volumes {
		if v.Secret != nil {
			return c.forbid(fmt.Errorf("a mirror pod may not reference secrets"))
		}
		if v.Projected == nil {
			continue
		}
		for _, src := range v.Projected.Sources {
			if src.ServiceAccountToken != nil {
				return c.forbid(fmt.Errorf("a mirror pod may not use ServiceAccountToken volume projections"))
			}
		}
	}
	return nil
}

// serviceAccount looks the account up; the default one is waited for, as a
// controller is about to make it.
func (c *call) serviceAccount(name string) (*corev1.ServiceAccount, error) {
	k := registry.KindFor(client.ServiceAccounts.GroupVersionResource)
	key := c.Ref.Namespace + "/" + name
	if en := c.s.caches[k].Get(key); en != nil {
		return en.Object.(*corev1.ServiceAccount), nil
	}
	tries := 1
	if name == "default" {
		tries = 10
	}
	wait := time.Duration(c.s.rand.IntN(100)+100) * time.Millisecond
	for i := range tries {
		if i > 0 {
			c.Task.Sleep(wait)
		}
		en, err := c.s.read(c.Task, k, key)
		if err != nil {
			return nil, c.storeError(err)
		}
		if en != nil {
			return en.Object.(*corev1.ServiceAccount), nil
		}
	}
	gr := k.GroupResource()
	gr.Resource = "serviceaccount" // upstream's own slip, which users know
	return nil, apierrors.NewNotFound(gr, name)
}

func automount(sa *corev1.ServiceAccount, p *corev1.Pod) bool {
	if p.Spec.AutomountServiceAccountToken != nil {
		return *p.Spec.AutomountServiceAccountToken
	}
	return sa.AutomountServiceAccountToken == nil || *sa.AutomountServiceAccountToken
}

// mountToken adds the projected volume of the account's token to every
// container that has nothing there.
func (c *call) mountToken(p *corev1.Pod) []trace.FieldDiff {
	name, has := "", false
	for _, v := range p.Spec.Volumes {
		if strings.HasPrefix(v.Name, tokenVolumePrefix+"-") {
			name, has = v.Name, true
			break
		}
	}
	if name == "" {
		name = c.s.generateName(tokenVolumePrefix + "-")
	}
	var diff []trace.FieldDiff
	mount := func(field string, list []corev1.Container) {
		for i := range list {
			if mounted(list[i].VolumeMounts, tokenMountPath) {
				continue
			}
			list[i].VolumeMounts = append(list[i].VolumeMounts[:len(list[i].VolumeMounts):len(list[i].VolumeMounts)],
				corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: tokenMountPath})
			diff = append(diff, trace.FieldDiff{
				Path: "spec." + field + "[" + strconv.Itoa(i) + "].volumeMounts[" + strconv.Itoa(len(list[i].VolumeMounts)-1) + "]",
				To:   `{"name":"` + name + `","readOnly":true,"mountPath":"` + tokenMountPath + `"}`,
			})
		}
	}
	mount("initContainers", p.Spec.InitContainers)
	mount("containers", p.Spec.Containers)
	if !has && len(diff) > 0 {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: tokenVolume()}})
		diff = append(diff, trace.FieldDiff{
			Path: "spec.volumes[" + strconv.Itoa(len(p.Spec.Volumes)-1) + "]",
			To:   `{"name":"` + name + `","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt"}},{"downwardAPI":{"items":[{"path":"namespace"}]}}]}}`,
		})
	}
	return diff
}

func mounted(mounts []corev1.VolumeMount, path string) bool {
	for _, m := range mounts {
		if m.MountPath == path {
			return true
		}
	}
	return false
}

// tokenVolume is serviceaccount.TokenVolumeSource.
func tokenVolume() *corev1.ProjectedVolumeSource {
	mode, lifetime := int32(corev1.ProjectedVolumeSourceDefaultMode), int64(tokenLifetime)
	return &corev1.ProjectedVolumeSource{
		DefaultMode: &mode,
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &lifetime}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}},
			}}},
		},
	}
}

// admitTolerations is the DefaultTolerationSeconds plugin
// (plugin/pkg/admission/defaulttolerationseconds): a pod stays on a node that
// fails for 300 s.
func admitTolerations(c *call, op operation) (string, []trace.FieldDiff, error) {
	if op == opDelete || c.req.Subresource != "" {
		return "", nil, nil
	}
	p, ok := c.obj.(*corev1.Pod)
	if !ok {
		return "", nil, nil
	}
	var diff []trace.FieldDiff
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if tolerates(p.Spec.Tolerations, key) {
			continue
		}
		seconds := int64(300)
		p.Spec.Tolerations = append(p.Spec.Tolerations[:len(p.Spec.Tolerations):len(p.Spec.Tolerations)],
			corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds})
		diff = append(diff, trace.FieldDiff{
			Path: "spec.tolerations[" + strconv.Itoa(len(p.Spec.Tolerations)-1) + "]",
			To:   `{"key":"` + key + `","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}`,
		})
	}
	if len(diff) == 0 {
		return "", nil, nil
	}
	return "the pod tolerates a node that is not ready or unreachable for 300 s.", diff, nil
}

func tolerates(list []corev1.Toleration, key string) bool {
	for _, t := range list {
		if (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}

// admitPriority is the Priority plugin (plugin/pkg/admission/priority): it
// turns the name of a PriorityClass into a number.
func admitPriority(c *call, op operation) (string, []trace.FieldDiff, error) {
	if op == opUpdate && c.req.Subresource == "" {
		if p, ok := c.obj.(*corev1.Pod); ok {
			old := c.old.(*corev1.Pod)
			if p.Spec.Priority == nil {
				p.Spec.Priority = old.Spec.Priority
			}
			if p.Spec.PreemptionPolicy == nil {
				p.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
			}
		}
		return "", nil, nil
	}
	p := newPod(c, op)
	if p == nil {
		return "", nil, nil
	}
	class, err := c.priorityClass(p.Spec.PriorityClassName)
	if err != nil {
		return "", nil, err
	}
	value, policy := int32(0), corev1.PreemptLowerPriority
	if class != nil {
		value = class.Value
		if class.PreemptionPolicy != nil {
			policy = *class.PreemptionPolicy
		}
		p.Spec.PriorityClassName = class.Name
	}
	if p.Spec.Priority != nil && *p.Spec.Priority != value {
		return "", nil, c.forbid(fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *p.Spec.Priority, value))
	}
	if p.Spec.PreemptionPolicy != nil && *p.Spec.PreemptionPolicy != policy {
		return "", nil, c.forbid(fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *p.Spec.PreemptionPolicy, policy))
	}
	p.Spec.Priority, p.Spec.PreemptionPolicy = &value, &policy
	number := strconv.Itoa(int(value))
	return "the priority is " + number + ".", []trace.FieldDiff{{Path: "spec.priority", To: number}, {Path: "spec.preemptionPolicy", To: quoted(string(policy))}}, nil
}

// priorityClass finds a class by name; "" means the global default, if any.
func (c *call) priorityClass(name string) (*schedulingv1.PriorityClass, error) {
	k := registry.KindFor(client.PriorityClasses.GroupVersionResource)
	if name == "" {
		var best *schedulingv1.PriorityClass
		c.s.caches[k].Scan("", func(_ string, en *cacher.Entry) bool {
			if pc := en.Object.(*schedulingv1.PriorityClass); pc.GlobalDefault && (best == nil || pc.Value < best.Value) {
				best = pc
			}
			return true
		})
		return best, nil
	}
	if en := c.s.caches[k].Get(name); en != nil {
		return en.Object.(*schedulingv1.PriorityClass), nil
	}
	return nil, c.forbid(fmt.Errorf("no PriorityClass with name %v was found", name))
}

// checkPriorityClass allows one global default (priority admission
// validatePriorityClass).
func checkPriorityClass(c *call, op operation) (string, []trace.FieldDiff, error) {
	pc, ok := c.obj.(*schedulingv1.PriorityClass)
	if !ok || op == opDelete || !pc.GlobalDefault {
		return "", nil, nil
	}
	k := registry.KindFor(client.PriorityClasses.GroupVersionResource)
	var other string
	c.s.caches[k].Scan("", func(name string, en *cacher.Entry) bool {
		if en.Object.(*schedulingv1.PriorityClass).GlobalDefault && name != pc.Name {
			other = name
		}
		return true
	})
	if other != "" {
		return "", nil, c.forbid(fmt.Errorf("PriorityClass %v is already marked as default. Only one default can exist", other))
	}
	return "", nil, nil
}
