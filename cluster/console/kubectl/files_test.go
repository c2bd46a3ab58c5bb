package kubectl

import (
	"strings"
	"testing"

	"kviz/cluster/console/command"
)

// Paths in kubectl's flags are taken from the console's folder on; only before that of
// --from-file may a key stand.
func TestPathsInFlags(t *testing.T) {
	f := &files{inv: &command.Invocation{Dir: "/home"}}
	for args, want := range map[string]string{
		"--from-file=a.txt":         "--from-file=/home/a.txt",
		"--from-file=k=a.txt":       "--from-file=k=/home/a.txt",
		"--from-file k=a.txt":       "--from-file k=/home/a.txt",
		"--patch-file=a=b.yaml":     "--patch-file=/home/a=b.yaml",
		"--patch-file a=b.yaml":     "--patch-file /home/a=b.yaml",
		"--cert=k=v.pem":            "--cert=/home/k=v.pem",
		"--key=/etc/k=v.pem":        "--key=/etc/k=v.pem",
		"-k base":                   "-k /home/base",
		"--kustomize=base":          "--kustomize=/home/base",
		"--output-directory dump":   "--output-directory /home/dump",
		"--from-literal=k=v.pem -w": "--from-literal=k=v.pem -w",
	} {
		got, err := f.substitute(strings.Fields(args))
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s becomes %v (%v), want %s", args, got, err, want)
		}
	}
}
