package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kube-aggregator/pkg/registry/apiservice"
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	upstreamjob "k8s.io/kubernetes/pkg/registry/batch/job"
	upstreamcertificates "k8s.io/kubernetes/pkg/registry/certificates/certificates"
	"k8s.io/kubernetes/pkg/registry/certificates/clustertrustbundle"
	"k8s.io/kubernetes/pkg/registry/certificates/podcertificaterequest"
	"k8s.io/kubernetes/pkg/registry/core/endpoint"
	"k8s.io/kubernetes/pkg/registry/core/event"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/ipaddress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/networking/servicecidr"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/resource/devicetaintrule"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"
	"k8s.io/kubernetes/pkg/registry/storagemigration/storagemigration"
	"k8s.io/utils/clock"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// everybody may do everything.
type everybody struct{}

func (everybody) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

// upstreamStrategy is what Kubernetes has for a kind.
type upstreamStrategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

// apiServiceUpstream are the two halves of that kind's strategy.
type apiServiceUpstream struct {
	rest.CreateUpdateResetFieldsStrategy
}

// kindCase is one kind: testdata/kinds/<resource>.yaml is a good object of it,
// and these are merge patches to that.
type kindCase struct {
	r         client.Resource
	upstream  upstreamStrategy
	invalid   string // makes its creation be refused
	change    string // an update that is let through
	forbidden string // an update that is not
	sub       rest.RESTUpdateStrategy
	subName   string // "" is status
	status    string // an update of the subresource, which also says what it may not

	name string // of the object, once it is created
}

