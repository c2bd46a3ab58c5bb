# Everything that decides where a pod goes: spread, anti-affinity, room that is made against budgets, two profiles, claims.
for i in 1 2 3 4; do kubectl label node node-$i topology.kubernetes.io/zone=zone-$((i % 2)); done
kubectl create priorityclass low --value=1
kubectl create priorityclass high --value=100
kubectl create -f - <<END
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  local: {path: /disk}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-2, node-4]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, volumeName: disk}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: filler}
spec: {minAvailable: 4, selector: {matchLabels: {app: filler, kept: "yes"}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: spread}
spec:
  replicas: 5
  selector: {matchLabels: {app: spread}}
  template:
    metadata: {labels: {app: spread}}
    spec:
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: spread}}}
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: spread}}}
      containers: [{name: c, image: nginx, resources: {requests: {cpu: 100m}}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: alone}
spec:
  replicas: 5
  selector: {matchLabels: {app: alone}}
  template:
    metadata: {labels: {app: alone}}
    spec:
      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: alone}}}]}}
      containers: [{name: c, image: nginx, resources: {requests: {cpu: 100m}}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: filler}
spec:
  replicas: 4
  selector: {matchLabels: {app: filler}}
  template:
    metadata: {labels: {app: filler, kept: "yes"}}
    spec:
      priorityClassName: low
      schedulerName: packing
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: nginx, resources: {requests: {cpu: "2"}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: db}
spec:
  containers: [{name: c, image: nginx}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
END
sleep 20
kubectl create -f - <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: urgent}
spec:
  replicas: 3
  selector: {matchLabels: {app: urgent}}
  template:
    metadata: {labels: {app: urgent}}
    spec:
      priorityClassName: high
      containers: [{name: c, image: nginx, resources: {requests: {cpu: "3"}}}]
END
sleep 30
kubectl label --overwrite node node-1 topology.kubernetes.io/zone=zone-0
kubectl cordon node-3
kubectl scale deployment spread --replicas=8
kubectl delete pod -l app=alone --grace-period=1
sleep 40
kubectl uncordon node-3
sleep 40
