package storageversionmigrator

import (
	"fmt"

	svmv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/sim"
)

func is(m *svmv1.StorageVersionMigration, what svmv1.MigrationConditionType) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, string(what))
}

// over reports whether a migration has ended (isTerminal).
func over(m *svmv1.StorageVersionMigration) bool {
	return is(m, svmv1.MigrationSucceeded) || is(m, svmv1.MigrationFailed)
}

// set makes a condition true, and reports whether that changes anything.
func set(t *sim.Task, m *svmv1.StorageVersionMigration, what svmv1.MigrationConditionType, reason, message string) bool {
	return meta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{
		Type: string(what), Status: metav1.ConditionTrue, LastTransitionTime: client.Now(t), Reason: reason, Message: message,
	})
}

// setOnce adds a condition that there is not yet (setStatusConditions).
func setOnce(t *sim.Task, m *svmv1.StorageVersionMigration, what svmv1.MigrationConditionType, reason, message string) {
	if had := meta.FindStatusCondition(m.Status.Conditions, string(what)); had == nil || had.Status == metav1.ConditionUnknown {
		m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{
			Type: string(what), Status: metav1.ConditionTrue, LastTransitionTime: client.Now(t), Reason: reason, Message: message,
		})
	}
}

func (c *Controller) updateStatus(t *sim.Task, m *svmv1.StorageVersionMigration) error {
	_, err := client.UpdateStatus(t, c.Client, client.StorageVersionMigrations, "", m)
	return err
}

// progress is how much of a migration is left: how many of all objects are not written yet.
type progress struct{ left, all int }

// runningMessage is what the condition Running says (migrationRunningMessage).
func runningMessage(p progress, transient error) string {
	msg := "The migration is running"
	switch {
	case p.all > 0 && p.left > 0:
		msg += fmt.Sprintf(", %d/%d objects not yet migrated", p.left, p.all)
	case p.all > 0:
		msg += fmt.Sprintf(", %d objects verified migrated", p.all)
	}
	if transient != nil {
		msg += fmt.Sprintf("; transient error: %s", transient)
	}
	return msg
}

// fail ends a migration for good (failMigration).
func (c *Controller) fail(run *reconcile.Run, m *svmv1.StorageVersionMigration, why string) error {
	if !set(run.T, m, svmv1.MigrationFailed, failedReason, "migration encountered unhandled error: "+why) {
		return nil
	}
	run.Act("update", client.RefOf(m), nil, nil, "%s: the migration %s has failed, and is not tried again", why, m.Name)
	return c.updateStatus(run.T, m)
}

// failAmid ends a migration at an object (failMigrationWithObjectsMigrated).
func (c *Controller) failAmid(run *reconcile.Run, m *svmv1.StorageVersionMigration, p progress, why error) error {
	running := set(run.T, m, svmv1.MigrationRunning, runningReason, runningMessage(p, nil))
	failed := set(run.T, m, svmv1.MigrationFailed, failedReason, fmt.Sprintf("%d/%d not yet migrated. migration encountered unhandled error: %s", p.left, p.all, why))
	if !running && !failed {
		return nil
	}
	run.Act("update", client.RefOf(m), nil, nil, "%v: the migration %s has failed with %d of %d objects left, and is not tried again", why, m.Name, p.left, p.all)
	return c.updateStatus(run.T, m)
}
