package runtime

import (
	"errors"
	"fmt"
	"sort"
	"time"

	"kviz/cluster/registry"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// storedImage is an image in the node's store.
type storedImage struct {
	registry.Image
}

// pull is a pull under way: who asks for the same image meanwhile waits for it.
type pull struct {
	done  bool
	cond  sim.Cond
	image registry.Image
	err   error
}

// ImageRef is an image's reference by digest, "" if the node does not have it:
// the CRI's ImageStatus.
func (r *Runtime) ImageRef(ref string) (string, error) {
	if r.down {
		return "", r.unavailable()
	}
	full, err := registry.Normalize(ref)
	if err != nil {
		return "", err
	}
	img := r.images[full]
	if img == nil {
		return "", nil
	}
	return imageID(img.Image), nil
}

// imageID is the reference by digest: "docker.io/library/nginx@sha256:…".
func imageID(img registry.Image) string {
	repo := img.Name
	for i := len(repo) - 1; i >= 0 && repo[i] != '/'; i-- {
		if repo[i] == ':' {
			repo = repo[:i]
			break
		}
	}
	return repo + "@" + img.Digest
}

// PullImage is the CRI call. pod is for the trace.
func (r *Runtime) PullImage(t *sim.Task, pod, container, ref string) (imageRef string, size int64, took time.Duration, err error) {
	began := t.Elapsed()
	var img registry.Image
	_, err = r.call(t, trace.RuntimeCall{Pod: pod, Container: container, Call: "PullImage", Arg: ref}, 0, func() (string, error) {
		full, err := registry.Normalize(ref)
		if err != nil {
			return "", &Error{Code: "InvalidArgument", Desc: err.Error()}
		}
		if img, err = r.fetch(t, full); err != nil {
			code := "Unknown"
			var nf *registry.NotFoundError
			if errors.As(err, &nf) && !nf.Denied() {
				code = "NotFound"
			}
			return "", &Error{Code: code, Desc: fmt.Sprintf("failed to pull and unpack image %q: %s", full, err)}
		}
		return imageID(img), nil
	})
	return imageID(img), img.Size, t.Elapsed() - began, err
}

// fetch pulls, or joins a pull of the same image.
func (r *Runtime) fetch(t *sim.Task, full string) (registry.Image, error) {
	if p := r.pulling[full]; p != nil {
		for !p.done {
			p.cond.Wait(t)
		}
		return p.image, p.err
	}
	p := &pull{err: errors.New("context canceled")}
	r.pulling[full] = p
	defer func() { // also when the caller is killed
		delete(r.pulling, full)
		p.done = true
		p.cond.Broadcast()
	}()
	if _, have := r.images[full]; have { // policy Always: only the manifest is asked for
		img, err := r.reg.Resolve(full)
		r.take(t, 400*time.Millisecond)
		p.image, p.err = img, err
	} else {
		p.image, p.err = r.reg.Pull(t, r.cfg.Node, full)
	}
	if p.err == nil {
		r.images[full] = &storedImage{Image: p.image}
	}
	return p.image, p.err
}

// Images lists the node's images, biggest first, as Node.status.images does.
func (r *Runtime) Images() []registry.Image {
	out := make([]registry.Image, 0, len(r.images))
	for _, img := range r.images {
		out = append(out, img.Image)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Size != out[j].Size {
			return out[i].Size > out[j].Size
		}
		return out[i].Name < out[j].Name
	})
	return out
}

// RemoveImage takes an image from the node's store.
func (r *Runtime) RemoveImage(ref string) {
	if full, err := registry.Normalize(ref); err == nil {
		delete(r.images, full)
	}
}
