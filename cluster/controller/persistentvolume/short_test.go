package persistentvolume

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A claim's selector may be a megabyte; the sentence about it is not, and however many volumes there
// are, it is parsed once.
func TestLongSelectorsAreCutShort(t *testing.T) {
	c := &Controller{cache: newCache()}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data"}}
	claim.Spec.Selector = &metav1.LabelSelector{}
	expression := metav1.LabelSelectorRequirement{Key: "x", Operator: metav1.LabelSelectorOpNotIn}
	for i := range 10000 {
		expression.Values = append(expression.Values, fmt.Sprint("value-", i))
	}
	claim.Spec.Selector.MatchExpressions = append(claim.Spec.Selector.MatchExpressions, expression)
	labels := map[string]string{}
	for i := range 1000 {
		labels[fmt.Sprint("label-", i)] = "x"
	}
	for i := range 10 {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("disk-", i), Labels: labels}}
		v.Status.Phase = corev1.VolumeAvailable
		c.cache.storeVolume(v)
	}
	if s := c.rejected(claim); len(s) > 2000 {
		t.Errorf("the sentence has %d bytes: %.300s", len(s), s)
	}
	selects := selection(claim)
	if v := c.cache.byName["disk-0"]; !selects(v) {
		t.Error("the volume is not selected")
	}
	claim.Spec.Selector.MatchExpressions = nil
	claim.Spec.Selector.MatchLabels = map[string]string{"no": "volume"}
	if v := c.cache.byName["disk-1"]; !selects(v) {
		t.Error("the selector is parsed for each volume")
	}
}
