package storageversionmigrator

import (
	"encoding/json"
	"fmt"
	"strings"

	svmv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdac "k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// run ends what is over of the migrations of one resource, and lets the next one begin: of one
// resource one runs at a time (MigrationRunnerController sync).
func (c *Controller) run(run *reconcile.Run) error {
	all := c.migrations.List()
	run.Look(len(all))
	ended, next := c.of(run, schema.ParseGroupResource(run.Key))
	for _, m := range ended {
		if err := c.end(run, m); err != nil {
			return err
		}
	}
	if next == nil {
		return nil
	}
	return c.begin(run, next)
}

// of are the migrations of a resource that are over and still marked as running, and the one
// that may begin; nil for none (getSVMsForResource).
func (c *Controller) of(run *reconcile.Run, gr schema.GroupResource) (ended []*svmv1.StorageVersionMigration, next *svmv1.StorageVersionMigration) {
	var running *svmv1.StorageVersionMigration
	for _, obj := range c.migrations.List() {
		m := obj.(*svmv1.StorageVersionMigration)
		switch runs := is(m, svmv1.MigrationRunning); {
		case resourceOf(m) != gr:
		case runs && over(m):
			ended = append(ended, m.DeepCopy())
		case runs:
			running = m
		case !over(m) && (next == nil || before(m, next)):
			next = m
		}
	}
	if next != nil && running != nil {
		run.Waits("the migration %s waits: %s runs, and of %s one runs at a time", next.Name, running.Name, gr)
		next = nil
	}
	if next != nil {
		next = next.DeepCopy()
	}
	return ended, next
}

// before is the order in which migrations of a resource run (compareSVM).
func before(a, b *svmv1.StorageVersionMigration) bool {
	if i := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); i != 0 {
		return i < 0
	}
	return strings.Compare(a.Name, b.Name) < 0
}

// begin lets a migration begin (markAsActive).
func (c *Controller) begin(run *reconcile.Run, m *svmv1.StorageVersionMigration) error {
	name, err := c.definition(run, m)
	if err != nil {
		return err
	}
	if name != "" {
		err := reconcile.OnConflict(run.T, reconcile.Retry, func() error {
			crd, err := c.readDefinition(run, name)
			if err != nil {
				return err
			}
			run.Act("patch", client.RefOf(crd), nil, nil, "%s stores %s, and objects may be stored as one of [%s]: note that the migration %s runs, as of generation %d of the definition", crd.Name, storageVersion(crd), strings.Join(crd.Status.StoredVersions, " "), m.Name, crd.Generation)
			return c.apply(run, crd, apiextensionsv1.ConditionTrue, "MigrationRunning", fmt.Sprintf("Migration %s is running", m.Name), "")
		})
		if err != nil {
			return err
		}
	}
	run.Act("update", client.RefOf(m), nil, nil, "no other migration of %s runs: %s begins", resourceOf(m), m.Name)
	setOnce(run.T, m, svmv1.MigrationRunning, runningReason, runningMessage(progress{}, nil))
	return c.updateStatus(run.T, m)
}

// end marks a migration that is over as no longer running (cleanupAdmission).
func (c *Controller) end(run *reconcile.Run, m *svmv1.StorageVersionMigration) error {
	meta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{
		Type: string(svmv1.MigrationRunning), Status: metav1.ConditionFalse, Reason: "MigrationCompleted", Message: "Migration completed",
		ObservedGeneration: m.Generation, LastTransitionTime: client.Now(run.T),
	})
	name, err := c.definition(run, m)
	if err != nil {
		return err
	}
	if name != "" {
		if err := c.finish(run, name, is(m, svmv1.MigrationSucceeded)); err != nil {
			return err
		}
	}
	run.Act("update", client.RefOf(m), nil, nil, "the migration %s is over: it runs no longer, and the next one of %s may begin", m.Name, resourceOf(m))
	return c.updateStatus(run.T, m)
}

// finish tells the definition how the migration has ended. If nobody has changed it since the
// migration began, its objects are stored in one version only (finishCRDMigration).
func (c *Controller) finish(run *reconcile.Run, name string, success bool) error {
	return reconcile.OnConflict(run.T, reconcile.Retry, func() error {
		crd, err := c.readDefinition(run, name)
		if err != nil {
			return err
		}
		since := apihelpers.FindCRDCondition(crd, apiextensionsv1.StorageMigrating)
		same := since != nil && since.ObservedGeneration == crd.Generation
		reason, message, only := "MigrationFailed", "The migration has failed", ""
		if success {
			reason, message = "MigrationSucceeded", "The migration has succeeded but the stored versions have not been updated due to a generation mismatch"
			if same {
				message = "The migration has succeeded and the stored versions have been updated"
			}
		}
		why := fmt.Sprintf("somebody has changed %s since the migration began: status.storedVersions stays [%s]", crd.Name, strings.Join(crd.Status.StoredVersions, " "))
		if same { // after a failure too
			only = storageVersion(crd)
			why = fmt.Sprintf("%s is of generation %d as it was when the migration began: status.storedVersions becomes [%s], and was [%s]", crd.Name, crd.Generation, only, strings.Join(crd.Status.StoredVersions, " "))
		}
		run.Act("patch", client.RefOf(crd), nil, nil, "%s", why)
		return c.apply(run, crd, apiextensionsv1.ConditionFalse, reason, message, only)
	})
}

// definition is the name of the definition that makes a resource, or "" (crdForGroupResource).
func (c *Controller) definition(run *reconcile.Run, m *svmv1.StorageVersionMigration) (string, error) {
	name := m.Spec.Resource.Resource + "." + m.Spec.Resource.Group
	_, err := c.readDefinition(run, name)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	return name, err
}

func (c *Controller) readDefinition(run *reconcile.Run, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	return client.Get[*apiextensionsv1.CustomResourceDefinition](run.T, c.Client, client.CustomResourceDefinitions, "", name)
}

// storageVersion is the version in which a definition has objects stored.
func storageVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

// apply writes the condition of a definition, and if only is not "" the only version in which
// its objects are stored. The revision makes sure that it is still the definition that was read.
func (c *Controller) apply(run *reconcile.Run, crd *apiextensionsv1.CustomResourceDefinition, now apiextensionsv1.ConditionStatus, reason, message, only string) error {
	status := crdac.CustomResourceDefinitionStatus().WithConditions(crdac.CustomResourceDefinitionCondition().
		WithType(apiextensionsv1.StorageMigrating).WithStatus(now).WithLastTransitionTime(client.Now(run.T)).
		WithReason(reason).WithMessage(message).WithObservedGeneration(crd.Generation))
	if only != "" {
		status.WithStoredVersions(only)
	}
	configuration, err := json.Marshal(crdac.CustomResourceDefinition(crd.Name).WithResourceVersion(crd.ResourceVersion).WithStatus(status))
	if err != nil {
		return fmt.Errorf("writing the status of %s: %w", crd.Name, err)
	}
	_, err = c.Client.ApplyStatus(run.T, client.CustomResourceDefinitions, "", crd.Name, configuration, runnerName)
	return err
}
