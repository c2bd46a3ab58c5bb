package kubectl

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"kviz/cluster/console/command"
	"kviz/cluster/nearest"
)

// files is the edge between kubectl's -f and the disk: standard input (which
// kubectl would read from the process, not from the pipe) and the embedded
// manifests become temporary files; names are put back into what kubectl says.
type files struct {
	inv       *command.Invocation
	manifests fs.FS // embedded; may be nil
	dir       string
	back      map[string]string // temporary path -> what the person wrote
	found     []string          // files of -f on the disk, as the person wrote them
}

// substitute gives args with every -f FILE made into a path that exists for
// kubectl.
func (f *files) substitute(args []string) ([]string, error) {
	out := append([]string{}, args...)
	for i := 0; i < len(out); i++ {
		a := out[i]
		if a == "--" {
			break
		}
		var err error
		switch {
		case (a == "-f" || a == "--filename") && i+1 < len(out):
			i++
			out[i], err = f.find(out[i])
		case strings.HasPrefix(a, "--filename="):
			out[i], err = f.prefixed("--filename=", a)
		case strings.HasPrefix(a, "-f="):
			out[i], err = f.prefixed("-f=", a)
		case strings.HasPrefix(a, "-f") && len(a) > 2 && !isLogs(out):
			out[i], err = f.prefixed("-f", a)
		case slices.Contains(filed, a) && i+1 < len(out):
			i++
			out[i], err = f.here(a, out[i])
		default:
			if flag, value, ok := strings.Cut(a, "="); ok && slices.Contains(filed, flag) {
				value, err = f.here(flag, value)
				out[i] = flag + "=" + value
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// filed are the other flags whose value is a file or folder on the disk; that of --from-file
// may have a key before it: --from-file=key=path.
var filed = []string{"-k", "--kustomize", "--output-directory", "--from-file", "--from-env-file", "--patch-file", "--cert", "--key", "--client-certificate", "--client-key", "--kubeconfig"}

// here takes the path in a flag's value from the console's folder on.
func (f *files) here(flag, value string) (string, error) {
	key, path, named := strings.Cut(value, "=")
	if named = named && flag == "--from-file"; !named {
		path = value
	}
	path, err := f.inv.Path(path)
	if named {
		path = key + "=" + path
	}
	return path, err
}

// isLogs reports whether -f means --follow.
func isLogs(args []string) bool {
	for _, a := range args {
		if a == "logs" {
			return true
		}
	}
	return false
}

func (f *files) prefixed(prefix, arg string) (string, error) {
	var found []string
	for _, name := range strings.Split(strings.TrimPrefix(arg, prefix), ",") {
		p, err := f.find(name)
		if err != nil {
			return "", err
		}
		found = append(found, p)
	}
	return prefix + strings.Join(found, ","), nil
}

// find gives a path for kubectl: of the file on the disk, or of a copy of
// standard input or of an embedded manifest.
func (f *files) find(name string) (string, error) {
	switch {
	case name == "-":
		b, err := io.ReadAll(f.inv.In)
		if err != nil {
			return "", fmt.Errorf("reading standard input: %w", err)
		}
		f.inv.In = bytes.NewReader(nil)
		return f.temporary("STDIN", "stdin.yaml", b)
	case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
		return "", fmt.Errorf("%s: the console does not reach into the internet; download the file and give its path", name)
	}
	f.found = append(f.found, name)
	path, err := f.inv.Path(name)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if f.manifests == nil {
		return name, nil
	}
	clean := filepath.ToSlash(filepath.Clean(name))
	if b, err := fs.ReadFile(f.manifests, clean); err == nil {
		return f.temporary(name, filepath.Base(name), b)
	}
	if info, err := fs.Stat(f.manifests, clean); err == nil && info.IsDir() {
		return f.directory(name, clean)
	}
	if near := nearest.To(clean, f.known()); near != "" {
		return "", fmt.Errorf("the path %q does not exist; did you mean %q?", name, near)
	}
	return name, nil
}

// known lists the embedded manifests.
func (f *files) known() []string {
	var names []string
	_ = fs.WalkDir(f.manifests, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, p)
		}
		return nil
	})
	sort.Strings(names)
	return names
}

var noNamespace = regexp.MustCompile(`namespaces "([^"]+)" not found`)

// missing points to the embedded manifest that makes the namespace which kubectl says is
// not there.
func (f *files) missing(said []byte) string {
	m := noNamespace.FindSubmatch(said)
	if m == nil || f.manifests == nil {
		return ""
	}
	best, size := "", 0 // the one that makes least beside it
	for _, name := range f.known() {
		b, err := fs.ReadFile(f.manifests, name)
		if err != nil {
			continue
		}
		var o metav1.PartialObjectMetadata
		first, _, _ := strings.Cut(string(b), "\n---")
		if yaml.Unmarshal([]byte(first), &o) == nil && o.Kind == "Namespace" && o.Name == string(m[1]) && (best == "" || len(b) < size) {
			best, size = name, len(b)
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("hint: kubectl apply -f %s makes the namespace %s\n", best, m[1])
}

func (f *files) directory(name, clean string) (string, error) {
	entries, err := fs.ReadDir(f.manifests, clean)
	if err != nil {
		return "", err
	}
	dir := ""
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		b, err := fs.ReadFile(f.manifests, clean+"/"+e.Name())
		if err != nil {
			return "", err
		}
		p, err := f.temporary(name+"/"+e.Name(), filepath.Join(filepath.Base(clean), e.Name()), b)
		if err != nil {
			return "", err
		}
		dir = filepath.Dir(p)
	}
	return dir, nil
}

func (f *files) temporary(written, base string, content []byte) (string, error) {
	if f.dir == "" {
		dir, err := os.MkdirTemp("", "kviz-f-")
		if err != nil {
			return "", err
		}
		f.dir, f.back = dir, map[string]string{}
	}
	path := filepath.Join(f.dir, base)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return "", err
	}
	f.back[path] = written
	return path, nil
}

// restore puts the names that the person wrote back into kubectl's words.
func (f *files) restore(text []byte) []byte {
	for path, written := range f.back {
		text = bytes.ReplaceAll(text, []byte(path), []byte(written))
	}
	return text
}

// restoring is a writer of whole lines that does the same.
type restoring struct {
	f *files
	w io.Writer
}

func (r restoring) Write(p []byte) (int, error) {
	_, err := r.w.Write(r.f.restore(p))
	return len(p), err
}

func (f *files) clean() {
	if f.dir != "" {
		os.RemoveAll(f.dir)
	}
}
