# Every fault of the catalogue, done to every kind of target it applies to, what
# is felt of it through the ordinary interfaces, and what mends it. A section
# begins with the faults it tries; the first, without any, comes before each.

shows() { # COMMAND WORDS
  $1 | grep -q -- "$2" || { echo "not in what $1 shows: $2"; $1; return 1; }
}
hides() { # COMMAND WORDS
  if $1 | grep -q -- "$2"; then echo "still in what $1 shows: $2"; return 1; fi
}
fails() { # COMMAND…
  if "$@"; then echo "this went well, and should not: $*"; return 1; fi
}
settled() { # what was scaled is there, and every node is well
  kubectl rollout status deploy/web --timeout=10m >/dev/null
  kubectl wait --for=condition=Ready node --all --timeout=5m >/dev/null
}
says() { # EXPR: it holds soon, also where members take time of the machine
  kviz wait --timeout 10m "$1"
}
watched() { # the controller manager watches deployments
  says 'watchers.exists(w, w.client == "controller-manager" && w.resource == "deployments")'
}
pending() { # SERVICE: it has no address
  kubectl get service "$1" | grep -q pending
}
addressed() { # SERVICE: it gets an address
  kubectl wait --for=jsonpath='{.status.loadBalancer.ingress[0].ip}' "service/$1" --timeout=10m
}
claim() { # NAME: a claim that gets a volume at once
  echo '{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: '$1'}, spec: {storageClassName: immediate, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}' | kubectl create -f - >/dev/null
}
bound() { # NAME: it has its volume
  kubectl wait --for=jsonpath='{.status.phase}'=Bound pvc/$1 --timeout=10m >/dev/null
}
unbound() { # NAME: it has none
  test "$(kubectl get pvc $1 -o jsonpath='{.status.phase}')" = Pending || { echo "claim $1 has a volume"; return 1; }
}
user() { # NAME: a pod with the claim of its name
  kubectl run $1 --image=busybox --overrides='{"spec":{"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"'$1'"}}],"containers":[{"name":"app","image":"busybox","command":["sleep","36000"],"volumeMounts":[{"name":"d","mountPath":"/d"}]}]}}' >/dev/null
}
ready() { # NAME: the pod has its volume and runs
  kubectl wait --for=condition=Ready pod/$1 --timeout=15m >/dev/null
}
waits() { # NAME: the pod does not run
  test "$(kubectl get pod $1 -o jsonpath='{.status.phase}')" = Pending || { echo "pod $1 runs"; return 1; }
}
grows() { # NAME SIZE: the claim asks for more
  kubectl patch pvc $1 -p '{"spec":{"resources":{"requests":{"storage":"'$2'"}}}}' >/dev/null
}
grown() { # NAME SIZE: its disk has it
  kubectl wait --for=jsonpath='{.spec.capacity.storage}'=$2 pv/$(kubectl get pvc $1 -o jsonpath='{.spec.volumeName}') --timeout=10m >/dev/null
}
small() { # NAME SIZE: its disk has no more
  test "$(kubectl get pv $(kubectl get pvc $1 -o jsonpath='{.spec.volumeName}') -o jsonpath='{.spec.capacity.storage}')" = $2
}
about() { # OBJECT: what Events say of it
  kubectl get events --field-selector involvedObject.name=$1 -o custom-columns=MESSAGE:.message
}
wanted() { # N: so many replicas the controller manager wants of the deployment, whatever it says itself
  test "$(kubectl get rs -l app=web -o jsonpath='{.items[0].spec.replicas}')" = "$1"
}

##
kubectl create deployment web --image=nginx:1.27 --replicas=6
kubectl expose deployment web --port=80
kubectl run client --image=curlimages/curl:8.15.0 --overrides='{"spec":{"nodeName":"node-3"}}' -- sleep 3600
kubectl wait --for=condition=Ready pod/client --timeout=2m
settled

## lead member
kviz fault lead member/c
says 'store.leader == "c"'
kviz fault lead member/a
says 'store.leader == "a"'

