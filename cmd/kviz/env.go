package main

import (
	"context"
	"fmt"
	goio "io"

	"mvdan.cc/sh/v3/syntax"
)

func envCommand() *command {
	return &command{
		name:    "env",
		short:   "how other programs reach the kviz that is being served",
		long:    "Prints lines for a shell: KUBECONFIG for kubectl and, where the store is served (--etcd-port), ETCDCTL_ENDPOINTS,\nETCDCTL_CACERT, ETCDCTL_CERT and ETCDCTL_KEY for etcdctl. ETCDCTL_ENDPOINTS are the members there are now: after\nmembers have come or gone, print them again.",
		example: `eval "$(kviz env)"`,
		run: func(_ context.Context, io streams, args []string) error {
			if len(args) > 0 {
				return &usageError{text: fmt.Sprintf("unexpected %q", args[0])}
			}
			s, err := readServed()
			if err != nil {
				return err
			}
			return exports(io.out, append([][2]string{{"KUBECONFIG", s.Kubeconfig}}, s.etcdctl()...))
		},
	}
}

// exports prints lines that set variables of a shell.
func exports(w goio.Writer, vars [][2]string) error {
	for _, v := range vars {
		quoted, err := syntax.Quote(v[1], syntax.LangPOSIX)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "export %s=%s\n", v[0], quoted)
	}
	return nil
}
