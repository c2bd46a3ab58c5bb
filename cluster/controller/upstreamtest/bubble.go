package upstreamtest

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
)

// Bubble runs one of upstream's controllers as it is, with its goroutines, its informers and its
// queues, over client-go's clientset in memory. Time is a bubble's: story sleeps as long as it
// likes. start makes the controller from the informers and gives what runs it until ctx ends.
//
// The clientset knows no deletionTimestamps: a story that deletes an object that has finalizers
// writes the timestamp itself. The object goes with its last finalizer.
func Bubble(t *testing.T, objs []runtime.Object, start func(ctx context.Context, c *fake.Clientset, f informers.SharedInformerFactory) (run func(context.Context)), story func(ctx context.Context, c *fake.Clientset)) {
	t.Helper()
	// One of the handlers waits by the time of the last error, which is another clock's.
	was := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil
	defer func() { utilruntime.ErrorHandlers = was }()
	klog.SetLogger(logr.Discard())
	defer klog.ClearLogger()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
		c := fake.NewClientset(objs...)
		for _, verb := range []string{"update", "patch"} {
			c.PrependReactor(verb, "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
				handled, obj, err := clienttesting.ObjectReaction(c.Tracker())(a)
				if m, ok := obj.(metav1.Object); ok && err == nil && m.GetDeletionTimestamp() != nil && len(m.GetFinalizers()) == 0 {
					err = c.Tracker().Delete(a.GetResource(), m.GetNamespace(), m.GetName())
				}
				return handled, obj, err
			})
		}
		f := informers.NewSharedInformerFactory(c, 0)
		run := start(ctx, c, f)
		f.Start(ctx.Done())
		f.WaitForCacheSync(ctx.Done())
		synctest.Wait() // its watches are open, and nothing that comes is missed
		ended := make(chan struct{})
		go func() {
			run(ctx)
			close(ended)
		}()
		story(ctx, c)
		cancel()
		<-ended
		f.Shutdown()
	})
}