var kindCases = []kindCase{
	{
		r: client.APIServices, upstream: apiServiceUpstream{apiservice.NewStrategy(registry.Scheme)}, sub: apiservice.NewStatusStrategy(registry.Scheme),
		invalid: `{"spec":{"versionPriority":0}}`, change: `{"spec":{"groupPriorityMinimum":200}}`, forbidden: `{"spec":{"caBundle":"YQ=="}}`,
		status: `{"status":{"conditions":[{"type":"Available","status":"Unknown","lastTransitionTime":null}]},"spec":{"group":"other"}}`,
	},
	{
		r: client.ClusterTrustBundles, upstream: clustertrustbundle.Strategy,
		invalid: `{"spec":{"trustBundle":"nothing"}}`, change: `{"metadata":{"labels":{"a":"c"}}}`, forbidden: `{"spec":{"signerName":"example.com/other"}}`,
	},
	{
		r: client.PodCertificateRequests, upstream: podcertificaterequest.NewStrategy(), sub: podcertificaterequest.NewStatusStrategy(podcertificaterequest.NewStrategy(), everybody{}, clock.RealClock{}),
		invalid: `{"spec":{"maxExpirationSeconds":5}}`, change: `{"metadata":{"labels":{"a":"b"}}}`, forbidden: `{"spec":{"podName":"other"}}`,
		status: `{"status":{"conditions":[{"type":"Denied","status":"True","reason":"No","message":"no","lastTransitionTime":"2026-01-01T00:00:00Z"}]},"spec":{"podName":"other"}}`,
	},
	{
		r: client.DeviceClasses, upstream: deviceclass.Strategy,
		invalid: `{"spec":{"selectors":[{"cel":{"expression":"device."}}]}}`, change: `{"spec":{"selectors":null}}`, forbidden: `{"spec":{"selectors":[{}]}}`,
	},
	{
		r: client.DeviceTaintRules, upstream: devicetaintrule.Strategy, sub: devicetaintrule.StatusStrategy,
		invalid: `{"spec":{"taint":{"key":"*"}}}`, change: `{"spec":{"deviceSelector":{"pool":"node-2"}}}`, forbidden: `{"spec":{"taint":{"effect":"Sometimes"}}}`,
		status: `{"status":{"conditions":[{"type":"EvictionInProgress","status":"False","reason":"No","message":"no","lastTransitionTime":"2026-01-01T00:00:00Z"}]},"spec":{"deviceSelector":null}}`,
	},
	{
		r: client.ResourceClaims, upstream: resourceclaim.NewStrategy(nil, nil), sub: resourceclaim.NewStatusStrategy(resourceclaim.NewStrategy(nil, nil)),
		invalid: `{"spec":{"devices":{"requests":[{"name":"*"}]}}}`, change: `{"metadata":{"labels":{"a":"b"}}}`, forbidden: `{"spec":{"devices":{"requests":null}}}`,
		status: `{"metadata":{"labels":{"a":"c"}},"spec":{"devices":{"requests":null}}}`,
	},
	{
		r: client.ResourceClaimTemplates, upstream: resourceclaimtemplate.NewStrategy(nil),
		invalid: `{"spec":{"spec":{"devices":{"requests":[{"name":"*"}]}}}}`, change: `{"metadata":{"labels":{"a":"b"}}}`, forbidden: `{"spec":{"spec":{"devices":{"requests":null}}}}`,
	},
	{
		r: client.ResourceSlices, upstream: resourceslice.Strategy,
		invalid: `{"spec":{"driver":"GPU example"}}`, change: `{"spec":{"pool":{"generation":2},"devices":[{"name":"gpu-1","nodeAllocatableResourceMappings":null,"attributes":{"one":{"bool":true}}}]}}`,
		forbidden: `{"spec":{"nodeName":"node-2","devices":[{"name":"gpu-1","attributes":{"many":{"strings":["a"]}}}]}}`, // lists are off by default
	},
	{
		r: client.StorageVersionMigrations, upstream: storagemigration.Strategy, sub: storagemigration.StatusStrategy,
		invalid: `{"spec":{"resource":{"resource":""}}}`, change: `{"metadata":{"labels":{"a":"b"}}}`, forbidden: `{"spec":{"resource":{"resource":"gadgets"}}}`,
		status: `{"status":{"conditions":[{"type":"Running","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"R","message":"m"}]},"spec":{"resource":{"resource":"gadgets"}}}`,
	},
	{
		r: client.Endpoints, upstream: endpoint.Strategy,
		invalid: `{"subsets":[{"addresses":[{"ip":"nowhere"}],"ports":[{"port":80}]}]}`, change: `{"subsets":[{"addresses":[{"ip":"10.1.0.8"}],"ports":[{"port":81}]}]}`,
		forbidden: `{"subsets":[{"addresses":[{"ip":"127.0.0.1"}],"ports":[{"port":80}]}]}`,
	},
	{
		r: client.PersistentVolumeClaims, upstream: persistentvolumeclaim.Strategy, sub: persistentvolumeclaim.StatusStrategy,
		invalid: `{"spec":{"accessModes":null}}`, change: `{"metadata":{"labels":{"a":"b"}}}`, forbidden: `{"spec":{"storageClassName":"slow"}}`,
		status: `{"status":{"phase":"Bound","capacity":{"storage":"1Gi"}},"spec":{"volumeName":"disk-1"}}`,
	},
	{
		r: client.PersistentVolumes, upstream: persistentvolume.Strategy, sub: persistentvolume.StatusStrategy,
		invalid: `{"spec":{"capacity":null}}`, change: `{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`, forbidden: `{"spec":{"hostPath":{"path":"/other"}}}`,
		status: `{"status":{"phase":"Available"},"spec":{"storageClassName":"slow"}}`,
	},
	{
		r: client.PodTemplates, upstream: podtemplate.Strategy,
		invalid: `{"template":{"spec":{"containers":null}}}`, change: `{"template":{"metadata":{"labels":{"app":"other"}}}}`, forbidden: `{"template":{"spec":{"restartPolicy":"Sometimes"}}}`,
	},
	{
		r: client.ReplicationControllers, upstream: replicationcontroller.Strategy, sub: replicationcontroller.StatusStrategy,
		invalid: `{"spec":{"replicas":-1}}`, change: `{"spec":{"replicas":4}}`, forbidden: `{"spec":{"selector":{"app":"other"}}}`,
		status: `{"status":{"replicas":2},"spec":{"replicas":9}}`,
	},
	{
		r: client.ControllerRevisions, upstream: controllerrevision.Strategy,
		invalid: `{"revision":-1}`, change: `{"revision":2}`, forbidden: `{"data":{"spec":{"template":{"a":1}}}}`,
	},
	{
		r: client.DaemonSets, upstream: daemonset.Strategy, sub: daemonset.StatusStrategy,
		invalid: `{"spec":{"template":{"spec":{"restartPolicy":"Never"}}}}`, change: `{"spec":{"minReadySeconds":5}}`, forbidden: `{"spec":{"selector":{"matchLabels":{"app":"other"}}}}`,
		status: `{"status":{"desiredNumberScheduled":3,"currentNumberScheduled":2},"spec":{"minReadySeconds":9}}`,
	},
	{
		r: client.StatefulSets, upstream: statefulset.Strategy, sub: statefulset.StatusStrategy,
		invalid: `{"spec":{"podManagementPolicy":"Wild"}}`, change: `{"spec":{"replicas":5}}`, forbidden: `{"spec":{"serviceName":"other"}}`,
		status: `{"status":{"replicas":3,"currentReplicas":1},"spec":{"replicas":9}}`,
	},
	{
		r: client.HorizontalPodAutoscalers, upstream: horizontalpodautoscaler.Strategy, sub: horizontalpodautoscaler.StatusStrategy,
		invalid: `{"spec":{"maxReplicas":0}}`, change: `{"spec":{"maxReplicas":9}}`, forbidden: `{"spec":{"minReplicas":-1}}`,
		status: `{"status":{"currentReplicas":3,"desiredReplicas":4},"spec":{"maxReplicas":77}}`,
	},
	{
		r: client.HorizontalPodAutoscalersV1, upstream: horizontalpodautoscaler.Strategy, sub: horizontalpodautoscaler.StatusStrategy,
		invalid: `{"spec":{"maxReplicas":0}}`, change: `{"spec":{"targetCPUUtilizationPercentage":40}}`, forbidden: `{"spec":{"scaleTargetRef":{"name":""}}}`,
		status: `{"status":{"currentReplicas":3,"desiredReplicas":4},"spec":{"maxReplicas":77}}`,
	},
	{
		r: client.CronJobs, upstream: cronjob.Strategy, sub: cronjob.StatusStrategy,
		invalid: `{"spec":{"schedule":"often"}}`, change: `{"spec":{"suspend":true}}`, forbidden: `{"spec":{"concurrencyPolicy":"Maybe"}}`,
		status: `{"status":{"lastScheduleTime":"2026-01-01T03:00:00Z"},"spec":{"schedule":"* * * * *"}}`,
	},
	{
		r: client.Jobs, upstream: upstreamjob.Strategy, sub: upstreamjob.StatusStrategy,
		invalid: `{"spec":{"template":{"spec":{"restartPolicy":"Always"}}}}`, change: `{"spec":{"parallelism":5}}`, forbidden: `{"spec":{"completions":7}}`,
		status: `{"status":{"active":2,"startTime":"2026-01-01T03:00:00Z"},"spec":{"parallelism":9}}`,
	},
	{
		r: client.PodDisruptionBudgets, upstream: poddisruptionbudget.Strategy, sub: poddisruptionbudget.StatusStrategy,
		invalid: `{"spec":{"minAvailable":-1}}`, change: `{"spec":{"minAvailable":2}}`, forbidden: `{"spec":{"maxUnavailable":1}}`,
		status: `{"status":{"disruptionsAllowed":1,"currentHealthy":3,"desiredHealthy":2,"expectedPods":3},"spec":{"minAvailable":9}}`,
	},
	{
		r: client.FlowSchemas, upstream: flowschema.Strategy, sub: flowschema.StatusStrategy,
		invalid: `{"spec":{"matchingPrecedence":20000}}`, change: `{"spec":{"matchingPrecedence":900}}`, forbidden: `{"spec":{"distinguisherMethod":{"type":"ByMood"}}}`,
		status: `{"metadata":{"labels":{"a":"b"}},"spec":{"matchingPrecedence":800}}`,
	},
	{
		r: client.PriorityLevels, upstream: prioritylevelconfiguration.Strategy, sub: prioritylevelconfiguration.StatusStrategy,
		invalid: `{"spec":{"type":"Exempt"}}`, change: `{"spec":{"limited":{"lendablePercent":40}}}`, forbidden: `{"spec":{"limited":{"limitResponse":{"queuing":{"queues":2,"handSize":8}}}}}`,
		status: `{"status":{"conditions":[{"type":"Example","status":"True","lastTransitionTime":"2026-01-01T03:00:00Z"}]},"spec":{"limited":{"lendablePercent":1}}}`,
	},
	{
		r: client.IngressClasses, upstream: ingressclass.Strategy,
		invalid: `{"spec":{"controller":"nodomain"}}`, change: `{"metadata":{"annotations":{"a":"b"}}}`, forbidden: `{"spec":{"controller":"example.com/other"}}`,
	},
	{
		r: client.Ingresses, upstream: ingress.Strategy, sub: ingress.StatusStrategy,
		invalid: `{"spec":{"rules":[{"host":"UPPER"}]}}`, change: `{"spec":{"ingressClassName":"other"}}`,
		forbidden: `{"spec":{"rules":[{"http":{"paths":[{"path":"x","pathType":"Prefix","backend":{"service":{"name":"web","port":{"number":80}}}}]}}]}}`,
		status:    `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}},"spec":{"ingressClassName":"third"}}`,
	},
	{
		r: client.IPAddresses, upstream: ipaddress.Strategy,
		invalid: `{"spec":{"parentRef":null}}`, change: `{"metadata":{"labels":{"a":"b"}}}`, forbidden: `{"spec":{"parentRef":{"name":"other"}}}`,
	},
	{
		r: client.NetworkPolicies, upstream: networkpolicy.Strategy,
		invalid: `{"spec":{"policyTypes":["Sideways"]}}`, change: `{"spec":{"podSelector":{"matchLabels":{"app":"other"}}}}`, forbidden: `{"spec":{"ingress":[{"ports":[{"port":99999}]}]}}`,
	},
	{
		r: client.ServiceCIDRs, upstream: servicecidr.Strategy, sub: servicecidr.StatusStrategy,
		invalid: `{"spec":{"cidrs":["10.97.0.0/99"]}}`, change: `{"metadata":{"labels":{"a":"b"}}}`, forbidden: `{"spec":{"cidrs":["10.98.0.0/24"]}}`,
		status: `{"status":{"conditions":[{"type":"Ready","status":"True","reason":"AsItIs","message":"","lastTransitionTime":"2026-01-01T03:00:00Z"}]},"spec":{"cidrs":["10.99.0.0/24"]}}`,
	},
	{
		r: client.CSIDrivers, upstream: csidriver.Strategy,
		invalid: `{"spec":{"fsGroupPolicy":"Weird"}}`, change: `{"spec":{"storageCapacity":true}}`, forbidden: `{"spec":{"attachRequired":true}}`,
	},
	{
		r: client.CSINodes, upstream: csinode.Strategy, sub: csinode.StatusStrategy,
		invalid: `{"spec":{"drivers":[{"name":"disks.example.com","nodeID":""}]}}`, change: `{"metadata":{"labels":{"a":"b"}}}`,
		forbidden: `{"spec":{"drivers":[{"name":"disks.example.com","nodeID":"other"}]}}`,
		status:    `{"spec":{"drivers":[{"name":"other.example.com","nodeID":"o"}]}}`,
	},
	{
		r: client.CSIStorageCapacities, upstream: csistoragecapacity.Strategy,
		invalid: `{"storageClassName":""}`, change: `{"capacity":"5Gi"}`, forbidden: `{"storageClassName":"slow"}`,
	},
	{
		r: client.StorageClasses, upstream: storageclass.Strategy,
		invalid: `{"provisioner":""}`, change: `{"allowVolumeExpansion":true}`, forbidden: `{"provisioner":"other.example.com"}`,
	},
	{
		r: client.VolumeAttachments, upstream: volumeattachment.Strategy, sub: volumeattachment.StatusStrategy,
		invalid: `{"spec":{"attacher":""}}`, change: `{"metadata":{"labels":{"a":"b"}}}`, forbidden: `{"spec":{"nodeName":"other"}}`,
		status: `{"status":{"attached":true},"spec":{"nodeName":"third"}}`,
	},
	{
		r: client.VolumeAttributesClasses, upstream: volumeattributesclass.Strategy,
		invalid: `{"driverName":""}`, change: `{"metadata":{"labels":{"a":"b"}}}`, forbidden: `{"parameters":{"iops":"1"}}`,
	},
	{
		r: client.CertificateSigningRequests, upstream: upstreamcertificates.Strategy, sub: upstreamcertificates.ApprovalStrategy, subName: "approval",
		invalid: `{"spec":{"signerName":"nodomain"}}`, change: `{"metadata":{"labels":{"a":"b"}},"spec":{"signerName":"example.com/other"}}`, forbidden: `{"metadata":{"labels":{"a":"b c"}}}`,
		status: `{"status":{"conditions":[{"type":"Approved","status":"True","reason":"AsItIs","lastUpdateTime":"2025-12-31T03:00:00Z","lastTransitionTime":"2026-01-01T03:00:00Z"}],"certificate":"eA=="}}`,
	},
	{
		r: client.NewEvents, upstream: event.Strategy,
		invalid: `{"reason":""}`, change: `{"series":{"count":2,"lastObservedTime":"2026-01-01T03:00:00.000000Z"}}`, forbidden: `{"action":"Other"}`,
	},
	{
		r: client.RuntimeClasses, upstream: runtimeclass.Strategy,
		invalid: `{"handler":"BAD_"}`, change: `{"overhead":{"podFixed":{"cpu":"10m"}}}`, forbidden: `{"handler":"runc"}`,
	},
	{
		r: client.LimitRanges, upstream: limitrange.Strategy,
		invalid: `{"spec":{"limits":[{"type":"Container","max":{"cpu":"1"},"min":{"cpu":"2"}}]}}`, change: `{"spec":{"limits":[{"type":"Pod","max":{"cpu":"3"}}]}}`,
		forbidden: `{"spec":{"limits":[{"type":"Pod","default":{"cpu":"1"}}]}}`,
	},
	{
		r: client.ResourceQuotas, upstream: resourcequota.Strategy, sub: resourcequota.StatusStrategy,
		invalid: `{"spec":{"hard":{"pods":"-1"}}}`, change: `{"spec":{"hard":{"pods":"5","requests.cpu":"3","limits.cpu":"1"}},"status":{"used":{"pods":"9"}}}`,
		forbidden: `{"spec":{"scopes":["BestEffort"]}}`, status: `{"status":{"hard":{"pods":"4"},"used":{"pods":"1"}},"spec":{"hard":{"pods":"1"}}}`,
	},
}

