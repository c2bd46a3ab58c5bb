package deployment

import (
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"kviz/cluster/client"
	"kviz/cluster/controller/pods"
)

// The annotations in which a Deployment's ReplicaSets keep its history.
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	revisionHistory    = "deployment.kubernetes.io/revision-history"
	desiredReplicas    = "deployment.kubernetes.io/desired-replicas"
	maxReplicas        = "deployment.kubernetes.io/max-replicas"

	maxHistoryChars = 2000
)

// ownAnnotations are not copied from the Deployment to its ReplicaSets.
var ownAnnotations = []string{
	corev1.LastAppliedConfigAnnotation, revisionAnnotation, revisionHistory,
	desiredReplicas, maxReplicas, appsv1.DeprecatedRollbackTo,
}

// findSets tells the new ReplicaSet from the old ones, gives it its revision,
// and creates it where it is missing and create says so
// (getAllReplicaSetsAndSyncRevision).
func (r *rollout) findSets(create bool) error {
	sortByAge(r.all)
	r.next, r.old = nil, nil
	for _, rs := range r.all {
		if r.next == nil && sameTemplate(&rs.Spec.Template, &r.d.Spec.Template) {
			r.next = rs
		} else {
			r.old = append(r.old, rs)
		}
	}
	revision := strconv.FormatInt(maxRevision(r.old)+1, 10)
	var err error
	switch {
	case r.next != nil:
		r.next, err = r.keepNext(revision)
	case create:
		r.next, err = r.createNext(revision)
	}
	return err
}

// sameTemplate compares two templates without their pod-template-hash
// (EqualIgnoreHash).
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	strip := func(t *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
		c := *t
		c.Labels = maps.Clone(t.Labels)
		delete(c.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		return &c
	}
	return equality.Semantic.DeepEqual(strip(a), strip(b))
}

// keepNext brings the annotations of the new ReplicaSet and the Deployment's
// revision up to date.
func (r *rollout) keepNext(revision string) (*appsv1.ReplicaSet, error) {
	rs := r.next.DeepCopy()
	changed := annotateNext(r.d, rs, revision, true)
	if changed || rs.Spec.MinReadySeconds != r.d.Spec.MinReadySeconds {
		rs.Spec.MinReadySeconds = r.d.Spec.MinReadySeconds
		r.run.Act("update", client.RefOf(rs), "revision "+rs.Annotations[revisionAnnotation], "revision "+r.next.Annotations[revisionAnnotation],
			"%s has the Deployment's template: it is revision %s; update its annotations", rs.Name, rs.Annotations[revisionAnnotation])
		return client.Update(r.run.T, r.Client, client.ReplicaSets, rs.Namespace, rs)
	}
	needs := r.setRevision(rs.Annotations[revisionAnnotation])
	if hasDeadline(r.d) && condition(&r.d.Status, appsv1.DeploymentProgressing) == nil {
		r.setCondition(&r.d.Status, appsv1.DeploymentProgressing, corev1.ConditionTrue, "FoundNewReplicaSet", "Found new replica set %q", rs.Name)
		needs = true
	}
	if needs {
		return rs, r.pushStatus()
	}
	return rs, nil
}

