package runtime

import (
	"fmt"
	"html"
	"net/http"
	"path"
	"slices"
	"sort"
	"strings"

	"kviz/cluster/folder"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Containers, How: simulated.Simulated,
	What: "the files of containers, and of the volumes emptyDir and hostPath that they share, are kept in memory, 16 MiB of each; they have no owners or modes, and a hostPath holds only what pods of the node have written there",
	Seen: "kubectl exec, and the Warning to those who write such a pod",
})

// disk is what the programs of a container find below /: files of its own, and folders that
// it shares, with the other containers of its pod (emptyDir), with all of the
// node (hostPath), or with those before and after it (a claim's volume).
type disk struct {
	own    *folder.Folder
	mounts []shared // the deepest first
}

// shared is where a container has a folder that others have too, or none where the volume
// is of another kind: its files are the container's own, written by the kubelet.
type shared struct {
	mount  *Mount
	folder *folder.Folder
	prefix string // of the mount's files in the folder
}

// where is the folder that a path of the container is in, and its name there.
func (d *disk) where(file string) (*folder.Folder, string) {
	file = path.Clean(file) // ".." does not lead out of a mount
	for i := range d.mounts {
		m := &d.mounts[i]
		if !m.mount.covers(file) {
			continue
		}
		if m.folder == nil {
			break
		}
		return m.folder, path.Join(m.prefix, strings.TrimPrefix(strings.TrimPrefix(file, m.mount.Path), "/"))
	}
	return d.own, file
}

// read gives a file, or what a symbolic link leads to.
func (d *disk) read(file string) (text string, there bool) {
	f, name := d.where(d.follow(file))
	return f.Read(name)
}

// linksFollowed is how many symbolic links are followed one after the other (MAXSYMLINKS).
const linksFollowed = 40

// follow is the path that a path of the container leads to where it is a symbolic link's; the
// same path otherwise, and where links go around in a circle. Links to folders lead nowhere.
func (d *disk) follow(file string) string {
	to := file
	for range linksFollowed {
		f, name := d.where(to)
		target, is := f.Target(name)
		if !is {
			return to
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(path.Clean(to)), target)
		}
		to = target
	}
	return file
}

// exists reports whether there is a file or a symbolic link of that path, wherever it leads.
func (d *disk) exists(file string) bool {
	f, name := d.where(file)
	_, there := f.Read(name)
	_, is := f.Target(name)
	return there || is
}

// link writes a symbolic link.
func (d *disk) link(file, target string) error {
	f, name := d.where(file)
	if d.readOnly(file) {
		return folder.ErrReadOnly
	}
	return f.Link(name, target)
}

// write writes a file whole, if there is room for it.
func (d *disk) write(file, text string) error {
	file = d.follow(file)
	f, name := d.where(file)
	if d.readOnly(file) {
		return folder.ErrReadOnly
	}
	return f.Write(name, text)
}

func (d *disk) remove(file string) error {
	f, name := d.where(file)
	if d.readOnly(file) {
		return folder.ErrReadOnly
	}
	f.Remove(name)
	return nil
}

// readOnly reports whether a path of the container is in a volume that it may not write to.
func (d *disk) readOnly(file string) bool {
	file = path.Clean(file)
	for i := range d.mounts {
		if m := d.mounts[i].mount; m.covers(file) {
			return m.ReadOnly
		}
	}
	return false
}

// below lists the paths of the files in a folder of the container, however deep, sorted.
func (d *disk) below(dir string) []string {
	in := &Mount{Path: path.Clean(dir)}
	var files []string
	for _, file := range d.own.Names() {
		if f, _ := d.where(file); f == d.own && in.covers(file) && file != in.Path {
			files = append(files, file)
		}
	}
	for i := range d.mounts {
		m := &d.mounts[i]
		if m.folder == nil || !in.covers(m.mount.Path) && !m.mount.covers(in.Path) {
			continue
		}
		from := &Mount{Path: path.Join("/", m.prefix)}
		for _, name := range m.folder.Names() {
			name = path.Join("/", name)
			if !from.covers(name) {
				continue
			}
			file := path.Join(m.mount.Path, strings.TrimPrefix(name, from.Path))
			if f, as := d.where(file); f == m.folder && path.Join("/", as) == name && in.covers(file) && file != in.Path {
				files = append(files, file)
			}
		}
	}
	sort.Strings(files)
	return slices.Compact(files)
}

// files is how many files the container can reach.
func (d *disk) files() int {
	n := d.own.Len()
	for i := range d.mounts {
		if f := d.mounts[i].folder; f != nil {
			n += f.Len()
		}
	}
	return n
}

// filesPerCommand is how many files a shell goes through in the time of one command.
const filesPerCommand = 64

// below lists the files in a folder, and takes its time where there are many to go through.
func (sh *shell) below(dir string) []string {
	d := sh.disk()
	sh.spend(d.files() / filesPerCommand)
	return d.below(dir)
}

// serve is what a server of files answers (net/http FileServer).
func (d *disk) serve(name string) (code int, body string) {
	name = path.Join("/", name)
	if text, there := d.read(name); there {
		return http.StatusOK, text
	}
	files := d.below(name)
	if len(files) == 0 {
		return http.StatusNotFound, "404 page not found\n"
	}
	var list strings.Builder
	list.WriteString("<!doctype html>\n<meta name=\"viewport\" content=\"width=device-width\">\n<pre>\n")
	last := ""
	for _, f := range files {
		below, isFolder := "", false
		if below, _, isFolder = strings.Cut(strings.TrimPrefix(f[len(name):], "/"), "/"); isFolder {
			below += "/"
		}
		if below != last {
			fmt.Fprintf(&list, "<a href=\"%[1]s\">%[1]s</a>\n", html.EscapeString(below))
		}
		last = below
	}
	list.WriteString("</pre>\n")
	return http.StatusOK, list.String()
}

// mounted reports whether a folder of the container is one that it shares.
func (d *disk) mounted(dir string) bool {
	dir = path.Clean(dir)
	return slices.ContainsFunc(d.mounts, func(m shared) bool { return m.folder != nil && m.mount.Path == dir })
}

// newDisk is the disk of a container that starts, with the files of its image and of its volumes.
func (r *Runtime) newDisk(c *Container, s *Sandbox) *disk {
	d := &disk{own: folder.New()}
	for file, text := range r.files(c, s) {
		d.own.Put(file, text)
	}
	for i := range c.Mounts {
		m := &c.Mounts[i]
		in := shared{mount: m}
		switch {
		case m.EmptyDir:
			in.folder, in.prefix = r.emptyDir(c.PodUID, m.Volume), m.SubPath
		case m.HostPath != "":
			in.folder, in.prefix = r.host, path.Join(m.HostPath, m.SubPath)
		case m.Folder != nil:
			in.folder, in.prefix = m.Folder, m.SubPath
		}
		d.mounts = append(d.mounts, in)
	}
	sort.SliceStable(d.mounts, func(i, j int) bool { return len(d.mounts[i].mount.Path) > len(d.mounts[j].mount.Path) })
	return d
}

// emptyDir is a volume that the containers of a pod share, and keep when they start again.
func (r *Runtime) emptyDir(podUID, volume string) *folder.Folder {
	of := r.empty[podUID]
	if of == nil {
		of = map[string]*folder.Folder{}
		r.empty[podUID] = of
	}
	if of[volume] == nil {
		of[volume] = folder.New()
	}
	return of[volume]
}
