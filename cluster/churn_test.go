package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kviz/cluster"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// churnFor is for how long, in virtual time, TestWorkloadsAddUp has things happen: KVIZ_CHURN=1h is
// the long form.
func churnFor(t *testing.T) time.Duration {
	text := os.Getenv("KVIZ_CHURN")
	if text == "" {
		return 4 * time.Minute
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("KVIZ_CHURN: %v", err)
	}
	return d
}

// churned makes workloads of every kind, has something happen to one of them or to what they run on
// again and again, and in the end mends all of it and waits until there is peace.
func churned(seed uint64, long time.Duration) string {
	r := rand.New(rand.NewPCG(seed, 33))
	var s strings.Builder
	s.WriteString(setOut)
	jobs := 0
	var down []string // faults that are to be undone
	for passed := time.Duration(0); passed < long; {
		wait := time.Duration(1+r.IntN(25)) * time.Second
		passed += wait
		what := ""
		kind := []string{"deployment/web", "statefulset/db", "statefulset/disks", "daemonset/agent"}[r.IntN(4)]
		switch n := r.IntN(22); {
		case n < 3 && kind != "daemonset/agent":
			what = fmt.Sprintf("kubectl scale %s --replicas=%d", kind, r.IntN(6))
		case n < 5:
			what = fmt.Sprintf("kubectl set image %s c=nginx:1.%d", kind, 25+r.IntN(3))
		case n == 5:
			what = fmt.Sprintf("kubectl set image %s c=nothing.example/none:1", kind)
		case n == 6:
			what = "kubectl rollout undo " + kind
		case n == 7:
			what = "kubectl rollout restart " + kind
		case n == 8:
			what = fmt.Sprintf("kubectl delete --wait=false $(kubectl get pods -o name | head -%d | tail -%d)", 3+r.IntN(8), 1+r.IntN(3))
		case n == 9:
			what = fmt.Sprintf("kubectl delete --wait=false --force --grace-period=0 $(kubectl get pods -o name | tail -%d)", 1+r.IntN(2))
		case n == 10 && len(down) == 0:
			node := 1 + r.IntN(3)
			what = fmt.Sprintf("kviz fault stop node/node-%d", node)
			down = append(down, fmt.Sprintf("kviz fault start node/node-%d", node))
		case n == 11:
			what = "kviz fault restart controller-manager"
		case n == 12:
			jobs++
			what = fmt.Sprintf(aJob, jobs, 1+r.IntN(6), 1+r.IntN(3), r.IntN(3), []string{"NonIndexed", "Indexed"}[r.IntN(2)], []string{"exit 0", "sleep 20", "exit 1", "sleep 5; exit $((RANDOM % 2))"}[r.IntN(4)])
		case n == 13 && jobs > 0:
			what = fmt.Sprintf(`kubectl patch job once-%d --type=merge -p '{"spec":{"suspend":%v}}'`, 1+r.IntN(jobs), r.IntN(2) == 0)
		case n == 14 && jobs > 0:
			what = fmt.Sprintf("kubectl delete --wait=false job once-%d --cascade=%s", 1+r.IntN(jobs), []string{"background", "foreground"}[r.IntN(2)])
		case n == 15:
			what = fmt.Sprintf(`kubectl patch cronjob tick --type=merge -p '{"spec":{"concurrencyPolicy":"%s","suspend":%v}}'`, []string{"Allow", "Forbid", "Replace"}[r.IntN(3)], r.IntN(3) == 0)
		case n == 16:
			what = fmt.Sprintf("kviz load deployment/auto --cpu %dm", 50+r.IntN(500))
		case n == 17:
			what = fmt.Sprintf("kubectl drain node-%[1]d --ignore-daemonsets --delete-emptydir-data --force --timeout=20s\nkubectl uncordon node-%[1]d", 1+r.IntN(3))
		case n == 18:
			what = fmt.Sprintf(`kubectl patch pdb web --type=merge -p '{"spec":{"minAvailable":%s}}'`, []string{"0", "1", "2", `"50%"`, `"100%"`}[r.IntN(5)])
		case n == 19 && len(down) == 0:
			what = "kviz fault fail csi-driver " + []string{"create", "delete", "attach", "detach", "stage", "publish"}[r.IntN(6)]
			down = append(down, "kviz fault heal csi-driver")
		case n == 20:
			what = "kviz fault restart " + []string{"csi-provisioner", "csi-attacher", "csi-resizer"}[r.IntN(3)]
		case n == 21:
			what = fmt.Sprintf(`kubectl patch pvc data-disks-%d -p '{"spec":{"resources":{"requests":{"storage":"%dGi"}}}}'`, r.IntN(3), 2+r.IntN(5))
		default:
			if len(down) > 0 {
				what, down = down[0], nil
			}
		}
		if what != "" {
			fmt.Fprintf(&s, "{\n%s\n} || true\n", what)
		}
		fmt.Fprintf(&s, "sleep %d\n", int(wait.Seconds()))
	}
	for _, undo := range down {
		s.WriteString(undo + "\n")
	}
	s.WriteString(calmDown)
	for i := range jobs {
		fmt.Fprintf(&s, `kubectl patch job once-%d --type=merge -p '{"spec":{"suspend":false}}' || true`+"\n", i+1)
	}
	s.WriteString("sleep 900\n")
	return s.String()
}

