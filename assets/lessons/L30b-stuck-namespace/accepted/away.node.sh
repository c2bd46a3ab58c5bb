# The node that it runs on loses power: its pod stays an endpoint until it answers no more.
kviz fault crash node/$(kubectl -n kube-system get pods -l k8s-app=metrics-server -o jsonpath='{.items[0].spec.nodeName}')
kviz wait --timeout 120s 'object("apiservices", "", "v1beta1.metrics.k8s.io").status.conditions.exists(c, c.type == "Available" && c.status != "True")'
