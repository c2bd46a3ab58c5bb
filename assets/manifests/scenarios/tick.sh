# A CronJob makes a Job at every minute. Suspended it makes none; then it makes one for the newest minute that it
# missed, not one for each. The object pane (9) shows the next runs, and those that were missed.
made() { kubectl get jobs -o custom-columns=MINUTE:.metadata.annotations.batch\\.kubernetes\\.io/cronjob-scheduled-timestamp,DONE:.status.succeeded; }
kubectl apply -f manifests/scenarios/tick.yaml
echo "1. two minutes"
sleep 130
made

echo "2. suspended for three minutes, then not any more"
kubectl patch cronjob tick -p '{"spec":{"suspend":true}}' >/dev/null
sleep 180
kubectl patch cronjob tick -p '{"spec":{"suspend":false}}' >/dev/null
sleep 15
made
