package controlplane

import (
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/bootstrap"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// TokenTracking keeps the ConfigMap that says since which day the API servers write down when the
// tokens of Secrets are used (pkg/controlplane/controller/legacytokentracking). A day before that is
// no day without use, for the controller that deletes tokens which nobody uses. The ConfigMap is
// made with the cluster. One that was deleted comes back with the day of its return, in every 30
// minutes once; what is no date becomes today's. There is no queue: there is one key.
type TokenTracking struct {
	Client  client.Interface
	Caches  Caches
	Process *sim.Process

	wake    sim.Cond
	changed bool
	why     trace.ID      // the newest change
	made    bool          // this process has made one
	at      time.Duration // when
}

// TrackingName is the name of the ConfigMap in kube-system, and TrackingSince its key.
const (
	TrackingName  = "kube-apiserver-legacy-service-account-token-tracking"
	TrackingSince = "since"
)

const (
	// createEvery is how often it is made at most (NewController's limiter).
	createEvery = 30 * time.Minute
	// tryAgain and tryAtMost are how long a failed write waits: the first time, and at most
	// (workqueue.DefaultTypedControllerRateLimiter).
	tryAgain  = 5 * time.Millisecond
	tryAtMost = 1000 * time.Second
)

// AddTo adds the ConfigMap to the objects of a new cluster.
func (k *TokenTracking) AddTo(t *sim.Task, l *bootstrap.List, stream func(name string) *rand.Rand) {
	made := tracking(t)
	made.UID = object.NewUID(stream("legacy-token-tracking"))
	l.Add(client.ConfigMaps, made)
	k.made, k.at = true, t.Elapsed()
}

func tracking(t *sim.Task) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: TrackingName},
		Data:       map[string]string{TrackingSince: today(t)},
	}
}

func today(t *sim.Task) string { return t.Now().UTC().Format(authn.DateFormat) }

// Changed is called with every change of a ConfigMap.
func (k *TokenTracking) Changed(key string, _ runtime.Object) {
	if key == metav1.NamespaceSystem+"/"+TrackingName {
		k.changed, k.why = true, k.Process.Kernel().Last()
		k.wake.Signal()
	}
}

// Run is a task of the server.
func (k *TokenTracking) Run(t *sim.Task) {
	for failed := tryAgain; ; {
		k.changed = false
		var again time.Duration // zero: when it has changed
		var err error
		if t.HandleCrashOn(client.ConfigMaps.Ref(metav1.NamespaceSystem, TrackingName), "the day since when the use of tokens is written down", func() { again, err = k.sync(t) }) != nil || err != nil {
			again, failed = failed, min(2*failed, tryAtMost)
		} else {
			failed = tryAgain
		}
		for until := t.Elapsed() + again; !k.changed && (again == 0 || t.Elapsed() < until); {
			if again == 0 {
				k.wake.Wait(t)
			} else {
				k.wake.WaitTimeout(t, until-t.Elapsed())
			}
		}
	}
}

// sync makes or mends the ConfigMap (syncConfigMap). again is when it is to look again though
// nothing has changed.
func (k *TokenTracking) sync(t *sim.Task) (again time.Duration, err error) {
	if t.SetCauses(); !k.why.IsZero() {
		t.SetCauses(k.why)
	}
	is, _ := k.Caches.Get(client.ConfigMaps, metav1.NamespaceSystem, TrackingName).(*corev1.ConfigMap)
	if is == nil {
		if wait := k.at + createEvery - t.Elapsed(); k.made && wait > 0 {
			return wait, nil
		}
		_, err := client.Create(t, k.Client, client.ConfigMaps, metav1.NamespaceSystem, tracking(t))
		if err == nil {
			k.made, k.at = true, t.Elapsed()
		}
		if apierrors.IsAlreadyExists(err) {
			return 0, nil
		}
		return 0, err
	}
	if _, err := time.Parse(authn.DateFormat, is.Data[TrackingSince]); err == nil {
		return 0, nil
	}
	is = is.DeepCopy()
	if is.Data == nil {
		is.Data = map[string]string{}
	}
	is.Data[TrackingSince] = today(t)
	if _, err = client.Update(t, k.Client, client.ConfigMaps, metav1.NamespaceSystem, is); apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return 0, nil
	}
	return 0, err
}
