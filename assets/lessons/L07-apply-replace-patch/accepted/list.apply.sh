# The new container first by a JSON patch, then the old one taken out.
kubectl patch deployment web -n demo --type=json -p '[{"op":"add","path":"/spec/template/spec/containers/-","value":{"name":"log","image":"busybox:1"}}]'
kubectl patch deployment web -n demo --type=json -p '[{"op":"remove","path":"/spec/template/spec/containers/0"}]'
