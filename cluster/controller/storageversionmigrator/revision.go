package storageversionmigrator

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	svmv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// nowhere is a namespace that cannot be, of which a list is short (fakeSVMNamespaceName).
const nowhere = "@fake:svm_ns!"

// patience is how long a resource that is not served yet is waited for, from when the migration
// was created: discovery may be behind.
const patience = time.Minute

var errNotServed = errors.New("resource does not exist in our rest mapper, requeuing to attempt again")

// young reports whether a migration was created so lately that its resource may still come.
func young(run *reconcile.Run, m *svmv1.StorageVersionMigration) bool {
	return m.CreationTimestamp.Add(patience).After(run.T.Now())
}

// revision notes at which revision the store is when a migration begins
// (ResourceVersionController sync).
func (c *Controller) revision(run *reconcile.Run) error {
	m := c.get(run)
	if m == nil || !is(m, svmv1.MigrationRunning) || over(m) || m.Status.ResourceVersion != "" {
		return nil
	}
	r, ok := c.served(m)
	if !ok && young(run, m) {
		run.Waits("nobody serves %s: the migration %s fails if that is still so a minute after it was created", resourceOf(m), m.Name)
		return errNotServed
	}
	if !ok {
		return c.refuse(run, m, "resource does not exist in discovery")
	}
	needs := []string{"update", "patch", "list"} // verbsRequiredForMigration
	for _, verb := range needs {
		if !slices.Contains(r.Verbs, verb) {
			return c.refuse(run, m, fmt.Sprintf("resource %q does not support discovery operations: %v", r.GroupVersionResource.String(), needs))
		}
	}
	in := ""
	if r.Namespaced {
		in = nowhere
	}
	_, revision, err := c.Client.List(run.T, r.Resource, in, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("error getting latest resourceVersion for %s: %w", r.GroupVersionResource.String(), err)
	}
	m.Status.ResourceVersion = strconv.FormatInt(revision, 10)
	run.Act("update", client.RefOf(m), nil, nil, "the store is at revision %d: each object of %s that is as old or older will be written once more", revision, resourceOf(m))
	if err := c.updateStatus(run.T, m); err != nil {
		return fmt.Errorf("error updating status for %s: %w", m.Name, err)
	}
	return nil
}

// refuse ends a migration that cannot be done (failMigration of this controller).
func (c *Controller) refuse(run *reconcile.Run, m *svmv1.StorageVersionMigration, why string) error {
	run.Act("update", client.RefOf(m), nil, nil, "%s: the migration %s has failed, and is not tried again", why, m.Name)
	setOnce(run.T, m, svmv1.MigrationFailed, failedReason, why)
	return c.updateStatus(run.T, m)
}
