package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/distribution/reference"

	"kviz/cluster/sim"
)

// sizes are compressed sizes of well-known images, in bytes; others are drawn
// from their name.
var sizes = map[string]int64{
	"docker.io/library/nginx":    72_210_000,
	"docker.io/library/httpd":    58_430_000,
	"docker.io/library/busybox":  2_167_000,
	"docker.io/library/alpine":   3_642_000,
	"docker.io/library/redis":    45_120_000,
	"docker.io/library/postgres": 151_300_000,
	"docker.io/library/mysql":    226_900_000,
	"docker.io/library/python":   363_800_000,
	"docker.io/library/node":     392_500_000,
	"docker.io/library/ubuntu":   29_540_000,
	"docker.io/curlimages/curl":  8_310_000,
	"docker.io/kviz/crash":       1_024_000,
	"docker.io/kviz/exit":        1_024_000,
	"docker.io/kviz/slow-start":  1_024_000,
	"docker.io/kviz/echo":        1_024_000,
	"registry.k8s.io/pause":      320_448,
}

// The pull of an image is a round trip for the manifest and the download.
const (
	resolveTime   = 280 * time.Millisecond
	bytesPerSec   = 36_000_000 // a node's usual rate; each pull draws 0.7 to 1.3 of it
	unreachableIn = 30 * time.Second
)

// Normalize gives the full name of a reference: "nginx" is
// "docker.io/library/nginx:latest".
func Normalize(ref string) (string, error) {
	if full, ok := normalized.Load(ref); ok {
		return full.(string), nil
	}
	full, err := normalize(ref)
	if err == nil && names.Load() < namesKept {
		if _, had := normalized.LoadOrStore(ref, full); !had {
			names.Add(1)
		}
	}
	return full, err
}

// normalized remembers what names in full are: kubelets and runtimes ask again
// and again for the same few, and reading one takes a dozen regular expressions.
// A name says everything, so clusters in one process share it.
var (
	normalized sync.Map
	names      atomic.Int64
)

const namesKept = 1024

func normalize(ref string) (string, error) {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return "", fmt.Errorf("failed to parse reference %q: %w", ref, err)
	}
	return reference.TagNameOnly(named).String(), nil
}

// Resolve tells what a reference is, without pulling it. Its errors are those
// of containerd's resolver.
func (r *Registry) Resolve(ref string) (Image, error) { return find(ref, r.unreachable) }

// Exists reports whether a registry has what a reference names.
func Exists(ref string) bool {
	_, err := find(ref, false)
	return err == nil
}

func find(ref string, unreachable bool) (Image, error) {
	full, err := Normalize(ref)
	if err != nil {
		return Image{}, err
	}
	named, err := reference.ParseNormalizedNamed(full)
	if err != nil {
		return Image{}, err
	}
	name, tag := reference.Path(named), "latest"
	if tagged, ok := named.(reference.Tagged); ok {
		tag = tagged.Tag()
	}
	head := fmt.Sprintf("failed to resolve reference %q: ", full)
	domain := reference.Domain(named)
	host := endpoint(domain)
	ask := func(scheme string) string {
		return fmt.Sprintf(`%sfailed to do request: Head "%s://%s/v2/%s/manifests/%s": `, head, scheme, host, name, tag)
	}
	if scheme, why, timeout := dial(domain); why != "" {
		return Image{}, &dialError{ask(scheme) + why, timeout}
	}
	if unreachable {
		name, _ := split(host)
		return Image{}, &dialError{ask("https") + "dial tcp: lookup " + name + ": i/o timeout", true}
	}
	repo := reference.TrimNamed(named).Name()
	if noRepository(repo) {
		return Image{}, &NotFoundError{denied: true, text: head + "pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed"}
	}
	if noTag(repo, tag) {
		return Image{}, &NotFoundError{text: head + full + ": not found"}
	}
	sum := sha256.Sum256([]byte(full))
	return Image{Name: full, Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: size(repo, tag, sum)}, nil
}

// dialError says that no connection to the registry came about.
type dialError struct {
	text    string
	timeout bool
}

// Error is containerd's text.
func (e *dialError) Error() string { return e.text }

// NotFoundError says that the registry answered and has no such image.
type NotFoundError struct {
	denied bool
	text   string
}

// Error is containerd's text.
func (e *NotFoundError) Error() string { return e.text }

// Denied reports whether the repository is missing, which registries do not
// tell apart from a private one.
func (e *NotFoundError) Denied() bool { return e.denied }

// absent are the words in a name or tag of what is not found.
var absent = []string{"nosuch", "no-such", "does-not-exist", "doesnotexist", "nonexistent"}

func missing(word string) bool {
	return slices.ContainsFunc(absent, func(no string) bool { return strings.Contains(word, no) })
}

func size(repo, tag string, sum [32]byte) int64 {
	n, ok := sizes[repo]
	if !ok {
		n = 18_000_000 + (int64(sum[0])<<16|int64(sum[1])<<8|int64(sum[2]))*6
	}
	if strings.Contains(tag, "alpine") && n > 10_000_000 {
		n = n * 2 / 7
	}
	return n + int64(sum[3])*977
}

// Pull downloads an image to a node: it takes as long as the size, the node's
// rate, the seed and the faults say, and gives what the reference is.
func (r *Registry) Pull(t *sim.Task, node, ref string) (Image, error) {
	img, err := r.Resolve(ref)
	if err != nil {
		wait := resolveTime
		if failed, ok := err.(*dialError); ok && failed.timeout {
			wait = unreachableIn
		}
		t.Sleep(wait)
		return Image{}, err
	}
	// A stream of its own, so that the time does not depend on what else was
	// pulled before.
	rate := 0.7 + 0.6*r.k.Rand("pull/"+node+"/"+img.Name).Float64()
	took := resolveTime + time.Duration(float64(img.Size)/(bytesPerSec*rate)*float64(time.Second))
	t.Sleep(time.Duration(float64(took)*r.slow) + r.delays[img.Name])
	if r.unreachable {
		return Image{}, fmt.Errorf("failed to copy: httpReadSeeker: failed open: failed to do request: Get %q: dial tcp: i/o timeout", img.Digest)
	}
	return img, nil
}

// SetDelay makes every pull of a reference take d longer; 0 takes it back.
func (r *Registry) SetDelay(ref string, d time.Duration) error {
	full, err := Normalize(ref)
	if err != nil {
		return err
	}
	r.delays[full] = d
	return nil
}