const setOut = `
kubectl apply -f manifests/metrics-server.yaml
kubectl create -f - <<END
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: db}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: db}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: auto}
spec:
  selector: {matchLabels: {app: auto}}
  template:
    metadata: {labels: {app: auto}}
    spec: {terminationGracePeriodSeconds: 5, containers: [{name: c, image: nginx, resources: {requests: {cpu: 100m}}}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: auto}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: auto}
  minReplicas: 2
  maxReplicas: 6
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]
  behavior: {scaleDown: {stabilizationWindowSeconds: 30}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 3
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {terminationGracePeriodSeconds: 5, containers: [{name: c, image: nginx}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: disks}
spec:
  replicas: 2
  serviceName: disks
  podManagementPolicy: Parallel
  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete, whenDeleted: Delete}
  selector: {matchLabels: {app: disks}}
  template:
    metadata: {labels: {app: disks}}
    spec: {terminationGracePeriodSeconds: 5, containers: [{name: c, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  updateStrategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  template:
    metadata: {labels: {app: agent}}
    spec: {terminationGracePeriodSeconds: 5, containers: [{name: c, image: nginx}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      backoffLimit: 1
      template:
        spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: [sleep, "40"]}]}
END
kviz load deployment/auto --cpu 150m
sleep 5
`

const aJob = `kubectl create -f - <<END
apiVersion: batch/v1
kind: Job
metadata: {name: once-%d}
spec:
  completions: %d
  parallelism: %d
  backoffLimit: %d
  completionMode: %s
  template:
    spec: {restartPolicy: Never, terminationGracePeriodSeconds: 5, containers: [{name: c, image: busybox, command: [sh, -c, %q]}]}
END
`

// calmDown gives everybody an image that there is, and deletes what waits in vain for its image: a
// StatefulSet does not replace it by itself. It forces a pod away from its disk to another node, and leaves
// budgets with a percentage that has to be rounded up, and with a pod that an eviction has noted and nobody has deleted.
const calmDown = `
for w in deployment/web statefulset/db statefulset/disks daemonset/agent; do kubectl set image $w c=nginx:1.27; done
kubectl patch cronjob tick --type=merge -p '{"spec":{"suspend":true}}'
sleep 30
kubectl delete --wait=false pods -l 'app in (db, disks)'
kubectl scale deployment/web --replicas=3
kubectl scale statefulset/disks --replicas=2
sleep 90
node=$(kubectl get pod disks-0 -o jsonpath='{.spec.nodeName}')
kubectl cordon $node
kubectl delete pod disks-0 --force --grace-period=0
sleep 30
kubectl uncordon $node
kubectl patch pdb web --type=merge -p '{"spec":{"minAvailable":"50%"}}'
kubectl patch pdb db --subresource=status --type=merge -p '{"status":{"disruptedPods":{"db-0":"2026-01-01T00:00:10Z"}}}'
kviz load deployment/auto --cpu 290m
sleep 60
`

