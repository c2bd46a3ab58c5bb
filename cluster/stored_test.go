package cluster_test

import (
	"bytes"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/raftstore/steady"
)

// What the store pane shows as a key's bytes it makes of the object in the trace:
// they are the store's own, byte for byte, of every kind a cluster holds and of a
// custom one (inventory 71).
func TestThePanesBytesAreTheStores(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 8, Bare: true, Nodes: 2})
		run(t, c, "cd "+t.TempDir()+`
kubectl create namespace shop
kubectl create deployment web --namespace shop --image=nginx:1.27 --replicas=2
kubectl expose deployment web --namespace shop --port=80
kubectl create secret generic till --namespace shop --from-literal=pin=1234
kubectl rollout status deployment/web --namespace shop
cat > crd.yaml << 'EOF'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: teas.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: teas, singular: tea, kind: Tea}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {leaf: {type: string}}}}}}
EOF
kubectl apply -f crd.yaml
kubectl wait --for=condition=Established crd/teas.example.com --timeout=30s
cat > tea.yaml << 'EOF'
apiVersion: example.com/v1
kind: Tea
metadata: {name: green, namespace: shop}
spec: {leaf: sencha}
EOF
kubectl apply -f tea.yaml
`)
		shown := view.NewBuilder()
		var held map[string][]byte
		var failed error
		if err := c.Kernel().Do(func() {
			events, _, _ := c.Trace().Read(c.Trace().First(), 1<<20)
			for _, e := range events {
				shown.Apply(e)
			}
			held, failed = c.Held()
		}); err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		s := shown.Live()
		kinds := map[string]int{}
		s.Store.Keys("", func(k *view.Key) bool {
			got := k.Raw
			if o := s.ObjectOf(k.Ref); o != nil && o.Value != nil && len(got) == 0 {
				var err error
				if got, err = trace.Stored(trace.Obj(o.Value)); err != nil {
					t.Errorf("%s: %v", k.Key, err)
				}
			}
			if !bytes.Equal(got, held[k.Key]) {
				t.Errorf("%s: the pane shows %d bytes, the store holds %d:\n%q\n%q", k.Key, len(got), len(held[k.Key]), got, held[k.Key])
			}
			kinds[k.Ref.Kind]++
			delete(held, k.Key)
			return true
		})
		for key := range held {
			t.Errorf("the pane does not know %s", key)
		}
		for _, kind := range []string{"Pod", "Node", "Secret", "Deployment", "ReplicaSet", "EndpointSlice", "Lease", "Tea", "CustomResourceDefinition"} {
			if kinds[kind] == 0 {
				t.Errorf("no %s was compared", kind)
			}
		}
	})
}
