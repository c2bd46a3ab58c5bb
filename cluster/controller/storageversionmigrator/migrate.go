package storageversionmigrator

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	svmv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// monitorTimeout is how long a cache that is not filled yet is waited for.
const monitorTimeout = 10 * time.Second

// migrate has all objects written once more that are older than the migration (SVMController
// sync).
func (c *Controller) migrate(run *reconcile.Run) error {
	m := c.get(run)
	if m == nil {
		return nil
	}
	run.Converged(client.RefOf(m), m.Generation, is(m, svmv1.MigrationSucceeded))
	if over(m) || m.Status.ResourceVersion == "" {
		return nil
	}
	r, ok := c.served(m)
	if !ok && young(run, m) {
		return fmt.Errorf("resource does not exist in rest mapper, requeuing to attempt again")
	}
	if !ok {
		return c.fail(run, m, "unable to obtain GVR from discovery")
	}
	if r.GroupVersionResource == client.Events.GroupVersionResource || r.GroupVersionResource == client.NewEvents.GroupVersionResource {
		run.Waits("the migration %s gets no further: its objects would come from the garbage collector's cache, which has no events", m.Name)
		return fmt.Errorf("no monitor found for resource %s", r.GroupVersionResource.String())
	}
	var all []runtime.Object
	if c.mayHaveObjects(r.Resource) {
		cache := c.Informers.For(r.Resource)
		if !cache.WaitForSyncWithin(run.T, monitorTimeout) {
			if young(run, m) {
				return fmt.Errorf("resource does not exist in GC, requeuing to attempt again")
			}
			return c.fail(run, m, "resource does not exist in GC: %!w(<nil>)") // the words of upstream, which wraps no error
		}
		seen := strconv.FormatInt(cache.Revision(), 10)
		behind, err := resourceversion.CompareResourceVersion(seen, m.Status.ResourceVersion)
		if err != nil {
			return c.fail(run, m, fmt.Sprintf("error comparing resource versions between GC and SVM resource: %s", err))
		}
		if behind == -1 {
			run.Waits("the cache of %s has seen revision %s, and the migration %s begins when it has seen %s: a bookmark of its watch comes within a minute", resourceOf(m), seen, m.Name, m.Status.ResourceVersion)
			return fmt.Errorf("GC cache is not up to date, requeuing to attempt again. gcListResourceVersion: %s, listResourceVersion: %s", seen, m.Status.ResourceVersion)
		}
		all = cache.List()
	}
	return c.write(run, m, r.Resource, all)
}

// write patches the objects that are as old as the migration, or older (runMigration).
func (c *Controller) write(run *reconcile.Run, m *svmv1.StorageVersionMigration, r client.Resource, all []runtime.Object) error {
	run.Look(len(all))
	var old []metav1.Object
	for _, obj := range all {
		o, err := meta.Accessor(obj)
		if err != nil {
			return c.fail(run, m, err.Error())
		}
		newer, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), m.Status.ResourceVersion)
		if err != nil {
			return c.fail(run, m, err.Error())
		}
		if newer != 1 {
			old = append(old, o)
		}
	}
	p := progress{left: len(old), all: len(all)}
	for _, o := range old {
		err := c.patch(run, r, o, p)
		switch {
		case err == nil, apierrors.IsConflict(err), apierrors.IsNotFound(err): // somebody else has written it, or deleted it
			p.left--
		case retriable(err):
			if set(run.T, m, svmv1.MigrationRunning, runningReason, runningMessage(p, err)) {
				_ = c.updateStatus(run.T, m) // all are tried again in any case
			}
			return err
		default:
			return c.failAmid(run, m, p, err)
		}
	}
	running := set(run.T, m, svmv1.MigrationRunning, runningReason, runningMessage(p, nil))
	if !set(run.T, m, svmv1.MigrationSucceeded, succeededReason, "Migration completed") && !running {
		return nil
	}
	run.Act("update", client.RefOf(m), nil, nil, "of %d objects of %s %d were older than revision %s, and each of these is written or gone: the migration %s has succeeded", p.all, resourceOf(m), len(old), m.Status.ResourceVersion, m.Name)
	return c.updateStatus(run.T, m)
}

// patch has one object written as it is, if it is still as the cache has it.
func (c *Controller) patch(run *reconcile.Run, r client.Resource, o metav1.Object, p progress) error {
	data, err := json.Marshal(map[string]any{
		"apiVersion": r.GroupVersion().String(), "kind": r.Kind, "metadata": map[string]string{"resourceVersion": o.GetResourceVersion()},
	})
	if err != nil {
		return err
	}
	run.Act("patch", r.Ref(o.GetNamespace(), o.GetName()), nil, nil, "%s %s is as it was written at revision %s, and %d of %d are left: send a patch that changes nothing, so that it is stored as it would be stored now", r.Kind, o.GetName(), o.GetResourceVersion(), p.left, p.all)
	_, err = c.Client.Patch(run.T, r, o.GetNamespace(), o.GetName(), types.MergePatchType, data, "")
	return err
}

// retriable reports whether a patch that failed may succeed later (isRetriableError).
func retriable(err error) bool {
	return client.IsUnreachable(err) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) || utilnet.IsProbableEOF(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsTimeout(err)
}