## stop member, start member
kviz fault stop member/b
says 'store.members["b"].role == "stopped" && store.quorum.have == 2'
kubectl create configmap without-b
kviz fault start member/b
says 'store.members["b"].role == "follower" && store.members["b"].last == store.members["a"].last'

## crash member, start member
kviz fault crash member/a
says 'store.members["a"].role == "stopped"'
says 'store.leader != "" && store.leader != "a"'
kubectl create configmap without-a
kviz fault start member/a
says 'store.members["a"].role == "follower"'
kviz fault lead member/a
says 'store.leader == "a"'

## restart member
sleep 5
kviz fault restart member/b
says 'store.members["b"].up && time - store.members["b"].since < duration("4s")'
says 'store.members["b"].role == "follower"'

## cut member, heal member
kviz fault cut member/c
kubectl create configmap without-c
says 'store.members["c"].last < store.members["a"].last'
kviz fault heal member/c
says 'store.members["c"].last == store.members["a"].last'

## slow member, fast member
kviz fault slow member/b 50ms
kubectl create configmap while-b-is-slow
says 'store.members["b"].durable < store.members["a"].durable'
kviz fault fast member/b
says 'store.members["b"].durable == store.members["a"].durable'

## delay member
kviz fault delay member/a b 50ms
kubectl create configmap while-b-is-late
says 'store.members["b"].last < store.members["a"].last'
kviz fault heal member/a
says 'store.members["b"].last == store.members["a"].last'

## drop member
kviz fault drop member/a c 1
kubectl create configmap while-c-hears-nothing
says 'store.members["c"].last < store.members["a"].last'
kviz fault heal member/a
says 'store.members["c"].last == store.members["a"].last'

## fill member, free member
kviz fault fill member/c
kubectl create configmap while-c-is-full
says 'store.members["c"].diskError != "" || !store.members["c"].up'
kviz fault free member/c
kviz fault start member/c
says 'store.members["c"].up && store.members["c"].last == store.members["a"].last'

## stop scheduler, start scheduler
kviz fault stop scheduler
kubectl scale deploy/web --replicas=7
sleep 2
shows 'kubectl get pods' Pending
kviz fault start scheduler
settled
hides 'kubectl get pods' Pending

## crash scheduler, start scheduler
kviz fault crash scheduler
kubectl scale deploy/web --replicas=8
sleep 2
shows 'kubectl get pods' Pending
kviz fault start scheduler
settled

## restart scheduler
kviz fault restart scheduler
says 'processes["scheduler"].up && processes["scheduler"].reason == "fault: restart"'
kubectl scale deploy/web --replicas=9
settled

## stop controller-manager, start controller-manager
kviz fault stop controller-manager
kubectl scale deploy/web --replicas=6
sleep 2
shows 'kubectl get deploy web' 9/6
kviz fault start controller-manager
says 'object("deployments", "default", "web").status.replicas == 6'

## crash controller-manager, start controller-manager
kviz fault crash controller-manager
kubectl scale deploy/web --replicas=7
sleep 2
shows 'kubectl get deploy web' 6/7
kviz fault start controller-manager
settled

## restart controller-manager
kviz fault restart controller-manager
kubectl scale deploy/web --replicas=6
says 'object("deployments", "default", "web").status.replicas == 6'

## stop apiserver, start apiserver
kviz fault stop apiserver
fails kubectl get nodes
kviz fault start apiserver
sleep 1
shows 'kubectl get nodes' node-1

## crash apiserver, start apiserver
kviz fault crash apiserver
fails kubectl get nodes
kviz fault start apiserver
sleep 1
shows 'kubectl get nodes' node-1

## restart apiserver
kviz fault restart apiserver
sleep 1
shows 'kubectl get nodes' node-1
settled

## slow apiserver, fast apiserver
slowest() { # OP DURATION: whether the newest creation of a config map took so long
  says "requests.filter(r, r.verb == 'create' && r.resource == 'configmaps')[requests.filter(r, r.verb == 'create' && r.resource == 'configmaps').size()-1].took $1 duration('$2')"
}
kviz fault slow apiserver 3s
kubectl create configmap while-it-is-slow
slowest '>' 3s
kviz fault fast apiserver
kubectl create configmap while-it-is-fast
slowest '<' 1s

