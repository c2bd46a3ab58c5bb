package kubectl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// byPath are the flags of kubectl whose value names a file or a folder of the disk. A test holds them
// against what kubectl's own help says of its flags.
var byPath = []string{
	"cache-dir", "cert", "certificate-authority", "client-certificate", "client-key", "custom", "filename", "from-env-file", "from-file", "key",
	"kubeconfig", "kuberc", "kustomize", "output-directory", "patch-file", "profile-output", "template", "www",
}

// confined refuses what reaches files elsewhere, or the network, where a stranger's script runs. What
// substitute has found is in the only folder that is reached.
func (f *files) confined(sub string, flags *parsed) error {
	if sub == "kustomize" || flags.set("kustomize") {
		return errors.New("kustomize reaches what its file names, on other machines too, and a lesson out of a bundle does not; give the manifests with -f")
	}
	if flags == nil {
		return nil // kubectl says what it does not understand
	}
	var wrong error
	flags.set_.Visit(func(flag *pflag.Flag) {
		for _, value := range flags.values(flag.Name) {
			if err := f.confinedFlag(flag.Name, value); err != nil && wrong == nil {
				wrong = err
			}
		}
	})
	return wrong
}

func (f *files) confinedFlag(name, value string) error {
	switch {
	case name == "filename" && value != "-" && !slices.Contains(f.found, value): // as in -Rf FILE
		return fmt.Errorf("-f %s: in a lesson out of a bundle -f stands by itself: -f FILE", value)
	case name == "output":
		if _, file, ok := strings.Cut(value, "="); ok && strings.Contains(value, "file=") {
			_, err := f.inv.Path(file)
			return err
		}
	case name == "from-file":
		if _, path, named := strings.Cut(value, "="); named {
			value = path
		}
		_, err := f.inv.Path(value)
		return err
	case slices.Contains(byPath, name) && name != "filename":
		_, err := f.inv.Path(value)
		return err
	}
	return nil
}
