package proof

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// claim is a story of claims and volumes: those that somebody made, those of a StorageClass, a StatefulSet's and a pod's own.
func (st *story) claim() {
	switch st.IntN(5) {
	case 0, 1:
		st.claimOfMade()
	case 2, 3:
		st.claimOfClass()
	case 4:
		if st.IntN(2) == 0 {
			st.claimOfSet()
		} else {
			st.claimOfPod()
		}
	}
}

// alone is the step that does nothing while a claim waits: which of two claims that wait gets a volume is chance.
func (st *story) alone(next step) step {
	do := next.do
	next.says += " (unless a claim waits)"
	next.do = func(ctx context.Context, s *side) error {
		for _, o := range s.all("persistentvolumeclaims", st.ns) {
			if at(o, "status", "phase") == "Pending" {
				return nil
			}
		}
		return do(ctx, s)
	}
	return next
}

// made is a volume that somebody made, of a driver that nobody has.
func (st *story) made(name string, size int, class, tier, more string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata: {name: %s-%s, labels: {tier: %s, story: %s}}
spec:
  capacity: {storage: %dGi}
  accessModes: [%s]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: "%s"
%s  csi: {driver: nobody.example.com, volumeHandle: %s-%s}
`, st.ns, name, tier, st.ns, size, one(st, "ReadWriteOnce", "ReadWriteOnce", "ReadWriteOnce, ReadOnlyMany", "ReadOnlyMany"), class, more, st.ns, name)
}

// ask is a claim.
func (st *story) ask(name string, size int, class, more string) string {
	if class != "default" {
		more += fmt.Sprintf("  storageClassName: \"%s\"\n", class)
	}
	return fmt.Sprintf(`apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: %dGi}}
%s`, name, size, more)
}

func (st *story) claimOfMade() {
	// Volumes are the cluster's: a class of its own, or a label, keeps those of other stories away.
	class := one(st, "", "byhand-"+st.ns)
	ask := func(name string, size int, class, tier, more string) string {
		var labels []string
		if class == "" {
			labels = append(labels, "story: "+st.ns)
		}
		if tier != "" {
			labels = append(labels, "tier: "+tier)
		}
		if len(labels) > 0 {
			more += fmt.Sprintf("  selector: {matchLabels: {%s}}\n", strings.Join(labels, ", "))
		}
		return st.ask(name, size, class, more)
	}
	tier := func() string { return one(st, "gold", "silver") }
	for i, size := range []int{2, 5, 9} {
		more := ""
		switch st.IntN(6) {
		case 0: // it is for a claim that is to come
			more = fmt.Sprintf("  claimRef: {namespace: %s, name: mine-%d}\n", st.ns, st.IntN(3))
		case 1:
			more = "  volumeMode: Block\n"
		}
		st.add(st.create(st.made(fmt.Sprint("v", i), size, class, tier(), more)))
	}
	volumes, claims := 3, 0
	for range 6 {
		switch st.IntN(8) {
		case 0, 1, 2:
			st.add(st.alone(st.create(ask(fmt.Sprint("mine-", claims), one(st, 1, 3, 5, 8, 20), one(st, class, class, class, "other"), one(st, "", "", "gold", "silver"), ""))))
			claims++
		case 3:
			st.add(st.alone(st.create(ask(fmt.Sprint("mine-", claims), one(st, 1, 3, 8), class, "", fmt.Sprintf("  volumeName: %s-v%d\n", st.ns, st.IntN(volumes+1))))))
			claims++
		case 4:
			st.add(st.create(st.made(fmt.Sprint("v", volumes), 10+volumes, class, tier(), "")))
			volumes++
		case 5, 6:
			if claims > 0 {
				st.add(st.maybe(st.drop("persistentvolumeclaims", fmt.Sprint("mine-", st.IntN(claims)))))
			}
		case 7:
			name := fmt.Sprintf("%s-v%d", st.ns, st.IntN(volumes))
			if st.IntN(2) == 0 {
				st.add(st.maybe(st.drop("persistentvolumes", name)))
			} else {
				st.add(st.maybe(st.patch("free "+name, "persistentvolumes", name, spec("claimRef", nil))))
			}
		}
	}
}

// drop is the step that deletes an object.
func (st *story) drop(resource, name string) step {
	return step{says: fmt.Sprintf("delete %s/%s", resource, name), do: func(ctx context.Context, s *side) error {
		return s.delete(ctx, resource, st.ns, name, metav1.DeletePropagationBackground)
	}}
}

// maybe is the step without the answer that there is no such object.
func (st *story) maybe(next step) step {
	do := next.do
	next.do = func(ctx context.Context, s *side) error {
		if err := do(ctx, s); err != nil && !strings.Contains(err.Error(), "not found") {
			return err
		}
		return nil
	}
	return next
}

// user is a pod that uses a claim, on the story's node of this number or on any.
func (st *story) user(name, claim string, node int) string {
	where := ""
	if node >= 0 {
		where = ", kubernetes.io/hostname: " + st.nodes[node]
	}
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  nodeSelector: {story: %s%s}
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: "nginx:1.27", volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: %s}}]
`, name, st.ns, where, claim)
}

