package kubectl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	goruntime "runtime"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"

	"kviz/cluster/control"
)

// open lends the terminal to the person's editor and gives what it has left in the
// file. Nothing of the cluster waits meanwhile.
func (e *edit) open(text []byte) (edited []byte, file string, err error) {
	extension := ".yaml"
	if e.json {
		extension = ".json"
	}
	f, err := os.CreateTemp("", "kubectl-edit-*"+extension)
	if err != nil {
		return nil, "", err
	}
	if _, err = f.Write(text); err == nil {
		err = f.Close()
	} else {
		f.Close()
	}
	if err != nil {
		os.Remove(f.Name())
		return nil, "", err
	}
	words, argv := editorOf(e.k.inv.Env, f.Name())
	if err := e.k.inv.Lend(e.k.transport.ctx, e.k.inv.Dir, argv); err != nil {
		os.Remove(f.Name()) // nothing of the person's is in it
		switch {
		case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
			return nil, "", fmt.Errorf("unable to launch the editor %q", words)
		case e.interrupted(), errors.Is(err, control.ErrNotLent):
			return nil, "", err
		}
		return nil, "", fmt.Errorf("there was a problem with the editor %q", words)
	}
	edited, err = os.ReadFile(f.Name())
	return edited, f.Name(), err
}

// editorOf is the command that opens a file in the person's editor, and its words. It
// mirrors kubectl pkg/cmd/util/editor NewDefaultEditor, but asks the console's
// variables: KUBE_EDITOR=nano kubectl edit … works.
func editorOf(env expand.Environ, file string) (words string, argv []string) {
	variable := func(names ...string) string {
		for _, n := range names {
			if v := env.Get(n); v.Exported && strings.TrimSpace(v.String()) != "" {
				return v.String()
			}
		}
		return ""
	}
	fallback, shell, flag := "vi", "/bin/bash", "-c"
	if goruntime.GOOS == "windows" {
		fallback, shell, flag = "notepad", "cmd", "/C"
	}
	if words = variable("KUBE_EDITOR", "EDITOR"); words == "" {
		words = fallback
	}
	if !strings.ContainsAny(words, `"'\`) {
		return words, append(strings.Fields(words), file)
	}
	if s := variable("SHELL"); s != "" {
		shell = s
	}
	return words, []string{shell, flag, fmt.Sprintf("%s %q", words, file)}
}

// keep tells where the person's changes are, and gives the error on.
func (e *edit) keep(err error, file string) error {
	if file == "" {
		return err
	}
	if _, gone := os.Stat(file); gone == nil {
		e.k.inv.Untold = true // the file's name is another one each time
		fmt.Fprintf(e.ErrOut, "A copy of your changes has been stored to %q\n", file)
	}
	return err
}

// hasLines reports whether there is anything but blanks and comments.
func hasLines(text []byte) bool {
	return slices.ContainsFunc(bytes.Split(text, []byte("\n")), func(line []byte) bool {
		line = bytes.TrimSpace(line)
		return len(line) > 0 && line[0] != '#'
	})
}