## stall informer, heal informer
watched
kviz fault stall informer/controller-manager/deployments
kubectl scale deploy/web --replicas=7
sleep 5
wanted 6
kviz fault heal informer/controller-manager/deployments
settled
kubectl scale deploy/web --replicas=6
settled

## slow informer, fast informer
watched
kviz fault slow informer/controller-manager/deployments 20s
kubectl scale deploy/web --replicas=7
sleep 15
wanted 6
sleep 10
wanted 7
kviz fault fast informer/controller-manager/deployments
kubectl scale deploy/web --replicas=6
settled

## cut informer
watched
kubectl scale deploy/web --replicas=7
settled
fails kviz wait --timeout 1s 'watchers.exists(w, w.client == "controller-manager" && w.resource == "deployments" && w.delivered == 0)'
kviz fault cut informer/controller-manager/deployments
says 'watchers.exists(w, w.client == "controller-manager" && w.resource == "deployments" && w.delivered == 0)'
kubectl scale deploy/web --replicas=6
settled

## hold informer, release informer
watched
kviz fault hold informer/controller-manager/deployments default/web
kubectl scale deploy/web --replicas=7
sleep 5
wanted 6
says 'watchers.exists(w, w.client == "controller-manager" && w.resource == "deployments" && w.held.exists(h, h.type == "MODIFIED" && h.unknown.exists(d, d.path == "spec.replicas" && d.from == "6" && d.to == "7")))'
kviz fault release informer/controller-manager/deployments
says 'watchers.all(w, w.held.size() == 0)'
settled
kubectl scale deploy/web --replicas=6
settled

## delay informer
watched
kviz fault stall informer/controller-manager/deployments
kubectl scale deploy/web --replicas=7
kubectl scale deploy/web --replicas=8
sleep 1
kviz fault delay informer/controller-manager/deployments default/web
kviz fault heal informer/controller-manager/deployments
says 'informers.exists(i, i.informer == "controller-manager" && i.resource == "deployments" && i.stale.exists(s, s.back && s.unknown.exists(d, d.path == "spec.replicas" && d.from == "7")))'
fails kviz fault release informer/controller-manager/deployments
kviz fault restart controller-manager
settled
kubectl scale deploy/web --replicas=6
settled

## drop informer
watched
kviz fault drop informer/controller-manager/deployments
kubectl scale deploy/web --replicas=7
sleep 60
wanted 6
says 'informers.exists(i, i.informer == "controller-manager" && i.resource == "deployments" && i.stale.size() == 1)'
kviz fault restart controller-manager
settled
says 'informers.all(i, i.stale.size() == 0)'
kubectl scale deploy/web --replicas=6
settled

## slow queue, fast queue
runs() { kviz print 'queues["replicaset"].gets'; }
flood() { # thirty changes of one pod; how many runs they come to
  before=$(runs)
  for i in $(seq 30); do kubectl annotate pod/"$pod" --overwrite flood=$i >/dev/null; done
  sleep 5
  echo $(($(runs) - before))
}
until [ "$(kubectl get pods -l app=web -o name | wc -l)" -eq 6 ]; do sleep 1; done # none that is about to go
pod=$(kubectl get pods -l app=web -o jsonpath='{.items[0].metadata.name}')
test "$(flood)" -ge 25
kviz fault slow queue/replicaset 1500ms
test "$(flood)" -le 3
kviz fault fast queue/replicaset
test "$(flood)" -ge 25

## stop controller, start controller
gone() { # deletes a pod, and tells how many there are a while later
  kubectl delete pod "$(kubectl get pods -l app=web -o jsonpath='{.items[0].metadata.name}')" >/dev/null
  sleep 20
  kubectl get pods -l app=web -o name | wc -l
}
kviz fault stop controller/replicaset-controller
test "$(gone)" -eq 5
kviz fault start controller/replicaset-controller
settled
test "$(gone)" -eq 6