// createNext creates the ReplicaSet of the Deployment's template. Its name is
// made from the template, so creating it twice is refused, not done.
func (r *rollout) createNext(revision string) (*appsv1.ReplicaSet, error) {
	d := r.d
	hash := pods.Hash(&d.Spec.Template, d.Status.CollisionCount)
	rs := newSet(d, hash)
	size, how := newSize(d, append(r.sets(), rs), rs)
	*rs.Spec.Replicas = size
	annotateNext(d, rs, revision, false)
	r.run.Act("create", client.ReplicaSets.Ref(rs.Namespace, rs.Name), size, 0,
		"no ReplicaSet has the Deployment's template (hash %s): create %s as revision %s with %d replicas (%s)", hash, rs.Name, revision, size, how)
	made, err := client.Create(r.run.T, r.Client, client.ReplicaSets, d.Namespace, rs)
	switch {
	case apierrors.IsAlreadyExists(err):
		if made, err = r.resolveCollision(rs, err); err != nil {
			return nil, err
		}
		if r.setRevision(revision) {
			return made, r.pushStatus()
		}
		return made, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil, err
	case err != nil:
		const reason = "ReplicaSetCreateError"
		if hasDeadline(d) {
			r.setCondition(&d.Status, appsv1.DeploymentProgressing, corev1.ConditionFalse, reason, "Failed to create new replica set %q: %v", rs.Name, err)
			_ = r.pushStatus() // the creation's error is the one to report
		}
		r.Events.Event(r.run.T, d, corev1.EventTypeWarning, reason, "Failed to create new replica set %q: %v", rs.Name, err)
		return nil, err
	}
	if size > 0 {
		r.Events.Event(r.run.T, d, corev1.EventTypeNormal, "ScalingReplicaSet", "Scaled up replica set %s from 0 to %d", made.Name, size)
	}
	needs := r.setRevision(revision)
	if hasDeadline(d) {
		r.setCondition(&d.Status, appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetCreated", "Created new replica set %q", made.Name)
		needs = true
	}
	if needs {
		return made, r.pushStatus()
	}
	return made, nil
}

// newSet is the ReplicaSet of a template, with no replicas yet.
func newSet(d *appsv1.Deployment, hash string) *appsv1.ReplicaSet {
	template := *d.Spec.Template.DeepCopy()
	template.Labels = withHash(d.Spec.Template.Labels, hash)
	selector := d.Spec.Selector.DeepCopy()
	selector.MatchLabels = withHash(selector.MatchLabels, hash)
	name := d.Name
	if most := validation.DNS1123SubdomainMaxLength - 1 - len(hash); len(name) > most {
		name = name[:most]
	}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: name + "-" + hash, Namespace: d.Namespace, Labels: maps.Clone(template.Labels),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, client.Deployments.GVK())},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: new(int32), MinReadySeconds: d.Spec.MinReadySeconds, Selector: selector, Template: template},
	}
}

