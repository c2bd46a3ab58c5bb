package cluster_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/client"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// kindsStory is what is typed after an object of every kind was applied.
const kindsStory = `kubectl get ep,pvc,pv,podtemplates,rc -A
kubectl get controllerrevisions,ds,sts -A -o wide
kubectl get hpa,cj,jobs,pdb -A -o wide
kubectl get horizontalpodautoscalers.v1.autoscaling web -o yaml
kubectl get csr,runtimeclasses
kubectl get ingressclasses,ing,ip,netpol,servicecidrs -A
kubectl get csidrivers,csinodes,csistoragecapacities,sc,volumeattachments,vac -A
kubectl get deviceclasses,devicetaintrules,resourceclaims,resourceclaimtemplates,resourceslices -A
kubectl get clustertrustbundles,podcertificaterequests,storageversionmigrations -A
kubectl get events.events.k8s.io web.17
kubectl get events web.17 -o jsonpath={.message}
kubectl describe sts db
kubectl describe pdb web
kubectl describe ingress web
kubectl describe pvc data
kubectl describe cronjob nightly
kubectl describe resourceclaim one-gpu
kubectl explain resourceslice.spec.pool
kubectl explain statefulset.spec.serviceName
kubectl scale sts/db --replicas=5
kubectl scale rc/web --replicas=5
kubectl get sts/db rc/web -o jsonpath={.items[*].spec.replicas}
kubectl certificate approve jane
kubectl get csr jane
kubectl get jobs --field-selector status.successful=0 -A -o name
kubectl get csr --field-selector spec.signerName=example.com/other
kubectl create job by-hand --image=busybox
kubectl create cronjob hourly --image=busybox --schedule="0 * * * *"
kubectl create pdb two --selector=app=db --min-available=2
kubectl create ingress two --rule="two.example.com/*=web:80"
kubectl create deployment web --image=nginx --replicas=0
kubectl autoscale deployment web --max=3 --cpu=50%
kubectl create poddisruptionbudget bad --selector=app=db --min-available=-2
kubectl patch sts db --type=merge -p '{"spec":{"serviceName":"other"}}'
kubectl create -f - <<< '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"of-once","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"once","uid":"'$(kubectl get job once -o jsonpath={.metadata.uid})'"}]}}'
kubectl delete job once
sleep 1
kubectl get cm of-once
kubectl get apiservice v1beta1.metrics.k8s.io
kubectl delete apiservice v1beta1.metrics.k8s.io
kubectl create namespace shop
kubectl create job -n shop sale --image=busybox
kubectl delete namespace shop
kubectl get jobs -n shop`

// Every built-in kind through kubectl: applied, listed by its short name with the
// columns of Kubernetes' own printers, described, changed, and deleted with what
// it owns. testdata/kinds.txt is what is seen.
func TestKubectlKinds(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		files, err := filepath.Glob("apiserver/testdata/kinds/*.yaml")
		if err != nil || len(files) == 0 {
			t.Fatalf("no manifests: %v", err)
		}
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		used := watched(c)
		slices.Sort(used)
		if used = slices.Compact(used); !slices.Equal(used, []string{"clustertrustbundles", "csidrivers", "csinodes", "storageclasses"}) {
			t.Errorf("of these alone a new cluster has objects, and there are watch caches of %v", used)
		}
		var told strings.Builder
		typed := func(shown, command string) {
			var out bytes.Buffer
			c.Console().RunScript(t.Context(), "typed", "set +e\n"+command+"\n", control.Streams{Out: &out, Err: &out})
			text := out.String()
			if strings.Contains(text, "internal error") || strings.Contains(text, "panic") {
				t.Errorf("%s: %s", shown, text)
			}
			for _, v := range slices.Concat(identities, varying) {
				text = v.what.ReplaceAllString(text, v.name)
			}
			told.WriteString("$ " + shown + "\n" + text)
			if text != "" && !strings.HasSuffix(text, "\n") {
				told.WriteString("\n")
			}
		}
		for _, f := range files {
			yaml, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			typed("kubectl apply -f "+filepath.Base(f), "kubectl apply -f - <<'EOF'\n"+string(yaml)+"EOF")
		}
		for command := range strings.Lines(kindsStory) {
			command = strings.TrimSpace(command)
			typed(command, command)
		}
		golden(t, "kinds", told.String())
	})
}

// watched lists the kinds on demand that something watches at the store.
func watched(c *cluster.Cluster) []string {
	onDemand := map[string]bool{}
	for _, r := range client.All()[len(client.Resources()):] {
		onDemand[r.GroupVersionResource.Resource] = true
	}
	var out []string
	events, _, _ := c.Trace().Read(c.Trace().First(), 1<<20)
	for _, e := range events {
		if w, ok := e.Payload.(*trace.StoreWatch); ok && e.Kind == trace.StoreWatchOpened && onDemand[w.Name] {
			out = append(out, w.Name)
		}
	}
	return out
}