## crash controller, start controller
kviz fault crash controller/deployment-controller
kubectl scale deploy/web --replicas=7
sleep 10
wanted 6
kviz fault start controller/deployment-controller
sleep 10
wanted 7

## restart controller
kviz fault restart controller/job-controller
test "$(kviz print 'processes["job-controller"].starts')" -eq 1

## slow controller, fast controller
kviz fault slow controller/replicaset-controller 1m
kubectl scale deploy/web --replicas=9
sleep 20
test "$(kubectl get pods -l app=web -o name | wc -l)" -lt 9
kviz fault fast controller/replicaset-controller
settled
test "$(kubectl get pods -l app=web -o name | wc -l)" -eq 9

## stop dns, start dns
kviz fault stop dns
fails kubectl exec client -- curl -s --max-time 5 web
kviz fault start dns
sleep 1
kubectl exec client -- curl -s web

## crash dns, start dns
kviz fault crash dns
fails kubectl exec client -- curl -s --max-time 5 web
kviz fault start dns
sleep 1
kubectl exec client -- curl -s web

## restart dns
kviz fault restart dns
says 'processes["dns"].up && processes["dns"].reason == "fault: restart"'
sleep 1
kubectl exec client -- curl -s web

## stop node, start node
kviz fault stop node/node-1
kubectl wait --for=condition=Ready=Unknown node/node-1 --timeout=2m
shows 'kubectl get nodes' NotReady
kviz fault start node/node-1
settled

## crash node, start node
kviz fault crash node/node-1
kubectl wait --for=condition=Ready=Unknown node/node-1 --timeout=2m
kviz fault start node/node-1
settled

## restart node
kubectl run steady --image=nginx:1.27 --overrides='{"spec":{"nodeName":"node-1"}}'
kubectl wait --for=condition=Ready pod/steady --timeout=2m
kviz fault restart node/node-1
kubectl wait --for=jsonpath='{.status.containerStatuses[0].restartCount}'=1 pod/steady --timeout=2m
settled

## cut node, heal node
kviz fault cut node/node-1
kubectl wait --for=condition=Ready=Unknown node/node-1 --timeout=2m
kviz fault heal node/node-1
settled

## slow node, fast node
kviz fault slow node/node-1 3s
kubectl run slowly --image=nginx:1.27 --overrides='{"spec":{"nodeName":"node-1"}}'
fails kubectl wait --for=condition=Ready pod/slowly --timeout=3s
kubectl wait --for=condition=Ready pod/slowly --timeout=2m
kviz fault fast node/node-1
kubectl run fast --image=nginx:1.27 --overrides='{"spec":{"nodeName":"node-1"}}'
kubectl wait --for=condition=Ready pod/fast --timeout=3s

## break-cni node, mend-cni node
kviz fault break-cni node/node-1
kubectl wait --for=condition=Ready=false node/node-1 --timeout=2m
shows 'kubectl describe node node-1' 'cni plugin not initialized'
kviz fault mend-cni node/node-1
settled

## pressure node, relieve node
kviz fault pressure node/node-1 memory
kviz fault pressure node/node-1 disk
kviz fault pressure node/node-1 pid
for what in Memory Disk PID; do
  kubectl wait --for=condition=${what}Pressure node/node-1 --timeout=2m
done
sleep 1
shows 'kubectl describe node node-1' 'node.kubernetes.io/memory-pressure:NoSchedule'
kviz fault relieve node/node-1
for what in Memory Disk PID; do
  kubectl wait --for=condition=${what}Pressure=false node/node-1 --timeout=10m
done

## flush node
shows 'on node-2 iptables-save' default/web
kviz fault flush node/node-2
hides 'on node-2 iptables-save' default/web
sleep 40
shows 'on node-2 iptables-save' default/web

## stop proxy, start proxy
kviz fault stop proxy/node-2
kubectl create service clusterip unseen --tcp=80
sleep 2
hides 'on node-2 iptables-save' default/unseen
kviz fault start proxy/node-2
sleep 2
shows 'on node-2 iptables-save' default/unseen
kubectl delete service unseen