func (st *story) claimOfClass() {
	class := one(st, "standard", "immediate", "default")
	user := st.create(st.user("first", "mine-0", one(st, 0, 2)))
	if st.IntN(4) == 0 { // the pod is there before its claim
		st.add(user, st.create(st.ask("mine-0", 1, class, "")))
	} else {
		st.add(st.create(st.ask("mine-0", 1, class, "")), user)
	}
	size := 1
	for range 4 {
		switch st.IntN(6) {
		case 0:
			size += 1 + st.IntN(3)
			st.add(st.patch(fmt.Sprintf("ask for %dGi", size), "persistentvolumeclaims", "mine-0", spec("resources", map[string]any{"requests": map[string]any{"storage": fmt.Sprintf("%dGi", size)}})))
		case 1: // elsewhere: it waits until the first is gone
			st.add(st.maybe(st.create(strings.Replace(st.user("second", "mine-0", 1), "second", fmt.Sprint("second-", len(st.steps)), 1))))
			if st.IntN(2) == 0 {
				st.add(st.maybe(st.drop("pods", "first")))
			}
		case 2:
			st.add(st.maybe(st.drop("pods", "first")))
		case 3:
			policy := one(st, "Retain", "Delete")
			st.add(step{says: "volumes have the policy " + policy, do: func(ctx context.Context, s *side) error {
				for _, v := range s.all("persistentvolumes", st.ns) {
					if err := s.patch(ctx, "persistentvolumes", "", v.GetName(), spec("persistentVolumeReclaimPolicy", policy)); err != nil {
						return err
					}
				}
				return nil
			}})
		case 4:
			st.add(st.create(st.ask(fmt.Sprint("mine-", len(st.steps)), 1, one(st, "standard", "immediate", "default"), "")))
		case 5: // it is in use
			st.add(st.drop("persistentvolumeclaims", "mine-0"), step{says: "delete every pod", do: st.noPods})
			return
		}
	}
	st.add(step{says: "delete every pod", do: st.noPods}, st.drop("persistentvolumeclaims", "mine-0"))
}

// noPods deletes the story's pods.
func (st *story) noPods(ctx context.Context, s *side) error {
	for _, p := range s.all("pods", st.ns) {
		if err := s.delete(ctx, "pods", st.ns, p.GetName(), metav1.DeletePropagationBackground); err != nil {
			return err
		}
	}
	return nil
}

// attaches are Events about the volume of a StatefulSet's pod. Whether there are any depends on whether the pod comes back to
// the node where its volume is still attached, and so on the scheduler's choice among nodes that are alike.
var attaches = regexp.MustCompile(`^Event Pod web-\d+: \w+ \w+AttachVolume `)

func (st *story) claimOfSet() {
	node, not := "", attaches
	if st.IntN(2) == 0 { // each to the same node again
		node, not = ", kubernetes.io/hostname: "+st.nodes[0], nil
	}
	st.add(st.create(fmt.Sprintf(`apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  replicas: %d
  persistentVolumeClaimRetentionPolicy: {whenDeleted: %s, whenScaled: %s}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: %s, resources: {requests: {storage: 1Gi}}}
  selector: {matchLabels: {app: web}}
  template:
%s`, 1+st.IntN(2), one(st, "Retain", "Delete"), one(st, "Retain", "Delete"), one(st, "standard", "immediate"),
		strings.NewReplacer(`image: "nginx:1.27"`, `image: "nginx:1.27", volumeMounts: [{name: data, mountPath: /data}]`, "story: "+st.ns, "story: "+st.ns+node).Replace(st.pods("")))))
	for range 2 {
		if st.IntN(3) == 0 {
			st.add(st.deletePods(1))
		} else {
			n := st.IntN(4)
			st.add(st.patch(fmt.Sprintf("scale to %d", n), "statefulsets", "web", spec("replicas", n)))
		}
	}
	for i := range st.steps { // volumes take longer to come than a step is calm
		st.steps[i].until = st.whole
	}
	st.add(st.remove("statefulsets", "web"))
	for i := range st.steps {
		st.steps[i].not = not
	}
}

// whole says that a StatefulSet has not all its pods, or more.
func (st *story) whole(s *side) string {
	for _, o := range s.all("statefulsets", st.ns) {
		want, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		has, _, _ := unstructured.NestedInt64(o.Object, "status", "replicas")
		ready, _, _ := unstructured.NestedInt64(o.Object, "status", "readyReplicas")
		if has != want || ready != want {
			return fmt.Sprintf("%d pods, %d of them ready, not %d", has, ready, want)
		}
	}
	return ""
}

func (st *story) claimOfPod() {
	class := one(st, "standard", "immediate")
	taken := st.IntN(3) == 0
	if taken { // the claim's name is
		st.add(st.create(st.ask("own-data", 1, class, "")))
	}
	own := strings.Replace(st.user("own", "", -1), "persistentVolumeClaim: {claimName: }",
		fmt.Sprintf("ephemeral: {volumeClaimTemplate: {metadata: {labels: {of: pod}}, spec: {accessModes: [ReadWriteOnce], storageClassName: %s, resources: {requests: {storage: 1Gi}}}}}", class), 1)
	st.add(st.create(own))
	if taken {
		st.add(st.drop("persistentvolumeclaims", "own-data"))
	}
	st.add(st.drop("pods", "own"))
	if st.IntN(2) == 0 {
		st.add(st.create(own), st.drop("persistentvolumeclaims", "own-data"), st.drop("pods", "own"))
	}
}
