package clustermap

import (
	"fmt"
	"strings"
	"testing"

	"kviz/cluster/view"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// Claims and their volumes have a row each with a line to the node that they are attached to; where there are many the others
// are counted, and where there is no room all of them.
func TestVolumes(t *testing.T) {
	for _, claims := range []int{3, 8, 40} {
		h := tuitest.VolumesInUse(claims).History()
		for _, size := range [][2]int{{80, 24}, {120, 40}, {160, 45}, {220, 70}} {
			g := tuitest.Pane(New(), h, h.Latest(), size[0], size[1])
			tuitest.Golden(t, fmt.Sprintf("volumes-%d-%dx%d", claims, size[0], size[1]), tuitest.Planes(g))
			if !strings.Contains(g.Plane(), "▤") {
				t.Errorf("%d claims: none is on the map of %dx%d", claims, size[0], size[1])
			}
		}
	}
}

// In the lists those come first that somebody has to look at.
func TestVolumesInLists(t *testing.T) {
	h := tuitest.VolumesInUse(8).History()
	for _, size := range [][2]int{{80, 40}, {120, 40}} {
		m := New()
		m.ShowView("lists")
		tuitest.Golden(t, fmt.Sprintf("volumes-lists-%d", size[0]), tuitest.Planes(tuitest.Pane(m, h, h.Latest(), size[0], size[1])))
	}
}

// Where nodes are tiles or cells, and where the window is small, all volumes stand in one row.
func TestVolumesOfManyNodes(t *testing.T) {
	tape := tuitest.ManyNodes(40)
	h := tape.History()
	if g := tuitest.Pane(New(), h, h.Latest(), 120, 40); strings.Contains(g.Plane(), "▤") {
		t.Error("a cluster without claims says something of volumes")
	}
	h = tuitest.VolumesInUse(8).History()
	m := New()
	tuitest.Pane(m, h, h.Latest(), 120, 40)
	m.coarser() // tiles
	g := tuitest.Pane(m, h, h.Latest(), 120, 40)
	tuitest.Golden(t, "volumes-tiles", tuitest.Planes(g))
	for _, want := range []string{"▤ 9 volumes", "✗ 1 failed data-db-3", "○ 1 pending data-db-4"} {
		if !strings.Contains(g.Plane(), want) {
			t.Errorf("%q is not on the map of tiles", want)
		}
	}
}

// However many claims there are, and however large the window: what has a row is read there with its mark, and the nodes' names
// above it (that no line and no row lies on another place, TestAnyScene of the scene has).
func TestVolumesCoverNoNames(t *testing.T) {
	for _, claims := range []int{1, 8, 40} {
		h := tuitest.VolumesInUse(claims).History()
		s := h.Latest()
		for w := 78; w <= 240; w += 27 {
			for rows := 17; rows <= 70; rows += 9 {
				m := New()
				plane := tuitest.Pane(m, h, s, w, rows).Plane()
				for _, at := range m.scene.Places {
					if name, ok := strings.CutPrefix(at.ID, "vol/"); ok {
						v := (&picture{vols: m.population(&pane.Frame{S: s, H: h}).vols}).volume(name)
						glyph, _ := volumeMark(v.State)
						if !strings.Contains(plane, "▤ "+begins(v)) || !strings.Contains(plane, glyph) {
							t.Fatalf("%d claims, %dx%d: %s is not on the map:\n%s", claims, w, rows, name, plane)
						}
					}
				}
				for _, node := range []string{"node-1", "node-2", "node-3"} {
					if !strings.Contains(plane, node) {
						t.Fatalf("%d claims, %dx%d: %s is covered:\n%s", claims, w, rows, node, plane)
					}
				}
			}
		}
	}
}

// begins is the beginning of a volume's name, which is left at least.
func begins(v *view.VolumeStanding) string {
	name := v.Object().Name()
	return name[:min(len(name), 5)]
}

// The words of a volume say all of its chain.
func TestVolumesInWords(t *testing.T) {
	h := tuitest.VolumesInUse(8).History()
	s := h.Latest()
	var got []string
	for _, v := range s.Volumes(s.Users("")) {
		got = append(got, volumeSubject(v).Words)
	}
	want := []string{
		"PersistentVolumeClaim demo/data-db-0 is Bound to volume pvc-0b6e1f2a-0: 5Gi, class standard, attached on node-1, used by demo/db-0.",
		"PersistentVolumeClaim demo/data-db-1 is Bound to volume pvc-0b6e1f2a-1: 5Gi, class standard, being attached to node-2, used by demo/db-1; for disk.csi.kviz.dev to attach.",
		"PersistentVolumeClaim demo/data-db-2 is Bound to volume pvc-0b6e1f2a-2: 5Gi, class standard, being detached from node-3, used by demo/db-2.",
		"PersistentVolumeClaim demo/data-db-3 is Bound to volume pvc-0b6e1f2a-3: 5Gi, class standard, used by demo/db-3; rpc error: code = Internal desc = the disk service failed: ControllerPublishVolume does not work.",
		"PersistentVolumeClaim demo/data-db-4 is Pending: 5Gi, class standard, used by demo/db-4; it asks for class standard, and there is no StorageClass of that name.",
		"PersistentVolumeClaim demo/data-db-5 is Lost to volume pvc-0b6e1f2a-5: 5Gi, class standard, used by demo/db-5; its volume pvc-0b6e1f2a-5 is gone.",
		"PersistentVolumeClaim demo/data-db-6 is Bound to volume pvc-0b6e1f2a-6: 5Gi, class standard.",
		"PersistentVolumeClaim demo/data-db-7 is Bound to volume pvc-0b6e1f2a-7: 5Gi, class standard, mounted on node-2, used by demo/db-7.",
		"PersistentVolume old is Released: 5Gi, class standard; its claim demo/data-db-8 is gone.",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
