package informer_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// A handler, or an index, that panics at one object keeps nobody from the others: other handlers get
// that object, and the same one the next. The owner of the informer learns of it, and the trace has it.
func TestAPanicIsOfOneObject(t *testing.T) {
	var out strings.Builder
	var told []string
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		put(t, c, "a", "1")
		put(t, c, "bad", "1")
		put(t, c, "c", "1")
		i := informer.New(t.Process(), lane, c, client.ConfigMaps, "", informer.Options{
			Resync: time.Hour,
			Crashed: func(_ *sim.Task, object trace.Ref, broken *sim.PanicError) {
				told = append(told, object.Name+" "+broken.Brief())
			},
		})
		explode := func(obj runtime.Object) {
			if cm := obj.(*corev1.ConfigMap); cm.Name == "bad" && cm.Data["v"] != "3" {
				made := map[string]map[string]int{}
				made[cm.Name]["a"] = 1
			}
		}
		i.AddIndex("value", func(obj runtime.Object) []string { explode(obj); return []string{obj.(*corev1.ConfigMap).Data["v"]} })
		panics := log(&out)
		add, update := panics.Add, panics.Update
		panics.Add = func(t *sim.Task, obj runtime.Object, why trace.ID) { explode(obj); add(t, obj, why) }
		panics.Update = func(t *sim.Task, old, obj runtime.Object, why trace.ID) { explode(obj); update(t, old, obj, why) }
		i.AddHandler(panics)
		var second strings.Builder
		i.AddHandler(log(&second))
		i.Start()
		i.WaitForSync(t)
		put(t, c, "bad", "2")
		put(t, c, "d", "1")
		t.Sleep(time.Second)
		if n := len(i.ByIndex("value", "1")); n != 3 {
			panic("by index")
		}
		put(t, c, "bad", "3")
		t.Sleep(time.Second)
		if len(i.ByIndex("value", "3")) != 1 || len(i.ByIndex("value", "2")) != 0 || strings.Count(second.String(), "bad") != 3 {
			panic(second.String())
		}
		remove(t, c, "bad")
		t.Sleep(time.Second)
		out.WriteString("# a second after the deletion\n")
	})
	out.WriteString("\ntold:\n" + strings.Join(told, "\n") + "\n\nevents:\n" + b.Transcript(trace.ProcessPanic))
	clienttest.Golden(t, "contain.txt", out.String())
}
