package fieldmanager

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The newest entry stands last, also where the machine's clock, by which the library has put it in
// its place, is before the cluster's.
func TestStampedEntriesStandInTheirOrder(t *testing.T) {
	at := func(second int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC)}
	}
	entry := func(manager string, at *metav1.Time, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: at, FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)},
		}
	}
	made := entry("kubectl-create", at(1), `{"f:data":{".":{}}}`)
	old, obj := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	old.ManagedFields = []metav1.ManagedFieldsEntry{made}
	obj.ManagedFields = []metav1.ManagedFieldsEntry{entry("kubectl-patch", &metav1.Time{Time: time.Unix(1e9, 0)}, `{"f:data":{"f:color":{}}}`), made}
	Stamp(*at(5), "kubectl-patch", old, obj)
	if e := obj.ManagedFields; e[0].Manager != "kubectl-create" || e[1].Manager != "kubectl-patch" || !e[1].Time.Equal(at(5)) {
		t.Errorf("the entries are %v", e)
	}
}
