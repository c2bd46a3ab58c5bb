# miss: lost: this copy still has its number, and it is old
kubectl replace -f ben-new.yaml
