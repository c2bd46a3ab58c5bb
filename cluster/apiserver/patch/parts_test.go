package patch

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
)

// A patch applied to the parts it names is the patch applied to the whole object,
// and where that is refused, so is this.
func TestPatchOfPartsIsThePatchOfTheWhole(t *testing.T) {
	node := &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "7", Labels: map[string]string{"a": "1", "b": "2"}, CreationTimestamp: metav1.NewTime(time.Unix(9, 0))},
		Spec:       corev1.NodeSpec{PodCIDR: "10.0.0.0/24", Taints: []corev1.Taint{{Key: "a", Effect: "NoSchedule"}, {Key: "b", Effect: "NoExecute"}}},
		Status: corev1.NodeStatus{
			Capacity:   corev1.ResourceList{"cpu": resource.MustParse("4")},
			Conditions: []corev1.NodeCondition{{Type: "Ready", Status: "False", Reason: "Young"}, {Type: "DiskPressure", Status: "False"}},
			Images:     []corev1.ContainerImage{{Names: []string{"nginx"}, SizeBytes: 5}},
		},
	}
	parts := 0
	for _, patch := range []string{
		`{"metadata":{"resourceVersion":"7"},"spec":{"taints":[]}}`,
		`{"spec":{"taints":[{"key":"c","effect":"NoSchedule"}]}}`,
		`{"spec":{"taints":null,"unschedulable":true}}`,
		`{"spec":null}`,
		`{"metadata":{"labels":{"a":null,"c":"3"}}}`,
		`{"status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"},{"type":"New","status":"True"}]}}`,
		`{"status":{"conditions":[{"type":"Ready","$patch":"delete"}]}}`,
		`{"status":{"$patch":"replace","phase":"Running"}}`,
		`{"status":{"images":[{"names":["redis"]}],"capacity":{"cpu":"8"}}}`,
		`{"status":{"nonsense":1}}`,
		`{"status":3}`,
		`{"spec":{"taints":{}}}`,
		`{"kind":"Pod"}`,
		`{"$patch":"replace","spec":{}}`,
		`{}`, `{`, `[]`,
	} {
		for _, pt := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
			p := &Patch{Kind: registry.KindFor(client.Nodes.GroupVersionResource), System: true, Type: pt, Data: []byte(patch)}
			before := node.DeepCopy()
			got, ok, err := p.parts(node)
			if !equality.Semantic.DeepEqual(node, before) {
				t.Fatalf("%s %s changed the old node", pt, patch)
			}
			if !ok {
				continue
			}
			parts++
			warned := len(p.warnings)
			want, wantErr := p.whole(node)
			if (err == nil) != (wantErr == nil) || err == nil && (!equality.Semantic.DeepEqual(got, want) || warned != len(p.warnings)-warned) {
				t.Errorf("%s %s\ngot  %+v %v\nwant %+v %v", pt, patch, got, err, want, wantErr)
			}
		}
	}
	if parts < 20 {
		t.Errorf("%d patches were applied to parts", parts)
	}
}
