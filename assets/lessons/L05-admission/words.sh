injector=webhook/sidecar-injector
ready() { # NUMBER: so many of later's pods are
  kviz wait --timeout 180s "has(object(\"deployments\", \"demo\", \"later\").status.readyReplicas) && object(\"deployments\", \"demo\", \"later\").status.readyReplicas == $1"
}
failing() { # POLICY: what becomes of pods while the webhook is down
  kubectl patch mutatingwebhookconfiguration sidecar-injector --type=json -p "[{\"op\":\"replace\",\"path\":\"/webhooks/0/failurePolicy\",\"value\":\"$1\"}]"
}
web() {
  kubectl run web -n demo --image=nginx:stable
  sleep 2
}
broken() { # FAULT: the webhook, and what wants two pods meanwhile
  kviz fault $1 $injector
  kubectl create deployment later -n demo --image=nginx:stable --replicas=2
  sleep 5
}
crowded() {
  kubectl create quota few -n demo --hard=pods=3
  kviz wait --timeout 60s 'has(object("resourcequotas", "demo", "few").status.used)'
  kubectl scale deployment later -n demo --replicas=4
  sleep 10
}