func withHash(set map[string]string, hash string) map[string]string {
	out := maps.Clone(set)
	if out == nil {
		out = map[string]string{}
	}
	out[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	return out
}

// resolveCollision handles a name that is taken: by the very ReplicaSet (the
// cache was late), or by one of another template with the same hash; then the
// collision count changes the hash for the next try.
func (r *rollout) resolveCollision(want *appsv1.ReplicaSet, taken error) (*appsv1.ReplicaSet, error) {
	obj, ok := r.Controller.sets.Get(want.Namespace + "/" + want.Name)
	if !ok {
		return nil, apierrors.NewNotFound(client.ReplicaSets.GroupResource(), want.Name)
	}
	rs := obj.(*appsv1.ReplicaSet)
	if metav1.IsControlledBy(rs, r.d) && sameTemplate(&r.d.Spec.Template, &rs.Spec.Template) {
		return rs, nil
	}
	n := int32(1)
	if r.d.Status.CollisionCount != nil {
		n += *r.d.Status.CollisionCount
	}
	r.d.Status.CollisionCount = &n
	r.run.Act("update", client.RefOf(r.d), n, n-1, "another template has the hash in %s: count the collision (%d), so that the next try gets another hash", want.Name, n)
	_ = r.pushStatus() // the next run tries again either way
	return nil, taken
}

func maxRevision(sets []*appsv1.ReplicaSet) (most int64) {
	for _, rs := range sets {
		most = max(most, revisionOf(rs))
	}
	return most
}

func revisionOf(rs *appsv1.ReplicaSet) int64 {
	n, _ := strconv.ParseInt(rs.Annotations[revisionAnnotation], 10, 64)
	return n
}

// setRevision notes the revision on the Deployment itself.
func (r *rollout) setRevision(revision string) bool {
	if r.d.Annotations[revisionAnnotation] == revision {
		return false
	}
	if r.d.Annotations == nil {
		r.d.Annotations = map[string]string{}
	}
	r.d.Annotations[revisionAnnotation] = revision
	return true
}

// annotateNext copies the Deployment's annotations to its new ReplicaSet and
// sets its revision. A ReplicaSet that becomes the new one again (a rollback)
// gets a new number; the numbers it had go to its history
// (SetNewReplicaSetAnnotations).
func annotateNext(d *appsv1.Deployment, rs *appsv1.ReplicaSet, revision string, exists bool) (changed bool) {
	if rs.Annotations == nil {
		rs.Annotations = map[string]string{}
	}
	for k, v := range d.Annotations {
		if have, ok := rs.Annotations[k]; slices.Contains(ownAnnotations, k) || ok && have == v {
			continue
		}
		rs.Annotations[k] = v
		changed = true
	}
	was, had := rs.Annotations[revisionAnnotation]
	wasN, err := strconv.ParseInt(was, 10, 64)
	if err != nil && was != "" {
		return false
	}
	if isN, _ := strconv.ParseInt(revision, 10, 64); wasN < isN {
		rs.Annotations[revisionAnnotation] = revision
		changed = true
		if had {
			remember(rs, was)
		}
	}
	if !exists && setSizes(rs, d) {
		changed = true
	}
	return changed
}

// remember appends a revision to the history, forgetting the oldest ones of a
// history that grows too long.
func remember(rs *appsv1.ReplicaSet, revision string) {
	history := rs.Annotations[revisionHistory]
	if history == "" {
		rs.Annotations[revisionHistory] = revision
		return
	}
	all := append(strings.Split(history, ","), revision)
	for len(strings.Join(all, ",")) > maxHistoryChars && len(all) > 1 {
		all = all[1:]
	}
	rs.Annotations[revisionHistory] = strings.Join(all, ",")
}

// setSizes notes what the ReplicaSet was sized for (SetReplicasAnnotations).
func setSizes(rs *appsv1.ReplicaSet, d *appsv1.Deployment) (changed bool) {
	if rs.Annotations == nil {
		rs.Annotations = map[string]string{}
	}
	set := func(key string, n int32) {
		if v := strconv.Itoa(int(n)); rs.Annotations[key] != v {
			rs.Annotations[key] = v
			changed = true
		}
	}
	set(desiredReplicas, *d.Spec.Replicas)
	set(maxReplicas, *d.Spec.Replicas+maxSurge(d))
	return changed
}

// annotated reads one of those notes.
func annotated(rs *appsv1.ReplicaSet, key string) (int32, bool) {
	n, err := strconv.ParseUint(rs.Annotations[key], 10, 31)
	return int32(n), err == nil
}

// cleanUp deletes the oldest ReplicaSets beyond revisionHistoryLimit
// (cleanupDeployment).
func (r *rollout) cleanUp() error {
	limit := r.d.Spec.RevisionHistoryLimit
	if limit == nil || *limit == 1<<31-1 {
		return nil
	}
	var alive []*appsv1.ReplicaSet
	for _, rs := range r.old {
		if rs.DeletionTimestamp == nil {
			alive = append(alive, rs)
		}
	}
	surplus := len(alive) - int(*limit)
	if surplus <= 0 {
		return nil
	}
	sortByAge(alive)
	sort.SliceStable(alive, func(i, j int) bool { return revisionOf(alive[i]) < revisionOf(alive[j]) })
	for _, rs := range alive[:surplus] {
		if rs.Status.Replicas != 0 || *rs.Spec.Replicas != 0 || rs.Generation > rs.Status.ObservedGeneration {
			continue
		}
		r.run.Act("delete", client.RefOf(rs), *limit, len(alive),
			"revisionHistoryLimit is %d, %d old ReplicaSets exist: delete %s (revision %d)", *limit, len(alive), rs.Name, revisionOf(rs))
		err := r.Client.Delete(r.run.T, client.ReplicaSets, rs.Namespace, rs.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// sortByAge sorts by creation time, then name (ReplicaSetsByCreationTimestamp).
func sortByAge(sets []*appsv1.ReplicaSet) {
	sort.Slice(sets, func(i, j int) bool {
		if sets[i].CreationTimestamp.Equal(&sets[j].CreationTimestamp) {
			return sets[i].Name < sets[j].Name
		}
		return sets[i].CreationTimestamp.Before(&sets[j].CreationTimestamp)
	})
}
