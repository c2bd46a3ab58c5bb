package persistentvolume_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/sim"
	"kviz/raftstore/steady"
)

// Beside these, cluster/controller/proof compares each look at a claim and at a volume with
// upstream's controller.

var (
	someModes = [][]corev1.PersistentVolumeAccessMode{
		{corev1.ReadWriteOnce},
		{corev1.ReadWriteOnce, corev1.ReadOnlyMany},
		{corev1.ReadWriteOnce, corev1.ReadWriteMany},
		{corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany},
		{corev1.ReadWriteOncePod},
	}
	someSizes = []string{"1Gi", "2Gi", "3Gi", "4Gi"}
)

func anyDisk(r *rapid.T, name string) *corev1.PersistentVolume {
	oneIn := func(n int, what string) bool { return rapid.IntRange(1, n).Draw(r, what+" of "+name) == 1 }
	return disk(name, rapid.SampledFrom(someSizes).Draw(r, "size of "+name), func(v *corev1.PersistentVolume) {
		v.Spec.AccessModes = rapid.SampledFrom(someModes).Draw(r, "modes of "+name)
		v.Status.Phase = corev1.VolumeAvailable
		if oneIn(4, "class") {
			v.Spec.StorageClassName = "fast"
		}
		if oneIn(4, "mode") {
			v.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeBlock)
		}
		if oneIn(2, "label") {
			v.Labels = map[string]string{"tier": "gold"}
		}
		if oneIn(6, "claim") {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "demo", Name: rapid.SampledFrom([]string{"data", "other"}).Draw(r, "claim of "+name)}
		}
	})
}

func anyClaim(r *rapid.T, name string) *corev1.PersistentVolumeClaim {
	oneIn := func(n int, what string) bool { return rapid.IntRange(1, n).Draw(r, what+" of "+name) == 1 }
	return claim(name, rapid.SampledFrom(someSizes).Draw(r, "size of "+name), func(c *corev1.PersistentVolumeClaim) {
		c.Spec.AccessModes = rapid.SampledFrom(someModes).Draw(r, "modes of "+name)
		if oneIn(4, "class") {
			c.Spec.StorageClassName = ptr.To("fast")
		}
		if oneIn(4, "mode") {
			c.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeBlock)
		}
		if oneIn(3, "selector") {
			c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
		}
	})
}

// A claim gets the volume that fits by component-helpers and comes first: of the fewest access
// modes, reserved for the claim, the smallest, the first by name. The reason against each of the
// others is said.
func TestTheVolumeIsTheRightOne(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		var disks []*corev1.PersistentVolume
		for i := range rapid.IntRange(0, 8).Draw(r, "volumes") {
			disks = append(disks, anyDisk(r, fmt.Sprint("v", i)))
		}
		data := anyClaim(r, "data")
		var is *corev1.PersistentVolumeClaim
		b := clienttest.Run(r, 1, func(b *clienttest.Bench, t *sim.Task) {
			w := world{t, b.Client()}
			for _, v := range disks {
				w.create(v)
			}
			w.create(data)
			start(b)
			t.Sleep(time.Second)
			is = b.Object(client.PersistentVolumeClaims, "demo", "data").(*corev1.PersistentVolumeClaim)
		})
		fits := slices.DeleteFunc(slices.Clone(disks), func(v *corev1.PersistentVolume) bool {
			found, err := volume.FindMatchingVolume(data, []*corev1.PersistentVolume{v}, nil, nil, false, true)
			return err != nil || found == nil || !volume.CheckAccessModes(data, v)
		})
		modes := func(v *corev1.PersistentVolume) string {
			var out []string
			for _, m := range v.Spec.AccessModes {
				out = append(out, map[corev1.PersistentVolumeAccessMode]string{
					corev1.ReadWriteOnce: "RWO", corev1.ReadOnlyMany: "ROX", corev1.ReadWriteMany: "RWX", corev1.ReadWriteOncePod: "RWOP",
				}[m])
			}
			return strings.Join(out, ",")
		}
		reserved := func(v *corev1.PersistentVolume) int {
			if v.Spec.ClaimRef != nil {
				return 0
			}
			return 1
		}
		slices.SortFunc(fits, func(a, b *corev1.PersistentVolume) int {
			x, y := a.Spec.Capacity[corev1.ResourceStorage], b.Spec.Capacity[corev1.ResourceStorage]
			bySize := x.Cmp(y)
			if reserved(a) == 0 && reserved(b) == 0 {
				bySize = 0 // of two that are reserved the first is taken
			}
			return cmp.Or(len(a.Spec.AccessModes)-len(b.Spec.AccessModes), strings.Compare(modes(a), modes(b)), reserved(a)-reserved(b), bySize, strings.Compare(a.Name, b.Name))
		})
		want := ""
		if len(fits) > 0 {
			want = fits[0].Name
		}
		if is.Spec.VolumeName != want {
			r.Fatalf("the claim got %q, want %q", is.Spec.VolumeName, want)
		}
		sentences := waits(b) + b.Transcript("reconcile.action")
		for _, v := range disks {
			if len(disks) < 4 && !strings.Contains(sentences, v.Name) {
				r.Errorf("there is no word about %s:\n%s", v.Name, sentences)
			}
		}
	})
}