// manifest is the good object of a kind, as JSON.
func (k *kindCase) manifest(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/kinds/" + k.r.GroupVersionResource.Resource + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	obj, _, err := registry.StrictYAML.Decode(data, nil, nil)
	if err == nil && k.r == client.HorizontalPodAutoscalersV1 {
		obj, err = registry.Converted(obj, registry.KindFor(k.r.GroupVersionResource))
	}
	if err == nil {
		data, err = json.Marshal(obj)
	}
	if err != nil {
		t.Fatalf("%s: %v", k.r.GroupVersionResource, err)
	}
	return data
}

// with is the good object with a merge patch.
func with(t testing.TB, doc []byte, patch string) []byte {
	t.Helper()
	out, err := jsonpatch.MergePatch(doc, []byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// heard is who asked upstream's strategies, and what they warned of.
type heard struct{ warnings []string }

func (h *heard) AddWarning(_, text string) { h.warnings = append(h.warnings, text) }

func (k *kindCase) context(sub string) (context.Context, *heard) {
	h := &heard{}
	ctx := genericapirequest.WithRequestInfo(context.Background(), &genericapirequest.RequestInfo{
		IsResourceRequest: true, APIGroup: k.r.Group, APIVersion: k.r.Version, Resource: k.r.GroupVersionResource.Resource, Subresource: sub,
	})
	admin := authn.Admin()
	ctx = genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: admin.Name, Groups: append(admin.Groups, authn.Authenticated)})
	if k.r.Namespaced {
		ctx = genericapirequest.WithNamespace(ctx, "default")
	} else {
		ctx = genericapirequest.WithNamespace(ctx, "")
	}
	return warning.WithWarningRecorder(ctx, h), h
}

