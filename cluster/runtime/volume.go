package runtime

import (
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"kviz/cluster/folder"
)

// Mount is where a container has a volume, or one file or folder of it.
type Mount struct {
	Volume, Path, SubPath string
	EmptyDir              bool           // the volume is a folder of the pod's, which its containers share
	HostPath              string         // the volume is a folder of the node's, or a file; else ""
	Folder                *folder.Folder // the volume is this one, which outlives the pod; else nil
	ReadOnly              bool           // nothing can be written there
}

// at is where a file of the volume is in the container; false if only another part of
// the volume is mounted.
func (m *Mount) at(name string) (string, bool) {
	if m.SubPath == "" {
		return path.Join(m.Path, name), true
	}
	if name == m.SubPath {
		return m.Path, true
	}
	rest, below := strings.CutPrefix(name, strings.TrimSuffix(m.SubPath, "/")+"/")
	return path.Join(m.Path, rest), below
}

// covers reports whether a path of the container is in the mount.
func (m *Mount) covers(file string) bool {
	return file == m.Path || strings.HasPrefix(file, strings.TrimSuffix(m.Path, "/")+"/")
}

// WriteVolume makes the files of a pod's volume, by path within it, what they are in
// files, as the kubelet's atomic writer does on the node's disk. Containers that run see the
// change, but not where they have a part of the volume only: that is another file, still
// the old one (subPath). It gives the paths that are new, other, or gone, sorted; was says
// that the volume was there before. files is kept.
func (r *Runtime) WriteVolume(podUID, volume string, files map[string]string) (changed []string, was bool) {
	of := r.volumes[podUID]
	if of == nil {
		of = map[string]map[string]string{}
		r.volumes[podUID] = of
	}
	old, was := of[volume]
	of[volume] = files
	for name, text := range files {
		if had, there := old[name]; !there || had != text {
			changed = append(changed, name)
		}
	}
	for name := range old {
		if _, there := files[name]; !there {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	p := r.pods[podUID]
	if p == nil || len(changed) == 0 {
		return changed, was
	}
	for _, c := range p.containers {
		if c.State == Running {
			c.renew(volume, changed, files)
		}
	}
	return changed, was
}

// renew brings the files of a running container in line with a volume.
func (c *Container) renew(volume string, changed []string, files map[string]string) {
	for i := range c.Mounts {
		m := &c.Mounts[i]
		if m.Volume != volume || m.SubPath != "" {
			continue
		}
		for _, name := range changed {
			at, _ := m.at(name)
			if c.mountOf(at) != m {
				continue // another volume is mounted there
			}
			if text, there := files[name]; there {
				c.run.disk.own.Put(at, text)
			} else {
				c.run.disk.own.Remove(at)
			}
		}
	}
}

// mountOf is the mount that a file of the container is in, the deepest if there are
// several; nil for none.
func (c *ContainerConfig) mountOf(file string) (in *Mount) {
	for i := range c.Mounts {
		if m := &c.Mounts[i]; m.covers(file) && (in == nil || len(m.Path) > len(in.Path)) {
			in = m
		}
	}
	return in
}

// RemoveVolumes removes a pod's volumes from the node's disk.
func (r *Runtime) RemoveVolumes(podUID string) {
	delete(r.volumes, podUID)
	delete(r.empty, podUID)
}

// mounted are the files of the volumes that a container mounts, as it starts.
func (r *Runtime) mounted(c *Container) map[string]string {
	mounts := slices.Clone(c.Mounts)
	sort.SliceStable(mounts, func(i, j int) bool { return len(mounts[i].Path) < len(mounts[j].Path) })
	files := map[string]string{}
	for i := range mounts {
		m := &mounts[i]
		maps.DeleteFunc(files, func(file, _ string) bool { return m.covers(file) })
		for name, text := range r.volumes[c.PodUID][m.Volume] {
			if at, ok := m.at(name); ok {
				files[at] = text
			}
		}
	}
	return files
}
