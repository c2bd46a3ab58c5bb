package inert_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/inert"
)

// acted says who acts on the fields that the table does not have: the folder whose code
// reads them, then the fields, a type a line.
const acted = `
apiserver
	Capabilities: add drop
	Container: resizePolicy
	ContainerResizePolicy: resourceName
	ObjectFieldSelector: apiVersion
	PodAffinityTerm: matchLabelKeys mismatchLabelKeys
	PodSecurityContext: seLinuxOptions windowsOptions seccompProfile appArmorProfile
	PodSpec: serviceAccount automountServiceAccountToken priorityClassName runtimeClassName
	SELinuxOptions: user role type level
	SecurityContext: capabilities privileged seLinuxOptions windowsOptions allowPrivilegeEscalation procMount seccompProfile appArmorProfile
	SeccompProfile: type localhostProfile
	AppArmorProfile: type localhostProfile
	WindowsSecurityContextOptions: gmsaCredentialSpecName gmsaCredentialSpec runAsUserName hostProcess
	ServiceSpec: clusterIPs allocateLoadBalancerNodePorts
	PodDisruptionBudgetSpec: unhealthyPodEvictionPolicy
	JobSpec: manualSelector
cloud
	ServiceSpec: loadBalancerIP
controller/servicelb
	ServiceSpec: type loadBalancerClass
controller/deployment
	Deployment: spec
	DeploymentSpec: replicas selector template strategy minReadySeconds revisionHistoryLimit paused progressDeadlineSeconds
	DeploymentStrategy: type rollingUpdate
	RollingUpdateDeployment: maxUnavailable maxSurge
controller/cronjob
	CronJob: spec
	CronJobSpec: schedule timeZone startingDeadlineSeconds concurrencyPolicy suspend jobTemplate successfulJobsHistoryLimit failedJobsHistoryLimit
	JobTemplateSpec: spec
controller/disruption
	PodDisruptionBudget: spec
	PodDisruptionBudgetSpec: minAvailable selector maxUnavailable
controller/ephemeral
	EphemeralVolumeSource: volumeClaimTemplate
	PersistentVolumeClaimTemplate: spec
	VolumeSource: ephemeral
controller/persistentvolume
	PersistentVolumeClaim: spec
	PersistentVolumeClaimSpec: accessModes selector resources volumeName storageClassName volumeMode volumeAttributesClassName
	VolumeResourceRequirements: requests
controller/job
	Job: spec
	JobSpec: parallelism completions activeDeadlineSeconds podFailurePolicy successPolicy backoffLimit backoffLimitPerIndex maxFailedIndexes selector template completionMode suspend podReplacementPolicy managedBy
	PodFailurePolicy: rules
	PodFailurePolicyRule: action onExitCodes onPodConditions
	PodFailurePolicyOnExitCodesRequirement: containerName operator values
	PodFailurePolicyOnPodConditionsPattern: type
	SuccessPolicy: rules
	SuccessPolicyRule: succeededIndexes succeededCount
controller/ttlafterfinished
	JobSpec: ttlSecondsAfterFinished
controller/pods
	PodTemplateSpec: spec
controller/replicaset
	ReplicaSet: spec
	ReplicaSetSpec: replicas minReadySeconds selector template
	ReplicationController: spec
	ReplicationControllerSpec: replicas minReadySeconds selector template
controller/daemonset
	DaemonSet: spec
	DaemonSetSpec: selector template updateStrategy minReadySeconds revisionHistoryLimit
	DaemonSetUpdateStrategy: type rollingUpdate
	RollingUpdateDaemonSet: maxUnavailable maxSurge
controller/statefulset
	RollingUpdateStatefulSetStrategy: partition maxUnavailable
	StatefulSet: spec
	StatefulSetOrdinals: start
	StatefulSetPersistentVolumeClaimRetentionPolicy: whenDeleted whenScaled
	StatefulSetSpec: replicas selector template volumeClaimTemplates serviceName podManagementPolicy updateStrategy revisionHistoryLimit minReadySeconds persistentVolumeClaimRetentionPolicy ordinals
	StatefulSetUpdateStrategy: type rollingUpdate
controller/endpointslice
	Service: spec
	ServicePort: appProtocol
	ServiceSpec: ports selector publishNotReadyAddresses ipFamilies
controller/services
	ContainerPort: name protocol
	PodSpec: hostname subdomain
	ServicePort: targetPort
controller/tainteviction
	Toleration: tolerationSeconds
kubelet
	ClusterTrustBundleProjection: name signerName labelSelector optional path
	ConfigMapEnvSource: optional
	ConfigMapKeySelector: key optional
	ConfigMapProjection: items optional
	ConfigMapVolumeSource: items optional
	Container: stdin stdinOnce tty name image command args ports envFrom env resources restartPolicy restartPolicyRules volumeMounts livenessProbe readinessProbe startupProbe lifecycle terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext
	ContainerPort: containerPort
	ContainerRestartRule: exitCodes
	ContainerRestartRuleOnExitCodes: operator values
	DownwardAPIProjection: items
	DownwardAPIVolumeFile: path fieldRef
	DownwardAPIVolumeSource: items
	EnvFromSource: prefix configMapRef secretRef
	EnvVar: name value valueFrom
	EnvVarSource: fieldRef resourceFieldRef configMapKeyRef secretKeyRef
	ExecAction: command
	GRPCAction: port
	HTTPGetAction: path port host scheme
	HostPathVolumeSource: path type
	KeyToPath: key path
	Lifecycle: postStart preStop
	LifecycleHandler: exec httpGet sleep
	LocalObjectReference: name
	ObjectFieldSelector: fieldPath
	Pod: spec
	PersistentVolumeClaimVolumeSource: claimName readOnly
	PodCertificateProjection: signerName keyType maxExpirationSeconds credentialBundlePath keyPath certificateChainPath userAnnotations
	PodReadinessGate: conditionType
	PodSecurityContext: runAsNonRoot
	PodSpec: volumes initContainers containers restartPolicy terminationGracePeriodSeconds serviceAccountName hostNetwork securityContext readinessGates overhead
	Probe: initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold terminationGracePeriodSeconds
	ProbeHandler: exec httpGet tcpSocket grpc
	ProjectedVolumeSource: sources
	ResourceFieldSelector: resource
	ResourceRequirements: limits requests
	SecretEnvSource: optional
	SecretKeySelector: key optional
	SecretProjection: items optional
	SecretVolumeSource: secretName items optional
	SecurityContext: runAsNonRoot
	ServiceAccountTokenProjection: audience expirationSeconds path
	SleepAction: seconds
	TCPSocketAction: port host
	Volume: name
	VolumeMount: name mountPath subPath readOnly
	VolumeProjection: secret downwardAPI configMap serviceAccountToken clusterTrustBundle podCertificate
	VolumeSource: secret downwardAPI configMap projected emptyDir hostPath persistentVolumeClaim
proxy
	ClientIPConfig: timeoutSeconds
	ServicePort: name protocol port nodePort
	ServiceSpec: clusterIP externalIPs sessionAffinity loadBalancerSourceRanges externalTrafficPolicy healthCheckNodePort sessionAffinityConfig internalTrafficPolicy
	SessionAffinityConfig: clientIP
scheduler
	PodSpec: nodeName priority schedulerName schedulingGates
scheduler/framework
	Affinity: podAffinity podAntiAffinity
	ContainerPort: hostIP
	PodAffinity: requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution
	PodAffinityTerm: labelSelector namespaces topologyKey namespaceSelector
	PodAntiAffinity: requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution
	PodSpec: resources tolerations
	WeightedPodAffinityTerm: weight podAffinityTerm
scheduler/plugins/defaultpreemption
	PodSpec: preemptionPolicy
scheduler/plugins/nodeaffinity
	Affinity: nodeAffinity
	NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution
	NodeSelector: nodeSelectorTerms
	NodeSelectorRequirement: key operator values
	NodeSelectorTerm: matchExpressions matchFields
	PodSpec: nodeSelector affinity
	PreferredSchedulingTerm: weight preference
scheduler/plugins/podtopologyspread
	PodSpec: topologySpreadConstraints
	TopologySpreadConstraint: maxSkew topologyKey whenUnsatisfiable labelSelector minDomains nodeAffinityPolicy nodeTaintsPolicy matchLabelKeys
scheduler/plugins/schedulinggates
	PodSchedulingGate: name
scheduler/plugins/tainttoleration
	Toleration: key operator value effect
`