// internalOf is the defaulted internal object of some JSON.
func (k *kindCase) internalOf(t testing.TB, doc []byte) runtime.Object {
	t.Helper()
	gvk := k.r.GVK()
	obj, _, err := registry.StrictJSON.Decode(doc, &gvk, nil)
	if err != nil {
		t.Fatalf("%s: %v", k.r.GroupVersionResource, err)
	}
	registry.Scheme.Default(obj)
	in, err := registry.Scheme.ConvertToVersion(obj, schema.GroupVersion{Group: k.r.Group, Version: runtime.APIVersionInternal})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// shown is an object as JSON, without what upstream's strategies have nothing to
// do with.
func (k *kindCase) shown(t testing.TB, obj runtime.Object) string {
	t.Helper()
	out := registry.KindFor(k.r.GroupVersionResource).New()
	if err := registry.Scheme.Convert(obj, out, nil); err != nil { // not an internal one
		out = obj.DeepCopyObject()
	} else {
		registry.Scheme.Default(out) // which reading from the store does
	}
	out.GetObjectKind().SetGroupVersionKind(k.r.GVK())
	m := object.Meta(out)
	m.SetResourceVersion("")
	m.SetManagedFields(nil)
	b, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return request.StatusOf(err).Message
}

// agree compares what the server did with what upstream's strategy does.
func (k *kindCase) agree(t testing.TB, what string, r *request.Response, want runtime.Object, wantErr error, h *heard) {
	t.Helper()
	name := fmt.Sprintf("%s %s", k.r.GroupVersionResource, what)
	if got := errText(r.Err); got != errText(wantErr) {
		t.Errorf("%s: refused with\n  %q, upstream\n  %q", name, got, errText(wantErr))
		return
	}
	if r.Err != nil {
		return
	}
	if got, want := k.shown(t, r.Object), k.shown(t, want); got != want {
		t.Errorf("%s: the object differs from upstream's:\n%s", name, cmp.Diff(want, got))
	}
	warned := h.warnings
	if d := registry.KindFor(k.r.GroupVersionResource).Deprecated; d != "" { // said by the handler, before the strategy is asked
		warned = append([]string{d}, warned...)
	}
	if got, want := strings.Join(r.Warnings, "\n"), strings.Join(warned, "\n"); got != want {
		t.Errorf("%s: warned %q, upstream %q", name, got, want)
	}
}

// Every kind: what the server makes of a creation, an update and an update of the
// subresource, good and bad, is what Kubernetes' own strategy makes of it.
func TestKindsAsUpstream(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		persistentvolume.NowFunc = func() metav1.Time { return metav1.NewTime(task.Now().Truncate(1e9)) }
		seen := map[client.Resource]bool{}
		for i := range kindCases {
			k := &kindCases[i]
			seen[k.r] = true
			k.creations(t, w, task)
			task.Sleep(50 * time.Millisecond) // a FlowSchema's status is written
			k.updates(t, w, task)
			w.must(w.ask(task, k.request("delete", "", nil)).Err)
		}
		for _, kind := range registry.Kinds {
			if kind.OnDemand && !seen[kind.Resource] && kind.Strategy.Resets != nil {
				t.Errorf("%s has no case", kind.GroupVersionResource)
			}
		}
	})
}