## crash proxy, start proxy
kviz fault crash proxy/node-2
kubectl create service clusterip hidden --tcp=80
sleep 2
hides 'on node-2 iptables-save' default/hidden
kviz fault start proxy/node-2
sleep 2
shows 'on node-2 iptables-save' default/hidden
kubectl delete service hidden

## restart proxy
kviz fault restart proxy/node-2
says 'processes["proxy/node-2"].up && processes["proxy/node-2"].reason == "fault: restart"'
sleep 2
shows 'on node-2 iptables-save' default/web

## stop kubelet, start kubelet
kviz fault stop kubelet/node-2
kubectl wait --for=condition=Ready=Unknown node/node-2 --timeout=2m
kviz fault start kubelet/node-2
settled

## crash kubelet, start kubelet
kviz fault crash kubelet/node-2
kubectl wait --for=condition=Ready=Unknown node/node-2 --timeout=2m
kviz fault start kubelet/node-2
settled

## restart kubelet
kviz fault restart kubelet/node-2
says 'processes["kubelet/node-2"].up && processes["kubelet/node-2"].reason == "fault: restart"'
settled

## stop runtime, start runtime
kviz fault stop runtime/node-2
kubectl wait --for=condition=Ready=false node/node-2 --timeout=2m
kviz fault start runtime/node-2
settled

## fail csi-driver, heal csi-driver
kviz fault fail csi-driver create
claim c1
sleep 10
unbound c1
shows 'about c1' 'CreateVolume does not work'
kviz fault heal csi-driver
bound c1
kviz fault fail csi-driver stage
user c1
sleep 30
waits c1
shows 'about c1' 'MountVolume.MountDevice failed'
kviz fault heal csi-driver
ready c1

## full csi-driver, free csi-driver
kviz fault full csi-driver
claim c2
sleep 10
shows 'about c2' ResourceExhausted
kviz fault free csi-driver
bound c2

## stop csi-driver, start csi-driver
kviz fault stop csi-driver
claim c3
sleep 10
shows 'about c3' Unavailable
kviz fault start csi-driver
bound c3

## slow csi-driver, fast csi-driver
kviz fault slow csi-driver 20s
claim c4
sleep 15
shows 'about c4' DeadlineExceeded
kviz fault fast csi-driver
bound c4

## stop csi-provisioner, crash csi-provisioner, start csi-provisioner, restart csi-provisioner, slow csi-provisioner, fast csi-provisioner
kviz fault stop csi-provisioner
claim p1
sleep 20
unbound p1
kviz fault start csi-provisioner
bound p1
kviz fault crash csi-provisioner
claim p2
sleep 20
unbound p2
kviz fault restart csi-provisioner
bound p2
kviz fault slow csi-provisioner 1m
claim p3
sleep 20
unbound p3
kviz fault fast csi-provisioner
bound p3

## stop csi-attacher, crash csi-attacher, start csi-attacher, restart csi-attacher, slow csi-attacher, fast csi-attacher
claim a1
claim a2
claim a3
bound a1
bound a2
bound a3
kviz fault stop csi-attacher
user a1
sleep 60
waits a1
kviz fault start csi-attacher
ready a1
kviz fault crash csi-attacher
user a2
sleep 60
waits a2
kviz fault restart csi-attacher
ready a2
kviz fault slow csi-attacher 10m
user a3
sleep 60
waits a3
kviz fault fast csi-attacher
ready a3

## stop csi-resizer, crash csi-resizer, start csi-resizer, restart csi-resizer, slow csi-resizer, fast csi-resizer
claim r1
bound r1
kviz fault stop csi-resizer
grows r1 2Gi
sleep 20
small r1 1Gi
kviz fault start csi-resizer
grown r1 2Gi
kviz fault crash csi-resizer
grows r1 3Gi
sleep 20
small r1 2Gi
kviz fault restart csi-resizer
grown r1 3Gi
kviz fault slow csi-resizer 1m
grows r1 4Gi
sleep 20
small r1 3Gi
kviz fault fast csi-resizer
grown r1 4Gi

