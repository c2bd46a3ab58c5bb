package main

import (
	"context"
	"fmt"
	goio "io"
	"runtime"
	"strings"

	"github.com/spf13/pflag"
	"mvdan.cc/sh/v3/syntax"
)

func envCommand() *command {
	var shell string
	return &command{
		name:  "env",
		usage: "[PORT] [flags]",
		short: "how other programs reach a running kviz serve or explore",
		long:  "Prints lines for a shell: KUBECONFIG for kubectl and, where the store is served (--etcd-port), ETCDCTL_ENDPOINTS,\nETCDCTL_CACERT, ETCDCTL_CERT and ETCDCTL_KEY for etcdctl. ETCDCTL_ENDPOINTS are the members there are now: after\nmembers have come or gone, print them again. Where several kviz are being served, PORT is the API server's of the one\nthat is meant.",
		example: `eval "$(kviz env)"
kviz env --shell powershell | Invoke-Expression`,
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&shell, "shell", usualShell(), "whose lines: posix, fish or powershell")
		},
		run: func(_ context.Context, io streams, args []string) error {
			if len(args) > 1 {
				return &usageError{text: fmt.Sprintf("unexpected %q", args[1])}
			}
			s, err := readServed(strings.Join(args, ""))
			if err != nil {
				return err
			}
			return exports(io.out, shell, append([][2]string{{"KUBECONFIG", s.Kubeconfig}}, s.etcdctl()...))
		},
	}
}

// usualShell is that of the system.
func usualShell() string {
	if runtime.GOOS == "windows" {
		return "powershell"
	}
	return "posix"
}

// assignments are how shells set a variable for the programs that they start.
var assignments = map[string]func(name, value string) (string, error){
	"posix": func(name, value string) (string, error) {
		quoted, err := syntax.Quote(value, syntax.LangPOSIX)
		return "export " + name + "=" + quoted, err
	},
	"fish": func(name, value string) (string, error) {
		return "set -gx " + name + " '" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'", nil
	},
	"powershell": func(name, value string) (string, error) {
		return "$env:" + name + " = '" + strings.ReplaceAll(value, `'`, `''`) + "'", nil
	},
}

// exports prints lines that set variables of a shell.
func exports(w goio.Writer, shell string, vars [][2]string) error {
	assign, ok := assignments[shell]
	if !ok {
		return &usageError{text: fmt.Sprintf("--shell is posix, fish or powershell, not %q", shell)}
	}
	for _, v := range vars {
		line, err := assign(v[0], v[1])
		if err != nil {
			return err
		}
		fmt.Fprintln(w, line)
	}
	return nil
}