func (k *kindCase) request(verb, sub string, body []byte) *request.Request {
	r := &request.Request{Verb: verb, Resource: k.r.GroupVersionResource, Subresource: sub, FieldValidation: "Strict"}
	if k.r.Namespaced {
		r.Namespace = "default"
	}
	if verb != "create" {
		r.Name = k.name
	}
	if verb == "patch" {
		r.PatchType, r.Patch = types.MergePatchType, body
	} else {
		r.Body = body
	}
	return r
}

func (k *kindCase) creations(t testing.TB, w *world, task *sim.Task) {
	good := k.manifest(t)
	for _, patch := range []string{k.invalid, "{}"} {
		doc := with(t, good, patch)
		r := w.ask(task, k.request("create", "", doc))
		in := k.internalOf(t, doc)
		m, err := meta.Accessor(in)
		if err != nil {
			t.Fatal(err)
		}
		k.name = m.GetName()
		m.SetUID("of-upstream")
		m.SetCreationTimestamp(metav1.NewTime(task.Now()))
		if r.Err == nil {
			m.SetUID(object.Meta(r.Object).GetUID())
			m.SetCreationTimestamp(object.Meta(r.Object).GetCreationTimestamp())
		}
		if f := admission.InUseFinalizer(k.r.Kind); f != "" { // admission's, which comes before the strategy
			m.SetFinalizers([]string{f})
		}
		ctx, h := k.context("")
		k.agree(t, "creation with "+patch, r, in, rest.BeforeCreate(k.upstream, ctx, in), h)
		if (r.Err == nil) != (patch == "{}") {
			t.Errorf("%s: creation with %s: %v", k.r.GroupVersionResource, patch, r.Err)
		}
	}
}