## stop registry, start registry
kviz fault stop registry
kubectl run late --image=httpd:2.4
sleep 40
shows 'kubectl get pod late' ImagePullBackOff
kviz fault start registry
kubectl wait --for=condition=Ready pod/late --timeout=10m

## slow registry, fast registry
kviz fault slow registry 100
kubectl run drip --image=redis:7 --overrides='{"spec":{"nodeName":"node-1"}}'
fails kubectl wait --for=condition=Ready pod/drip --timeout=60s
kubectl wait --for=condition=Ready pod/drip --timeout=30m
kviz fault fast registry
kubectl run flow --image=redis:7 --overrides='{"spec":{"nodeName":"node-2"}}'
kubectl wait --for=condition=Ready pod/flow --timeout=60s

## crash pod
kviz fault crash pod/default/late
kubectl wait --for=jsonpath='{.status.containerStatuses[0].restartCount}'=1 pod/late --timeout=1m
kviz fault crash pod/default/client client
kubectl wait --for=jsonpath='{.status.containerStatuses[0].restartCount}'=1 pod/client --timeout=1m

## stop kms, start kms
kviz apiserver encryption manifests/encryption/kms.yaml
kviz fault restart apiserver
sleep 1
kubectl create secret generic locked --from-literal=k=v
kviz fault stop kms
kviz fault restart apiserver
sleep 5
fails kubectl get secret locked
kviz fault start kms
sleep 15
kubectl get secret locked

## crash kms, start kms
kviz apiserver encryption manifests/encryption/kms.yaml
kviz fault restart apiserver
sleep 1
kubectl create secret generic bolted --from-literal=k=v
kviz fault crash kms
kviz fault restart apiserver
sleep 5
fails kubectl get secret bolted
kviz fault start kms
sleep 15
kubectl get secret bolted

## restart kms
kviz apiserver encryption manifests/encryption/kms.yaml
kviz fault restart kms
says 'processes["kms"].up && processes["kms"].reason == "fault: restart"'
kviz fault restart apiserver
sleep 1
kubectl create secret generic sealed --from-literal=k=v
shows 'etcdctl get /registry/secrets/default/sealed --print-value-only' k8s:enc:kms:v2:vault:

## rotate kms
kviz apiserver encryption manifests/encryption/kms.yaml
kviz fault restart apiserver
sleep 1
kubectl create secret generic turned --from-literal=k=v
kviz fault rotate kms
sleep 61
shows 'kviz apiserver encryption' kek-2
kubectl get secret turned -o json | kubectl replace -f -
shows 'etcdctl get /registry/secrets/default/turned --print-value-only' kek-2

## fill audit, free audit
kviz apiserver audit manifests/audit/policy.yaml
kviz fault restart apiserver
sleep 1
kubectl create secret generic recorded --from-literal=k=v
shows 'cat /var/log/kubernetes/audit.log' '"name":"recorded"'
kviz fault fill audit
kubectl create secret generic unrecorded --from-literal=k=v
shows 'kviz apiserver audit' 'disk is full'
fails grep -q unrecorded /var/log/kubernetes/audit.log
kviz fault free audit
kubectl get secret unrecorded
hides 'kviz apiserver audit' 'disk is full'
shows 'cat /var/log/kubernetes/audit.log' '"name":"unrecorded"'
kviz apiserver audit --none
kviz fault restart apiserver
sleep 1

## stop webhook, start webhook, crash webhook, restart webhook, slow webhook, fast webhook, lie webhook, heal webhook
asked() { # WORDS: how an object that the webhook is asked about is refused
  kubectl -n refused create configmap no 2>&1 | grep -q -- "$1" || { echo "not refused with: $1"; kubectl -n refused create configmap no; return 1; }
}
kubectl apply -f manifests/webhooks/deny-all.yaml
kubectl -n webhooks rollout status deployment/deny-all
kubectl create namespace refused
kubectl label namespace refused deny=all
sleep 1
asked 'denied the request'
kviz fault stop webhook/deny-all
asked 'connection refused'
kviz fault start webhook/deny-all
asked 'denied the request'
kviz fault crash webhook/deny-all
asked 'connection refused'
kviz fault restart webhook/deny-all
asked 'denied the request'
kviz fault slow webhook/deny-all 31s
asked 'context deadline exceeded'
kviz fault fast webhook/deny-all
asked 'denied the request'
kviz fault lie webhook/deny-all uid
asked 'expected response.uid'
kviz fault heal webhook/deny-all
asked 'denied the request'
kubectl delete validatingwebhookconfiguration deny-all

