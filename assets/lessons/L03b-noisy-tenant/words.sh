storm() {
  kviz apiserver storm system:serviceaccount:tenant:robot 400
}
level() { # NAME RESPONSE: a priority level of a few seats
  kubectl apply -f - <<EOF
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: $1}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: 10, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: $2}
EOF
}
schema() { # LEVEL PRECEDENCE SUBJECT: what belongs there
  kubectl apply -f - <<EOF
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: tenant}
spec:
  priorityLevelConfiguration: {name: $1}
  matchingPrecedence: $2
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [$3]
    resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"]}]
EOF
}
robot='{kind: ServiceAccount, serviceAccount: {namespace: tenant, name: "*"}}'