// Whatever happens, and however often the controller is killed: no volume is of two claims, no
// claim is of another's volume, and a claim that waits has no volume that would do.
func TestBindsOnceWhateverHappens(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		ops := rapid.SliceOfN(rapid.IntRange(0, 9), 2, 25).Draw(r, "ops")
		b := clienttest.Run(r, rapid.Uint64().Draw(r, "seed"), func(b *clienttest.Bench, t *sim.Task) {
			w := world{t, b.Client()}
			p := start(b)
			for n, op := range ops {
				switch op {
				case 0, 1, 2:
					w.create(anyDisk(r, fmt.Sprint("v", n)))
				case 3, 4, 5:
					w.create(anyClaim(r, fmt.Sprint("c", n)))
				case 6:
					if all := b.Objects(client.PersistentVolumeClaims); len(all) > 0 {
						w.remove(client.PersistentVolumeClaims, all[n%len(all)].(*corev1.PersistentVolumeClaim).Name)
					}
				case 7:
					if all := b.Objects(client.PersistentVolumes); len(all) > 0 {
						w.remove(client.PersistentVolumes, all[n%len(all)].(*corev1.PersistentVolume).Name)
					}
				case 8:
					p.Kill()
					p = start(b)
				default:
					b.EndWatchesOf(client.PersistentVolumes)
				}
				t.Sleep(time.Duration(n%4) * 700 * time.Microsecond)
			}
			t.Sleep(time.Minute)
		})
		var free []*corev1.PersistentVolume
		for _, o := range b.Objects(client.PersistentVolumes) {
			if v := o.(*corev1.PersistentVolume); v.Status.Phase == corev1.VolumeAvailable {
				free = append(free, v)
			}
		}
		of := map[string]string{}
		for _, o := range b.Objects(client.PersistentVolumeClaims) {
			c := o.(*corev1.PersistentVolumeClaim)
			v, _ := b.Object(client.PersistentVolumes, "", c.Spec.VolumeName).(*corev1.PersistentVolume)
			switch c.Status.Phase {
			case corev1.ClaimBound:
				if of[c.Spec.VolumeName] != "" {
					r.Fatalf("volume %s is of %s and of %s", c.Spec.VolumeName, of[c.Spec.VolumeName], c.Name)
				}
				if of[c.Spec.VolumeName] = c.Name; v == nil || v.Spec.ClaimRef == nil || v.Spec.ClaimRef.UID != c.UID || v.Status.Phase != corev1.VolumeBound {
					r.Fatalf("claim %s has volume %s, which is not its own", c.Name, c.Spec.VolumeName)
				}
			case corev1.ClaimLost:
				if v != nil {
					r.Fatalf("claim %s has lost volume %s, which is there", c.Name, v.Name)
				}
			default:
				for _, v := range free {
					if found, _ := volume.FindMatchingVolume(c, []*corev1.PersistentVolume{v}, nil, nil, false, true); found != nil && volume.CheckAccessModes(c, v) {
						r.Fatalf("claim %s waits, and volume %s would do", c.Name, v.Name)
					}
				}
			}
		}
	})
}