// byLibrary are fields that our code hands to one of Kubernetes' own functions as a part
// of what contains them: Pod Security, defaulting and conversion, node affinity,
// tolerations, priorities. So the folder's own code does not read them.
var byLibrary = []string{
	"Capabilities.", "SELinuxOptions.", "SeccompProfile.", "AppArmorProfile.", "WindowsSecurityContextOptions.", "ObjectFieldSelector.apiVersion",
	"SecurityContext.capabilities", "SecurityContext.privileged", "SecurityContext.seLinuxOptions", "SecurityContext.windowsOptions", "SecurityContext.allowPrivilegeEscalation",
	"SecurityContext.procMount", "SecurityContext.seccompProfile", "SecurityContext.appArmorProfile", "PodSecurityContext.seLinuxOptions", "PodSecurityContext.windowsOptions",
	"PodSecurityContext.seccompProfile", "PodSecurityContext.appArmorProfile", "Container.resizePolicy", "ContainerResizePolicy.resourceName", "PodSpec.serviceAccount", "PodSpec.priority",
	"NodeSelectorTerm.", "NodeSelectorRequirement.", "PreferredSchedulingTerm.", "NodeSelector.", "PodSchedulingGate.", "Toleration.", "DaemonSetUpdateStrategy.rollingUpdate", "RollingUpdateDaemonSet.",
	"PersistentVolumeClaimSpec.storageClassName",
}