## expire certificate, renew certificate, expire token, renew token
kviz fault expire certificate/system:node:node-3
kubectl wait --for=condition=Ready=Unknown node/node-3 --timeout=2m
kviz fault renew certificate/system:node:node-3
settled
TOKEN=$(kubectl create token default)
kubectl --token=$TOKEN auth whoami
kviz fault expire token/default/default
fails kubectl --token=$TOKEN auth whoami
kubectl --token=$(kubectl create token default --duration=30m) auth whoami
kviz fault renew token/default/default
kubectl --token=$TOKEN auth whoami
## stop oidc, start oidc, crash oidc, restart oidc, slow oidc, fast oidc, rotate oidc
jane() { # WORDS: what becomes of somebody who logs in and shows her token
  { T=$(kviz oidc login jane) && kubectl --token=$T auth whoami; } 2>&1 | grep -q "$1"
}
kviz apiserver authentication manifests/authn/oidc.yaml
kviz fault restart apiserver
sleep 2
jane "Username *jane"
kviz fault stop oidc
jane "connection refused"
kviz fault start oidc
jane "Username *jane"
kviz fault crash oidc
jane "connection refused"
kviz fault restart oidc
jane "Username *jane"
kviz fault slow oidc 31s
jane "did not answer within 30s"
kviz fault fast oidc
jane "Username *jane"
kviz fault rotate oidc
jane "Username *jane"
kviz oidc | grep -q "key-2 signs"
kviz apiserver authentication --none
kviz fault restart apiserver
sleep 2
## stop balancer, start balancer, crash balancer, restart balancer
kviz apiserver add
kviz wait 'balancer.servers.size() == 2 && balancer.servers.all(s, s.up)'
kubectl get nodes
kviz fault stop balancer
fails kubectl get nodes
kviz fault start balancer
kubectl get nodes
kviz fault crash balancer
fails kubectl get nodes
kviz fault restart balancer
kubectl get nodes
kviz fault stop apiserver/b
kubectl get nodes
kviz wait 'balancer.servers.exists(s, s.server == "apiserver/b" && !s.up)'
kviz fault start apiserver/b
kviz wait 'balancer.servers.all(s, s.up)'

## stop cloud-controller-manager, start cloud-controller-manager
kviz fault stop cloud-controller-manager
kubectl create service loadbalancer stopped --tcp=80
sleep 30
pending stopped
kviz fault start cloud-controller-manager
addressed stopped

## crash cloud-controller-manager, start cloud-controller-manager
kviz fault crash cloud-controller-manager
kubectl create service loadbalancer crashed --tcp=80
sleep 30
pending crashed
kviz fault start cloud-controller-manager
addressed crashed

## restart cloud-controller-manager
kviz fault restart cloud-controller-manager
says 'processes["cloud-controller-manager"].up && processes["cloud-controller-manager"].reason == "fault: restart"'
kubectl create service loadbalancer restarted --tcp=80
addressed restarted

## slow cloud-controller-manager, fast cloud-controller-manager
kviz fault slow cloud-controller-manager 1m
kubectl create service loadbalancer late-run --tcp=80
sleep 50
pending late-run
kviz fault fast cloud-controller-manager
sleep 10
addressed late-run

## stop cloud, start cloud
kviz fault stop cloud
kubectl create service loadbalancer refused --tcp=80
sleep 10
pending refused
shows 'kubectl describe service refused' '503 Service Unavailable'
kviz fault start cloud
addressed refused

## slow cloud, fast cloud
kviz fault slow cloud 1m
kubectl create service loadbalancer late-call --tcp=80
sleep 50
pending late-call
kviz fault fast cloud
sleep 10
addressed late-call