// However long things happen to workloads of every kind, in the end all of it adds up: each has the pods and the
// claims that its spec asks for, nothing is left of what is gone, no finalizer and nobody's pod, a
// Job has counted what ran, and the Service's endpoints are the pods that are ready.
func TestWorkloadsAddUp(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: steady.Seed(), Bare: true})
		run(t, c, churned(steady.Seed(), churnFor(t)))
		for _, wrong := range sums(t, c) {
			t.Error(wrong)
		}
		for _, wrong := range onTheWay(past(t, c)) {
			t.Error(wrong)
		}
		acted := map[string]int{} // whether there are Jobs is chance
		for _, e := range past(t, c) {
			if e.Kind == trace.ReconcileAction {
				acted[e.Lane.Component]++
			}
		}
		for _, name := range []string{"deployment", "replicaset", "statefulset", "daemonset", "disruption", "horizontal-pod-autoscaler", "persistentvolume-binder", "persistentvolume-attach-detach"} {
			if acted[name+"-controller"] == 0 {
				t.Errorf("the %s controller did not act", name)
			}
		}
		t.Logf("actions of controllers: %v", acted)
	})
}

// Every run of a seed in which things happen to workloads of every kind is the same, on either
// store, on one processor and on two.
func TestSameSeedSameTraceWithWorkloads(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]cluster.Config{"mvcc": {Bare: true}, "raft": {NoSync: true}} {
		t.Run(name, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				cfg.Seed = 7
				var first []*trace.Event
				for i := range runs() {
					before := runtime.GOMAXPROCS(1 + i%2)
					c := boot(t, cfg)
					run(t, c, churned(7, 3*time.Minute))
					events := past(t, c)
					if err := c.Close(); err != nil {
						t.Fatal(err)
					}
					runtime.GOMAXPROCS(before)
					if i == 0 {
						first = events
					} else if sum(t, events) != sum(t, first) {
						t.Fatalf("run %d differs from run 0 %s", i, difference(t, first, events))
					}
				}
			})
		})
	}
}

// onTheWay says what did not add up at some moment on the way, though all is well in the end: a disk
// that was taken from a node that had it staged, though nothing was done to the node since.
func onTheWay(events []*trace.Event) (wrong []string) {
	staged := map[string]bool{} // by disk and node
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *trace.Fault:
			if node, is := strings.CutPrefix(p.Target, "node/"); is {
				for at := range staged {
					if strings.HasSuffix(at, " on "+node) {
						delete(staged, at)
					}
				}
			}
		case *trace.StorageCall:
			at := p.Volume + " on " + p.Node
			switch {
			case p.Call == "NodeUnstageVolume" && p.Error == "":
				delete(staged, at)
			case p.Call == "NodeStageVolume" && p.Error == "":
				staged[at] = true
			case p.Call == "ControllerUnpublishVolume" && p.Error == "" && staged[at]:
				wrong = append(wrong, fmt.Sprintf("at %v disk %s is detached, and it is staged there", e.At, at))
			}
		}
	}
	return wrong
}

// left is all that there is in the namespace default.
type left struct {
	pods   []*corev1.Pod
	claims []*corev1.PersistentVolumeClaim
	owners map[types.UID]metav1.Object
	wrong  []string
}