// workloads are the types whose fields are looked at: of kinds that are acted on.
var workloads = []runtime.Object{
	&corev1.Pod{}, &appsv1.Deployment{}, &appsv1.ReplicaSet{}, &corev1.ReplicationController{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{},
	&corev1.Service{}, &corev1.PersistentVolumeClaim{}, &policyv1.PodDisruptionBudget{}, &batchv1.Job{}, &batchv1.CronJob{},
}

// reached walks the types' fields, down to those that stop says no to.
func reached(visit func(field string, f reflect.StructField) (deeper bool)) {
	seen := map[reflect.Type]bool{}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || seen[t] || !strings.HasPrefix(t.PkgPath(), "k8s.io/api/") {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			f := t.Field(i)
			name := inert.FieldOf(t, f)
			if inert.Ours(f) || !strings.HasSuffix(name, ".") && !visit(name, f) {
				continue
			}
			walk(f.Type)
		}
	}
	for _, o := range workloads {
		walk(reflect.TypeOf(o))
	}
}

// Every field of the workload types is either in the table, or a component's code reads
// it.
func TestEveryFieldIsActedOnOrListed(t *testing.T) {
	by := map[string]string{}
	folder := ""
	for line := range strings.Lines(acted) {
		line = strings.TrimRight(line, "\n")
		if kind, names, ok := strings.Cut(strings.TrimPrefix(line, "\t"), ":"); ok {
			for _, name := range strings.Fields(names) {
				by[kind+"."+name] = folder
			}
		} else if line != "" {
			folder = line
		}
	}
	rows := map[string]bool{}
	for _, r := range inert.Fields {
		if _, twice := rows[r.What]; twice {
			t.Errorf("%s is in the table twice", r.What)
		}
		rows[r.What] = false
	}
	var folders []string
	for _, folder := range by {
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	read := reads(t, folders)
	reached(func(field string, f reflect.StructField) bool {
		folder, ok := by[field]
		if _, listed := rows[field]; listed {
			rows[field] = true
			if ok {
				t.Errorf("%s is in the table, and %s is said to act on it", field, folder)
			}
			return false
		}
		if !ok {
			t.Errorf("%s: does anything act on it? It is neither in the table nor among what is acted on", field)
			return true
		}
		delete(by, field)
		if slices.ContainsFunc(byLibrary, func(p string) bool { return strings.HasPrefix(field, p) }) {
			return true
		}
		of, _, _ := strings.Cut(field, ".")
		if !read[folder][of+"."+f.Name] {
			t.Errorf("%s: nothing in %s reads it", field, folder)
		}
		return true
	})
	for what, found := range rows {
		if !found {
			t.Errorf("no workload has the field %s", what)
		}
	}
	for what, folder := range by {
		t.Errorf("%s acts on %s, which no workload has", folder, what)
	}
}

func TestSentences(t *testing.T) {
	yes, user := true, int64(7)
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "a"},
			Spec:       corev1.PodSpec{DNSPolicy: corev1.DNSClusterFirst, EnableServiceLinks: &yes, Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}},
		}
		change(p)
		return p
	}
	plain := pod(func(*corev1.Pod) {})
	busy := pod(func(p *corev1.Pod) {
		p.Spec.HostAliases = []corev1.HostAlias{{IP: "1.2.3.4"}}
		p.Spec.Containers[1].WorkingDir = "/srv"
		p.Spec.Containers[1].SecurityContext = &corev1.SecurityContext{RunAsUser: &user}
	})
	deployment := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: busy.Spec}}}
	core := func(kind string) schema.GroupKind { return schema.GroupKind{Kind: kind} }
	const yet = "nothing in this cluster acts on it yet: "
	for _, c := range []struct {
		name     string
		gk       schema.GroupKind
		sub      string
		obj, old runtime.Object
		want     []string
	}{
		{"defaults", core("Pod"), "", plain, nil, nil},
		{"fields", core("Pod"), "", busy, nil, []string{
			"spec.containers[1].workingDir: " + yet + "commands run in /",
			"spec.containers[1].securityContext.runAsUser: " + yet + "it counts for runAsNonRoot only; processes run as the image's user",
			"spec.hostAliases: " + yet + "/etc/hosts has no such lines",
		}},
		{"a template", schema.GroupKind{Group: "apps", Kind: "Deployment"}, "", deployment, nil, []string{
			"spec.template.spec.containers[1].workingDir: " + yet + "commands run in /",
			"spec.template.spec.containers[1].securityContext.runAsUser: " + yet + "it counts for runAsNonRoot only; processes run as the image's user",
			"spec.template.spec.hostAliases: " + yet + "/etc/hosts has no such lines",
		}},
		{"as before", core("Pod"), "", busy, busy, nil},
		{"a field more", core("Pod"), "", busy, pod(func(p *corev1.Pod) { p.Spec.HostAliases = busy.Spec.HostAliases; p.Spec.Containers[0].WorkingDir = "/" }), []string{
			"spec.containers[1].securityContext.runAsUser: " + yet + "it counts for runAsNonRoot only; processes run as the image's user",
		}},
		{"a kind", schema.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"}, "", &networkingv1.Ingress{}, nil, []string{"nothing in this cluster acts on Ingresses yet: no ingress controller runs, so nothing listens for it"}},
		{"a subresource", core("Pod"), "pods/resize", plain, plain, []string{"nothing in this cluster acts on pods/resize yet: the kubelet leaves running containers as they are"}},
	} {
		if got := inert.Written(c.gk, c.sub, c.obj, c.old); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// A warning goes into a header and is one sentence.
func TestRowsAreOneLine(t *testing.T) {
	for _, table := range [][]inert.Row{inert.Kinds, inert.Subresources, inert.Fields} {
		for _, r := range table {
			if r.So == "" || len(r.So) > 120 || strings.ContainsAny(r.So, "\n\"") || strings.HasSuffix(r.So, ".") {
				t.Errorf("%s: %q", r.What, r.So)
			}
		}
	}
}
