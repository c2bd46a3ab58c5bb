package legacytoken

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// sync marks or deletes the Secret of one token if nobody has used it for long enough
// (evaluateSATokens, of one Secret).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.secrets.Get(run.Key)
	if !ok {
		return nil
	}
	s := obj.(*corev1.Secret)
	if s.Type != corev1.SecretTypeServiceAccountToken || s.DeletionTimestamp != nil {
		return nil
	}
	sa := c.account(s)
	switch {
	case sa == nil:
		run.Waits("the token %s is of no service account that there is: it is not cleaned up", s.Name)
		return nil
	case !lists(sa.Secrets, s.Name):
		run.Waits("the token %s was made by hand, for the service account %s does not list it in its secrets: it is never cleaned up", s.Name, sa.Name)
		return nil
	}
	due, why, err := c.due(run, s)
	if err != nil {
		run.Waits("%v: the token %s stays", err, s.Name)
		return nil
	}
	if c.waits(run, s, due, why) {
		return nil
	}
	tracked, err := c.tracked(run)
	if err != nil {
		c.later(run, "it is not known since when the use of tokens is written down (%v): the token %s stays, and is looked at again in 24h", err, s.Name)
		return nil
	}
	if c.waits(run, s, tracked.Add(CleanUpPeriod), "the use of tokens has been written down since "+tracked.AddDate(0, 0, -1).Format(dateFormat)) {
		return nil
	}
	if pod := c.mounts(run, s); pod != "" {
		c.later(run, "the token %s was not used for a year, but the pod %s has the Secret: it stays, and is looked at again in 24h", s.Name, pod)
		return nil
	}
	return c.clean(run, s, why)
}

// due is when the labels of a Secret let its token be marked, or deleted if it is marked.
func (c *Controller) due(run *reconcile.Run, s *corev1.Secret) (due time.Time, why string, err error) {
	due = s.CreationTimestamp.Add(CleanUpPeriod + 1) // not before the period is over
	why = "it was made on " + s.CreationTimestamp.UTC().Format(dateFormat) + " and nobody has used it"
	if day, ok := s.Labels[lastUsedLabel]; ok {
		used, err := time.Parse(dateFormat, day)
		if err != nil {
			return due, "", fmt.Errorf("the label %s is no date: %w", lastUsedLabel, err)
		}
		if at := overOn(used); at.After(due) {
			due = at
		}
		why = "it was last used on " + day
	}
	if since, err := time.Parse(dateFormat, s.Labels[invalidSinceLabel]); err == nil {
		if at := overOn(since); at.After(due) {
			due = at
		}
		why += ", and it has been invalid since " + s.Labels[invalidSinceLabel]
	}
	return due, why, nil
}

// overOn is when a year has passed after a day, to its end: days are compared, not times.
func overOn(day time.Time) time.Time { return day.AddDate(0, 0, 1).Add(CleanUpPeriod) }

// marked reports whether the token of a Secret has been marked invalid.
func marked(s *corev1.Secret) bool {
	_, err := time.Parse(dateFormat, s.Labels[invalidSinceLabel])
	return err == nil
}

// waits reports whether the time of a Secret has not come, and has it looked at again when it has.
func (c *Controller) waits(run *reconcile.Run, s *corev1.Secret, due time.Time, why string) bool {
	if at := c.changed[run.Key]; at.After(due) {
		due = at
	}
	now := run.T.Now()
	look := c.look(due)
	if !look.After(now) {
		return false
	}
	next := "marked invalid"
	if marked(s) {
		next = "deleted"
	}
	run.Waits("the token %s stays: %s. At the look of %s, in %s, a year without use is over, and it is %s", s.Name, why, look.UTC().Format("2006-01-02 15:04"), span(look.Sub(now)), next)
	run.Again(look.Sub(now))
	return true
}

// span is how long something takes, as a person says it.
func span(d time.Duration) string {
	if days := int(d.Round(time.Hour).Hours()) / 24; days > 1 {
		return strconv.Itoa(days) + " days"
	}
	return d.Round(time.Minute).String()
}

// look is the first of the daily looks at or after a time.
func (c *Controller) look(at time.Time) time.Time {
	if !at.After(c.began) {
		return c.began
	}
	return c.began.Add((at.Sub(c.began) + syncInterval - 1) / syncInterval * syncInterval)
}

// later has the Secret looked at again at the next look, and says why.
func (c *Controller) later(run *reconcile.Run, why string, args ...any) {
	run.Waits(why, args...)
	now := run.T.Now()
	run.Again(c.look(now.Add(1)).Sub(now))
}

// tracked is from when on the API server has certainly written down the use of tokens: the day
// after it began to (latestPossibleTrackedSinceTime).
func (c *Controller) tracked(run *reconcile.Run) (time.Time, error) {
	cm, err := client.Get[*corev1.ConfigMap](run.T, c.Client, client.ConfigMaps, metav1.NamespaceSystem, trackingName)
	if err != nil {
		return time.Time{}, err
	}
	since, ok := cm.Data[trackingSince]
	if !ok {
		return time.Time{}, fmt.Errorf("the ConfigMap %s has no key %s", trackingName, trackingSince)
	}
	day, err := time.Parse(dateFormat, since)
	if err != nil {
		return time.Time{}, fmt.Errorf("in the ConfigMap %s: %w", trackingName, err)
	}
	return day.AddDate(0, 0, 1), nil
}

// mounts is a pod that refers to a Secret, or "" (getMountedSecretNames).
func (c *Controller) mounts(run *reconcile.Run, s *corev1.Secret) string {
	all := c.pods.ListNamespace(s.Namespace)
	run.Look(len(all))
	for _, obj := range all {
		pod, found := obj.(*corev1.Pod), false
		podutil.VisitPodSecretNames(pod, func(name string) bool {
			found = found || name == s.Name
			return !found
		})
		if found {
			return pod.Name
		}
	}
	return ""
}

// clean marks the token of a Secret invalid, or deletes one that has been so for a year. What
// fails is tried at the next look.
func (c *Controller) clean(run *reconcile.Run, s *corev1.Secret, why string) error {
	if !marked(s) {
		today := run.T.Now().UTC().Format(dateFormat)
		patch, err := json.Marshal(map[string]any{
			"kind": "Secret", "apiVersion": "v1",
			"metadata": map[string]any{"name": s.Name, "namespace": s.Namespace, "uid": s.UID, "labels": map[string]string{invalidSinceLabel: today}},
		})
		if err != nil {
			return fmt.Errorf("writing the label of Secret %s: %w", run.Key, err)
		}
		run.Act("patch", client.RefOf(s), nil, nil, "the token %s was not used for a year: %s. Mark it invalid since %s: the API server refuses it from now on, and it is deleted if a year passes", s.Name, why, today)
		if _, err := c.Client.Patch(run.T, client.Secrets, s.Namespace, s.Name, types.MergePatchType, patch, ""); err != nil {
			c.later(run, "the token %s could not be marked invalid (%v): it is tried again in 24h", s.Name, err)
		}
		return nil
	}
	run.Act("delete", client.RefOf(s), nil, nil, "the token %s was not used for a year: %s, which nobody has minded for a year. Delete it", s.Name, why)
	err := c.Client.Delete(run.T, client.Secrets, s.Namespace, s.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &s.ResourceVersion}})
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		c.later(run, "the token %s could not be deleted (%v): it is tried again in 24h", s.Name, err)
	}
	return nil
}
