package runtime

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"kviz/cluster/images"
)

// finishTime is how long the program of an unknown image runs that is there to finish.
const finishTime = 3 * time.Second

// assumedUser is the user of an unknown image that must not run as root: that of
// distroless images, which many are built on.
const assumedUser = 65532

// Assumption is what is assumed of a container, because its image is not known or its
// program is not simulated. The zero value is none.
type Assumption struct {
	What string // "to run until stopped, as user 65532, with /manager"
	// Image is set where the image is not known, else Program is not simulated.
	Image, Program string
	Field          string // of the container, that it comes from: image, command or args
}

// String is the assumption as its event has it: "to run until stopped (unknown image)".
func (a Assumption) String() string {
	switch {
	case a.What == "":
		return ""
	case a.Image != "":
		return a.What + " (unknown image)"
	}
	return a.What + " (" + a.Program + " is not simulated)"
}

// Sentence is the assumption for who wrote the container.
func (a Assumption) Sentence() string {
	about := fmt.Sprintf("simulate %q", a.Program)
	if a.Image != "" {
		about = fmt.Sprintf("know %q", a.Image)
	}
	return "kviz does not " + about + ": it is assumed " + a.What
}

// Assume tells what is assumed of the container.
func (c *ContainerConfig) Assume() Assumption {
	repo, _ := c.reference()
	_, known := c.image()
	program, given := c.program()
	a := Assumption{Field: "image", Program: path.Base(repo)}
	switch {
	case !known:
		a.Image, a.Program = c.Image, ""
	case len(c.Command) > 0:
		a.Field, a.Program = "command", named(program)
	case given:
		a.Field, a.Program = "args", named(program)
	}
	what := ""
	if c.Behaviour == "" {
		b, assumed := choose(c)
		switch {
		case b.Broken != "":
			return Assumption{}
		case assumed && b.Exits:
			what = fmt.Sprintf("to end with exit code 0 after %s", b.After)
		case assumed:
			what = "to run until stopped"
		}
	}
	if !known && c.NonRoot {
		if as := "as user " + strconv.Itoa(assumedUser); what != "" {
			what += ", " + as
		} else {
			what = "to run " + as
		}
	}
	if !known && given {
		with := named(program)
		if isShell(path.Base(program)) {
			with += " and what its script runs"
		}
		if what != "" {
			what += ", with " + with
		} else {
			what = "to have " + with
		}
	}
	if what == "" {
		return Assumption{}
	}
	a.What = what
	return a
}

// image is what is known of the container's image. What a node runs a program for that is
// part of this simulation is known, too.
func (c *ContainerConfig) image() (images.Image, bool) { return images.Of(c.reference()) }

// program is the one that the container's configuration names: its command, or the
// arguments where the image has no entry point.
func (c *ContainerConfig) program() (string, bool) {
	if len(c.Command) > 0 {
		return c.Command[0], true
	}
	if img, known := c.image(); known && img.Entry == images.Nothing && len(c.Args) > 0 {
		return c.Args[0], true
	}
	return "", false
}

// lacks reports whether the container is known to have no such program: the image has
// none, and it cannot be in a volume.
func (c *ContainerConfig) lacks(program string) bool {
	if program == "" || images.Internal(program) {
		return true
	}
	if !strings.Contains(program, "/") && c.Env["PATH"] != "" {
		return false
	}
	if c.mountOf(program) != nil {
		return false
	}
	img, _ := c.image()
	return img.Lacks(program)
}

// has reports whether the container is known to have a program, or is assumed to have it
// because it was started with it.
func (c *ContainerConfig) has(program string) bool {
	if with, given := c.program(); given && with == program {
		return true
	}
	_, known := c.image()
	return known && !c.lacks(program)
}

// named is a program's name as a message has it.
func named(program string) string { return program[:min(len(program), maxName)] }

// notFound is how runc says that there is no such program.
func notFound(program string) string {
	return fmt.Sprintf("exec: %q: %s", named(program), images.NotFound(named(program)))
}

// ImageUser is the user of an image on the node, as the CRI's ImageStatus has it: a
// number, or a name that cannot be told from root's. An image without a user is root's.
// One that is not known is assumed to be built for a user of its own.
func ImageUser(ref string) (uid int64, name string) {
	cfg := ContainerConfig{Image: ref}
	img, known := cfg.image()
	switch {
	case !known:
		return assumedUser, ""
	case img.User == "":
		return 0, ""
	}
	if uid, err := strconv.ParseInt(img.User, 10, 64); err == nil {
		return uid, ""
	}
	return 0, img.User
}