func (l *left) say(format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// sums says what does not add up.
func sums(t *testing.T, c *cluster.Cluster) []string {
	t.Helper()
	l := &left{owners: map[types.UID]metav1.Object{}}
	lane := trace.Lane{Component: trace.CompConsole}
	p := c.Kernel().NewProcess(lane)
	err := c.Kernel().Call(t.Context(), p, "sums", func(task *sim.Task) {
		api := c.Server().Client(lane, authn.Admin())
		l.pods = listed[*corev1.Pod](l, task, api, client.Pods)
		l.claims = listed[*corev1.PersistentVolumeClaim](l, task, api, client.PersistentVolumeClaims)
		sets := listed[*appsv1.ReplicaSet](l, task, api, client.ReplicaSets)
		listed[*appsv1.ControllerRevision](l, task, api, client.ControllerRevisions)
		for _, d := range listed[*appsv1.Deployment](l, task, api, client.Deployments) {
			l.deployment(d, sets)
		}
		for _, s := range listed[*appsv1.StatefulSet](l, task, api, client.StatefulSets) {
			l.statefulSet(s)
		}
		for _, d := range listed[*appsv1.DaemonSet](l, task, api, client.DaemonSets) {
			l.daemonSet(d)
		}
		jobs := listed[*batchv1.Job](l, task, api, client.Jobs)
		for _, j := range jobs {
			l.job(j)
		}
		for _, cj := range listed[*batchv1.CronJob](l, task, api, client.CronJobs) {
			l.cronJob(cj, jobs)
		}
		l.endpoints(listed[*discoveryv1.EndpointSlice](l, task, api, client.EndpointSlices))
		for _, b := range listed[*policyv1.PodDisruptionBudget](l, task, api, client.PodDisruptionBudgets) {
			l.budget(b)
		}
		for _, h := range listed[*autoscalingv2.HorizontalPodAutoscaler](l, task, api, client.HorizontalPodAutoscalers) {
			l.autoscaler(h)
		}
		l.volumes(
			listed[*corev1.PersistentVolume](l, task, api, client.PersistentVolumes),
			listed[*storagev1.VolumeAttachment](l, task, api, client.VolumeAttachments),
			listed[*corev1.Node](l, task, api, client.Nodes),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range l.pods {
		l.owned("Pod", p)
		if p.DeletionTimestamp != nil {
			l.say("pod %s is still being deleted", p.Name)
		}
	}
	return l.wrong
}

func listed[T metav1.Object](l *left, t *sim.Task, api client.Interface, r client.Resource) (out []T) {
	ns := "default"
	if !r.Namespaced {
		ns = ""
	}
	objs, _, err := api.List(t, r, ns, metav1.ListOptions{})
	if err != nil {
		l.say("%s: %v", r.Resource, err)
	}
	for _, o := range objs {
		out = append(out, o.(T))
		l.owners[o.(T).GetUID()] = o.(T)
	}
	return out
}

// owned says where an object's owner is gone.
func (l *left) owned(kind string, obj metav1.Object) {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil {
		l.say("%s %s is nobody's", kind, obj.GetName())
	} else if l.owners[ref.UID] == nil {
		l.say("%s %s has an owner that is gone: %s %s", kind, obj.GetName(), ref.Kind, ref.Name)
	}
}

// of are the pods of an owner, by whether they can run and do.
func (l *left) of(owner metav1.Object) (all, ready []*corev1.Pod) {
	for _, p := range l.pods {
		if metav1.IsControlledBy(p, owner) {
			all = append(all, p)
			if slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
				ready = append(ready, p)
			}
		}
	}
	return all, ready
}

func (l *left) deployment(d *appsv1.Deployment, sets []*appsv1.ReplicaSet) {
	want := *d.Spec.Replicas
	if st := d.Status; st.Replicas != want || st.UpdatedReplicas != want || st.AvailableReplicas != want || st.ObservedGeneration != d.Generation {
		l.say("Deployment %s wants %d: %+v", d.Name, want, st)
	}
	n := 0
	for _, rs := range sets {
		l.owned("ReplicaSet", rs)
		if !metav1.IsControlledBy(rs, d) {
			continue
		}
		all, ready := l.of(rs)
		if len(all) != int(*rs.Spec.Replicas) || len(ready) != len(all) {
			l.say("ReplicaSet %s wants %d, has %d, of which %d are ready", rs.Name, *rs.Spec.Replicas, len(all), len(ready))
		}
		n += len(all)
	}
	if n != int(want) {
		l.say("Deployment %s wants %d, its ReplicaSets have %d", d.Name, want, n)
	}
}

func (l *left) statefulSet(s *appsv1.StatefulSet) {
	want := int(*s.Spec.Replicas)
	all, ready := l.of(s)
	if len(all) != want || int(s.Status.Replicas) != want || int(s.Status.ReadyReplicas) != len(ready) {
		l.say("StatefulSet %s wants %d, has %d, of which %d are ready: %+v", s.Name, want, len(all), len(ready), s.Status)
	}
	names := map[string]bool{}
	for i := range want {
		names[fmt.Sprintf("%s-%d", s.Name, i)] = true
	}
	for _, p := range all {
		if !names[p.Name] {
			l.say("StatefulSet %s has %s", s.Name, p.Name)
		}
		if p.Labels[appsv1.StatefulSetRevisionLabel] != s.Status.UpdateRevision {
			l.say("%s is of revision %s, not %s", p.Name, p.Labels[appsv1.StatefulSetRevisionLabel], s.Status.UpdateRevision)
		}
	}
	if len(ready) != want {
		l.say("StatefulSet %s: %d of %d are ready", s.Name, len(ready), want)
	}
	if len(s.Spec.VolumeClaimTemplates) == 0 {
		return
	}
	claims := 0
	for _, c := range l.claims {
		if !names[strings.TrimPrefix(c.Name, "data-")] || c.DeletionTimestamp != nil {
			l.say("claim %s is left (being deleted: %v)", c.Name, c.DeletionTimestamp != nil)
		}
		if !metav1.IsControlledBy(c, s) {
			l.say("claim %s does not go with StatefulSet %s", c.Name, s.Name)
		}
		claims++
	}
	if claims != want {
		l.say("StatefulSet %s wants %d claims, there are %d", s.Name, want, claims)
	}
}

func (l *left) daemonSet(d *appsv1.DaemonSet) {
	all, ready := l.of(d)
	on := map[string]bool{}
	for _, p := range all {
		on[p.Spec.NodeName] = true
	}
	const nodes = 3
	if st := d.Status; len(on) != nodes || len(all) != nodes || len(ready) != nodes || st.NumberAvailable != nodes || st.UpdatedNumberScheduled != nodes || st.NumberMisscheduled != 0 {
		l.say("DaemonSet %s has %d pods on %d nodes, of which %d are ready: %+v", d.Name, len(all), len(on), len(ready), st)
	}
}

func (l *left) job(j *batchv1.Job) {
	all, _ := l.of(j)
	st := j.Status
	ended := slices.ContainsFunc(st.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
	complete := slices.ContainsFunc(st.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
	})
	if n := j.Spec.Completions; complete && n != nil && st.Succeeded != *n {
		l.say("Job %s is Complete with %d of %d", j.Name, st.Succeeded, *n)
	}
	if un := st.UncountedTerminatedPods; un != nil && len(un.Succeeded)+len(un.Failed) > 0 {
		l.say("Job %s has pods to count: %v", j.Name, un)
	}
	var active, succeeded, failed int32
	for _, p := range all {
		switch p.Status.Phase {
		case corev1.PodSucceeded:
			succeeded++
		case corev1.PodFailed:
			failed++
		default:
			active++
		}
		if tracked := slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer); tracked && (ended || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed) {
			l.say("%s, which is %s, still has its finalizer", p.Name, p.Status.Phase)
		}
	}
	if active != st.Active || succeeded > st.Succeeded || failed > st.Failed || ended && active > 0 {
		l.say("Job %s (ended: %v) has %d pods that run, %d that succeeded, %d that failed: %+v", j.Name, ended, active, succeeded, failed, st)
	}
	if !ended {
		l.say("Job %s has not ended after a quarter of an hour: %+v", j.Name, st)
	}
}

func (l *left) cronJob(cj *batchv1.CronJob, jobs []*batchv1.Job) {
	if n := len(cj.Status.Active); n > 0 {
		l.say("CronJob %s has %d active Jobs after a quarter of an hour", cj.Name, n)
	}
	complete, failed := 0, 0
	for _, j := range jobs {
		if !metav1.IsControlledBy(j, cj) {
			continue
		}
		for _, c := range j.Status.Conditions {
			if c.Status == corev1.ConditionTrue && c.Type == batchv1.JobComplete {
				complete++
			} else if c.Status == corev1.ConditionTrue && c.Type == batchv1.JobFailed {
				failed++
			}
		}
	}
	if complete > int(*cj.Spec.SuccessfulJobsHistoryLimit) || failed > int(*cj.Spec.FailedJobsHistoryLimit) {
		l.say("CronJob %s keeps %d Jobs that are Complete and %d that are Failed", cj.Name, complete, failed)
	}
}

func (l *left) endpoints(list []*discoveryv1.EndpointSlice) {
	var told, there []string
	for _, s := range list {
		if s.Labels[discoveryv1.LabelServiceName] != "web" {
			continue
		}
		for _, e := range s.Endpoints {
			if e.Conditions.Ready != nil && *e.Conditions.Ready {
				told = append(told, e.Addresses...)
			}
		}
	}
	for _, p := range l.pods {
		if p.Labels["app"] == "web" {
			there = append(there, p.Status.PodIP)
		}
	}
	slices.Sort(told)
	slices.Sort(there)
	if !slices.Equal(told, there) {
		l.say("the Service's endpoints are %v, its pods %v", told, there)
	}
}

// budget says where a budget does not count what there is.
func (l *left) budget(b *policyv1.PodDisruptionBudget) {
	all, healthy := 0, 0
	for _, p := range l.pods {
		if p.Labels["app"] != b.Spec.Selector.MatchLabels["app"] {
			continue
		}
		all++
		if slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
			healthy++
		}
	}
	st, desired := b.Status, 0
	switch v := b.Spec.MinAvailable; { // the owners ask for as many as there are, now that all is calm
	case v == nil:
		desired = max(0, all-b.Spec.MaxUnavailable.IntValue())
	case v.Type == intstr.Int:
		desired = v.IntValue()
	default:
		percent, err := strconv.Atoi(strings.TrimSuffix(v.StrVal, "%"))
		if err != nil {
			l.say("PodDisruptionBudget %s: %v", b.Name, err)
		}
		desired = (all*percent + 99) / 100
	}
	if int(st.DesiredHealthy) != desired {
		l.say("PodDisruptionBudget %s: of %d pods %d must be healthy: %+v", b.Name, all, desired, st)
	}
	if int(st.ExpectedPods) != all || int(st.CurrentHealthy) != healthy || st.ObservedGeneration != b.Generation || len(st.DisruptedPods) > 0 ||
		st.DisruptionsAllowed != max(0, st.CurrentHealthy-st.DesiredHealthy) {
		l.say("PodDisruptionBudget %s: %d pods, %d of them healthy: %+v", b.Name, all, healthy, st)
	}
}

// autoscaler says where the replicas are not what the load asks for: 290m shared among pods that request
// 100m, with a target of 60 %, are five.
func (l *left) autoscaler(h *autoscalingv2.HorizontalPodAutoscaler) {
	for _, c := range h.Status.Conditions {
		if want := c.Type == autoscalingv2.AbleToScale || c.Type == autoscalingv2.ScalingActive; (c.Status == corev1.ConditionTrue) != want {
			l.say("HorizontalPodAutoscaler %s: %s is %s: %s: %s", h.Name, c.Type, c.Status, c.Reason, c.Message)
		}
	}
	if m := h.Status.CurrentMetrics; len(m) != 1 || m[0].Resource == nil || m[0].Resource.Current.AverageUtilization == nil || *m[0].Resource.Current.AverageUtilization != 58 {
		l.say("HorizontalPodAutoscaler %s: 290m of 5 × 100m are 58 %%: %+v", h.Name, m)
	}
	if st := h.Status; st.CurrentReplicas != 5 || st.DesiredReplicas != 5 || st.ObservedGeneration == nil || *st.ObservedGeneration != h.Generation {
		l.say("HorizontalPodAutoscaler %s: %+v", h.Name, st)
	}
}

// volumes says where claims, volumes, attachments, nodes and pods do not agree.
func (l *left) volumes(volumes []*corev1.PersistentVolume, attachments []*storagev1.VolumeAttachment, nodes []*corev1.Node) {
	claims, claimOf := map[types.UID]*corev1.PersistentVolumeClaim{}, map[string]string{}
	for _, c := range l.claims {
		claims[c.UID] = c
		if c.Status.Phase != corev1.ClaimBound {
			l.say("claim %s is %s", c.Name, c.Status.Phase)
		}
	}
	for _, v := range volumes {
		ref := v.Spec.ClaimRef
		if ref == nil || claims[ref.UID] == nil || claims[ref.UID].Spec.VolumeName != v.Name || v.Status.Phase != corev1.VolumeBound {
			l.say("volume %s is %s, for %v", v.Name, v.Status.Phase, ref)
			continue
		}
		claimOf[v.Name] = ref.Name
		if c := claims[ref.UID]; c.Status.Capacity.Storage().Cmp(*v.Spec.Capacity.Storage()) != 0 || !slices.Equal(c.Status.AccessModes, v.Spec.AccessModes) || c.Annotations["pv.kubernetes.io/bind-completed"] != "yes" {
			l.say("claim %s says that it has %s, %v (%v); its volume has %s, %v", c.Name, c.Status.Capacity.Storage(), c.Status.AccessModes, c.Annotations, v.Spec.Capacity.Storage(), v.Spec.AccessModes)
		}
		if got, want := v.Spec.Capacity.Storage(), claims[ref.UID].Spec.Resources.Requests.Storage(); got.Cmp(*want) != 0 {
			l.say("volume %s has %s, and its claim asks for %s", v.Name, got, want)
		}
	}
	wanted := map[string]bool{} // NODE/CLAIM
	for _, p := range l.pods {
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				wanted[p.Spec.NodeName+"/"+v.PersistentVolumeClaim.ClaimName] = true
			}
		}
	}
	attached := map[string]int{}
	for _, a := range attachments {
		attached[a.Spec.NodeName]++
		if of := claimOf[*a.Spec.Source.PersistentVolumeName]; !a.Status.Attached || a.DeletionTimestamp != nil || !wanted[a.Spec.NodeName+"/"+of] {
			l.say("VolumeAttachment of claim %q to %s: attached %v, being deleted %v, wanted %v", of, a.Spec.NodeName, a.Status.Attached, a.DeletionTimestamp != nil, wanted[a.Spec.NodeName+"/"+of])
		}
	}
	if len(attachments) != len(wanted) {
		l.say("there are %d VolumeAttachments, and pods want %v", len(attachments), wanted)
	}
	for _, n := range nodes {
		if in, has := len(n.Status.VolumesInUse), len(n.Status.VolumesAttached); in != attached[n.Name] || has != attached[n.Name] {
			l.say("%s has %d volumes attached and %d in use, and %d VolumeAttachments", n.Name, has, in, attached[n.Name])
		}
	}
}
