package cluster_test

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// What components write is taken into the watch caches as it is. A time with more than the
// seconds that are stored would make an age that kubectl shows a second too low, at
// this server and until it restarts.
func TestTimesInTheCachesAreWhatIsStored(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 61, Bare: true})
		run(t, c, hellos+`
kubectl run late --image=nosuch:1
kubectl cordon node-2
kviz fault crash node/node-3
sleep 61.3
sleep 340
`)
		lane := trace.Lane{Component: trace.CompConsole}
		seen := 0
		err := c.Kernel().Call(t.Context(), c.Kernel().NewProcess(lane), "times", func(task *sim.Task) {
			api := c.Server().Client(lane, authn.Admin())
			for _, r := range client.All() {
				items, _, err := api.List(task, r, "", metav1.ListOptions{ResourceVersion: "0"})
				if err != nil {
					continue // what cannot be listed has no cache
				}
				for _, obj := range items {
					eachTime(reflect.ValueOf(obj), r.Kind, func(path string, at time.Time) {
						seen++
						if at.Nanosecond() != 0 {
							t.Errorf("%s of %s is %s", path, client.RefOf(obj), at.Format(time.RFC3339Nano))
						}
					})
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if seen < 300 {
			t.Errorf("only %d times were looked at", seen)
		}
	})
}

// eachTime calls look with each metav1.Time of a value; a MicroTime is stored as fine as it is.
func eachTime(v reflect.Value, path string, look func(path string, at time.Time)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			eachTime(v.Elem(), path, look)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachTime(v.Index(i), path, look)
		}
	case reflect.Struct:
		if at, ok := v.Interface().(metav1.Time); ok {
			look(path, at.Time)
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Type != reflect.TypeFor[metav1.MicroTime]() {
				eachTime(v.Field(i), path+"."+f.Name, look)
			}
		}
	}
}
