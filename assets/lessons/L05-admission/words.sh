injector=webhook/sidecar-injector
failing() { # POLICY: what becomes of pods while the webhook is down
  kubectl patch mutatingwebhookconfiguration sidecar-injector --type=json -p "[{\"op\":\"replace\",\"path\":\"/webhooks/0/failurePolicy\",\"value\":\"$1\"}]"
}
counted() { # the quota has counted the pods that there are
  kviz wait --timeout 60s 'has(object("resourcequotas", "demo", "few").status.used)'
}
