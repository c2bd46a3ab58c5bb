package admission

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// newPod is the pod that a request creates; nil if it does something else.
func newPod(a *Attributes) *corev1.Pod {
	if a.Operation != Create || a.Subresource != "" {
		return nil
	}
	p, _ := a.Object.(*corev1.Pod)
	return p
}

const (
	tokenVolumePrefix = "kube-api-access"
	tokenMountPath    = "/var/run/secrets/kubernetes.io/serviceaccount"
	tokenLifetime     = 60*60 + 7 // seconds: an hour, and 7 s by which the default is known
)

// ServiceAccount is the plugin of that name (plugin/pkg/admission/serviceaccount):
// every pod runs as a service account and has its token mounted.
type ServiceAccount struct {
	lister Lister
	names  Names
}

// NewServiceAccount makes the plugin.
func NewServiceAccount(l Lister, n Names) *ServiceAccount { return &ServiceAccount{l, n} }

// Name is [Plugin].
func (*ServiceAccount) Name() string { return "ServiceAccount" }

// Admit is [Mutating].
func (s *ServiceAccount) Admit(r *request.Scope, a *Attributes) (Result, error) {
	p := newPod(a)
	if p == nil {
		return Result{}, nil
	}
	if isMirror(p) {
		return s.Validate(r, a)
	}
	note := ""
	diff := make([]trace.FieldDiff, 0, 8) // room for the plugins after this one
	if p.Spec.ServiceAccountName == "" {
		p.Spec.ServiceAccountName, p.Spec.DeprecatedServiceAccount = "default", "default"
		note = "added the default account"
		diff = append(diff, trace.FieldDiff{Path: "spec.serviceAccountName", To: `"default"`})
	}
	sa, err := s.account(r, a.Namespace, p.Spec.ServiceAccountName)
	if err != nil {
		return Result{}, a.Forbid(fmt.Errorf("error looking up service account %s/%s: %w", a.Namespace, p.Spec.ServiceAccountName, err))
	}
	if automount(sa, p) {
		if d := s.mountToken(p); len(d) > 0 {
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
	if err := s.mayUse(a, sa, p); err != nil {
		return Result{}, err
	}
	return Result{Note: note, Diff: diff}, nil
}

// account looks the account up; the default one is waited for, as a controller is about
// to make it.
func (s *ServiceAccount) account(r *request.Scope, namespace, name string) (*corev1.ServiceAccount, error) {
	if sa, ok := s.lister.Get(client.ServiceAccounts, namespace, name).(*corev1.ServiceAccount); ok {
		return sa, nil
	}
	tries := 1
	if name == "default" {
		tries = 10
	}
	wait := time.Duration(s.names.Rand().IntN(100)+100) * time.Millisecond
	for i := range tries {
		if i > 0 {
			r.Task.Sleep(wait)
		}
		obj, err := s.lister.Live(r.Task, client.ServiceAccounts, namespace, name)
		if err != nil {
			return nil, err
		}
		if obj != nil {
			return obj.(*corev1.ServiceAccount), nil
		}
	}
	gr := client.ServiceAccounts.GroupResource()
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
func (s *ServiceAccount) mountToken(p *corev1.Pod) []trace.FieldDiff {
	name, has := "", false
	for _, v := range p.Spec.Volumes {
		if strings.HasPrefix(v.Name, tokenVolumePrefix+"-") {
			name, has = v.Name, true
			break
		}
	}
	if name == "" {
		name = s.names.Generate(tokenVolumePrefix + "-")
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
