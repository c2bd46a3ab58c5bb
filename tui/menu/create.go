package menu

// Creation makes one object of a kind.
type Creation struct {
	Kind string
	Line string // as it is typed in the console
}

// Creations are what the palette makes: one object of each kind that people bring, by the line that
// they would type.
func Creations() []Creation {
	return []Creation{
		{"Pod", "kubectl run web --image=nginx:1.27"},
		{"ReplicaSet", "kubectl apply -f manifests/scenarios/replicaset.yaml"},
		{"Deployment", "kubectl apply -f manifests/scenarios/shop.yaml"},
		{"StatefulSet", "kubectl apply -f manifests/scenarios/db.yaml"},
		{"DaemonSet", "kubectl apply -f manifests/scenarios/log.yaml"},
		{"Job", "kubectl apply -f manifests/scenarios/indexes.yaml"},
		{"CronJob", "kubectl apply -f manifests/scenarios/tick.yaml"},
		{"ConfigMap", "kubectl create configmap settings --from-literal=color=blue"},
		{"Secret", "kubectl create secret generic password --from-literal=password=secret"},
		{"Service", "kubectl create service clusterip web --tcp=80"},
	}
}
