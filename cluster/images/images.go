// Package images is what this simulation knows of well-known images: the user that each
// is built for, the port that it serves, how its entry point takes arguments, and which
// programs it holds. On a real node the first is in the image's config, where containerd
// reads it, and the last is in its layers.
//
// Simplified: a row stands for every tag, but for those that [Of] tells apart. An image
// without a row is unknown, and those who run it say what they assume of it.
//
// Start reading at [Of]; the rows are in catalogue.go.
package images

import (
	"path"
	"strings"

	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Containers, How: simulated.Simulated,
	What: "of some 60 well-known images, and of Bitnami's, the user is known, of most the port, of many the programs; of any other image it is assumed that it runs until it is stopped and serves its declared ports, or ends with exit code 0 after 3 s where it is there to finish (an init container, or a pod that does not restart it and that has no ports or probes), that its user is 65532 where the pod must not run as root, and that it has the programs that its pod and the pod's scripts name; the annotation kviz.dev/behaviour decides otherwise",
	Seen: "the Warning to who writes such a pod, the node pane, kviz why",
})

// Image is a well-known image.
type Image struct {
	// User is the config's USER, without its group: "" is root, a name is as good as
	// unknown to the kubelet, which cannot tell whether it is root's.
	User string
	// Serves is the port that the image's program listens on; 0 for none, or any.
	Serves int
	// Entry says what becomes of arguments without a command.
	Entry Entry
	// Simulated says that a program of this simulation runs in its containers.
	Simulated bool

	// base and own are the programs in $PATH, of the system below and of the image; base
	// is nil where they are not known. files are absolute paths outside $PATH.
	base, own map[string]bool
	files     string
}

// Entry is an image's entry point, as far as it decides what arguments are.
type Entry uint8

// The entry points.
const (
	Own     Entry = iota // a program of its own takes them
	Nothing              // there is none: arguments are the command
	Script               // a shell script runs them as a command where they are no options
)

// Of gives what is known of an image: its repository in full, such as
// "docker.io/library/nginx", and its tag.
func Of(repository, tag string) (Image, bool) {
	switch {
	case strings.HasPrefix(repository, "docker.io/bitnami/"), strings.HasPrefix(repository, "docker.io/bitnamilegacy/"):
		if strings.HasSuffix(repository, "/minideb") {
			return Image{Entry: Nothing}, true
		}
		return Image{User: "1001"}, true
	case strings.HasPrefix(repository, "gcr.io/distroless/"):
		img := Image{User: "0", Entry: Nothing}
		if strings.Contains(tag, "nonroot") {
			img.User = "65532"
		}
		switch path.Base(repository) {
		case "static", "static-debian12", "static-debian13", "base", "base-debian12", "base-debian13", "cc", "cc-debian12", "cc-debian13":
			if !strings.Contains(tag, "debug") {
				img.base = scratch
			}
		}
		return img, true
	case strings.HasPrefix(repository, "docker.io/kviz/"):
		img := Image{User: "65532", Simulated: true}
		if repository == "docker.io/kviz/echo" {
			img.Serves = 8080
		}
		return img, true
	}
	img, ok := catalogue[repository]
	if len(img.own) > 0 && strings.Contains(tag, "alpine") {
		img.base = alpine
	}
	return img, ok
}

// Split takes a reference in full, such as "docker.io/library/nginx:1.27", into
// repository and tag.
func Split(full string) (repository, tag string) {
	repository, _, _ = strings.Cut(full, "@")
	if colon := strings.LastIndexByte(repository, ':'); colon > strings.LastIndexByte(repository, '/') {
		return repository[:colon], repository[colon+1:]
	}
	return repository, ""
}

// Lacks reports whether the image has no such program; false where that is not known. A
// program is a name that is looked up in $PATH, or an absolute path.
func (i Image) Lacks(program string) bool {
	if i.base == nil || program == "" {
		return false
	}
	if !strings.Contains(program, "/") {
		return !i.has(program)
	}
	if !path.IsAbs(program) {
		return false // below the image's working directory
	}
	program = path.Clean(program)
	for file := range strings.FieldsSeq(i.files) {
		if program == file {
			return false
		}
	}
	dir, name := path.Split(program)
	return !inPath[dir] || !i.has(name)
}

// Ships reports whether a program may be the image's own: one that is not of the system
// that the image is built on.
func (i Image) Ships(program string) bool { return i.base == nil || i.own[path.Base(program)] }

// Own reports whether a program is known to be the image's own.
func (i Image) Own(program string) bool { return i.own[path.Base(program)] }

func (i Image) has(name string) bool { return i.base[name] || i.own[name] }

// inPath are the directories that programs are in. That one is in another of them is not
// known apart.
var inPath = map[string]bool{
	"/bin/": true, "/sbin/": true, "/usr/bin/": true, "/usr/sbin/": true, "/usr/local/bin/": true, "/usr/local/sbin/": true,
	"/usr/local/apache2/bin/": true, "/usr/lib/postgresql/18/bin/": true, "/usr/lib/postgresql/17/bin/": true, "/usr/lib/postgresql/16/bin/": true,
	"/usr/lib/postgresql/15/bin/": true, "/usr/lib/postgresql/14/bin/": true,
}

// NotFound is how runc says that there is no such program.
func NotFound(program string) string {
	if strings.Contains(program, "/") {
		return "stat " + program + ": no such file or directory"
	}
	return "executable file not found in $PATH"
}

// Internal reports whether a word is a command of shells only: no image has a program of
// that name.
func Internal(word string) bool { return internal[word] }

var internal = words(`: . break continue eval exec exit export local read readonly return set shift source times trap umask unset wait`)

func words(text string) map[string]bool {
	in := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		in[word] = true
	}
	return in
}

func union(sets ...map[string]bool) map[string]bool {
	all := map[string]bool{}
	for _, set := range sets {
		for word := range set {
			all[word] = true
		}
	}
	return all
}