func (k *kindCase) updates(t testing.TB, w *world, task *sim.Task) {
	type step struct {
		sub, patch string
		strategy   rest.RESTUpdateStrategy
		ok         bool
	}
	steps := []step{{"", k.forbidden, k.upstream, false}, {"", k.change, k.upstream, true}}
	if k.sub != nil {
		name := k.subName
		if name == "" {
			name = "status"
		}
		steps = append(steps, step{name, k.status, k.sub, true})
	}
	for _, s := range steps {
		was := w.ask(task, k.request("get", "", nil))
		if was.Err != nil {
			t.Errorf("%s: %v", k.r.GroupVersionResource, was.Err)
			return
		}
		old, err := json.Marshal(was.Object)
		if err != nil {
			t.Fatal(err)
		}
		in, before := k.internalOf(t, with(t, old, s.patch)), k.internalOf(t, old)
		ctx, h := k.context(s.sub)
		wantErr := rest.BeforeUpdate(s.strategy, ctx, in, before)
		r := w.ask(task, k.request("patch", s.sub, []byte(s.patch)))
		k.agree(t, "update of "+s.sub+" with "+s.patch, r, in, wantErr, h)
		if (r.Err == nil) != s.ok {
			t.Errorf("%s: update of %s with %s: %v", k.r.GroupVersionResource, s.sub, s.patch, r.Err)
		}
	}
}
