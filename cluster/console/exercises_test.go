package console_test

import (
	"testing"

	"kviz/cluster/console"
)

// What exercises pipe kubectl into, as people type it.
func TestExercises(t *testing.T) {
	b := newBench(t, console.Config{})
	b.Stand(t.TempDir())
	golden(t, "exercises.txt", b.run(t,
		`for n in web-1 web-2 db-1; do kubectl run $n --image=nginx:1.26 -l app=${n%-*}; done`,
		`kubectl get pods -o json | jq -r '.items[].metadata.name'`,
		`kubectl get pods -o json | jq -r '.items[] | [.metadata.name, .spec.containers[0].image] | @tsv'`,
		`kubectl get pods --no-headers | awk '{print $1}'`,
		`kubectl get pods -A | sort -k2 | uniq -c | sort -rn | head -2 | awk '{print $1, $2}'`,
		`kubectl get pods -o yaml | grep -A1 'kind: Pod' | head -5`,
		`kubectl get pods | grep -v NAME | wc -l`,
		`kubectl get pods | sed 1d | cut -d' ' -f1 | tr a-z A-Z`,
		`kubectl get pods | awk 'NR>1 {c[$3]++} END {for (s in c) print s, c[s]}'`,
		`kubectl get ns | column -t`,
		`kubectl get pod web-1 -o yaml | sed 's/nginx:1.26/nginx:1.27/' | kubectl apply -f - 2>&1 | grep -v Warning`,
		`kubectl get pods -o jsonpath='{.items[*].spec.containers[0].image}' | tr ' ' '\n' | sort | uniq -c`,
		`kubectl create configmap x --from-literal=a=1 -o yaml --dry-run=client | tee x.yaml | kubectl apply -f -`,
		`cat x.yaml | grep kind; ls`,
		`sed -i 's/a: "1"/a: "2"/' x.yaml && kubectl apply -f x.yaml && kubectl get cm x -o json | jq -r .data.a`,
		`kubectl get cm x -o yaml > before.yaml; kubectl patch cm x -p '{"data":{"b":"3"}}'; diff before.yaml <(kubectl get cm x -o yaml) | grep '^[<>]   *[ab]:'`,
		`kubectl create secret generic s --from-literal=password=geheim; kubectl get secret s -o jsonpath='{.data.password}' | base64 -d; echo`,
		`kubectl get secret s -o json | jq -r '.data | map_values(@base64d)' -c`,
		`kubectl get pods -o name | xargs -n1 echo checking`,
		`kubectl get pods --no-headers | awk '/^web/ {print $1}' | xargs kubectl delete pod --grace-period=0 --force 2>/dev/null`,
		`kubectl get pods -o name | xargs -I{} sh -c 'echo {}; kubectl get {} -o jsonpath={.spec.containers[0].image}; echo'`,
		`kubectl get nothing -o name | xargs -r kubectl describe`,
		`kubectl get pods -o name | xargs -n1 kubectl describe -n kube-system 2>&1 | cut -c1-40; echo x | xargs kubectl get pod; echo $?`,
		`echo a b c | xargs; echo 'a "b c" d' | xargs -n1; printf 'a\0b c\0' | xargs -0 -n1 echo; echo a,b | xargs -d, -t echo`,
		`echo "it's" | xargs; xargs -n 0 < x.yaml; echo x | xargs nosuchcommand; echo x | xargs false; echo $?`,
		`seq 3 | xargs -P 4 -I N echo item N`,
		`watch kubectl get pods`,
		`timeout 5s watch -n 2 'date +%S; kubectl get pods --no-headers | wc -l'`,
		`timeout 7s watch -t -n 2 echo same`,
		`watch -g -n 1 'date +%s | cut -c 1-9'`,
		`watch`,
		`X=1; export Y=2; sh -c 'echo "$X $Y $0 $1"' me one; bash -c 'exit 7'; echo $?`,
		`echo 'echo from $1; kubectl get ns -o name | head -1' > s.sh; sh s.sh here; bash -e -c 'false; echo never'; echo 'echo piped' | sh`,
		`echo 'sh again.sh' > again.sh; sh again.sh 2>&1 | tail -1`,
		`sh; sh -c; sh nowhere.sh; sh -c 'sleep 1 & wait'`,
		`printf 'a1b22\n' | grep -o '[0-9]*'`,
		`kubectl get --raw /api/v1/namespaces | jq '.items | length'`,
		`kubectl get ns -o json | jq '.items[] | select(.status.phase == "Active") | .metadata.name' -r | sort | head -2`,
		`kubectl get pods -w | head -1`,
		`timeout 3s kubectl get pods -w | awk '{print NR": "$1}'`,
	))
}
