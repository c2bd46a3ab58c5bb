package main

import (
	"context"
	"fmt"

	"mvdan.cc/sh/v3/syntax"
)

func envCommand() *command {
	return &command{
		name:    "env",
		short:   "how other programs reach the kviz that is being served",
		long:    "Prints lines for a shell: KUBECONFIG for kubectl and, where the store is served, ETCDCTL_ENDPOINTS for etcdctl.",
		example: `eval "$(kviz env)"`,
		run: func(_ context.Context, io streams, args []string) error {
			if len(args) > 0 {
				return &usageError{text: fmt.Sprintf("unexpected %q", args[0])}
			}
			s, err := readServed()
			if err != nil {
				return err
			}
			for _, v := range [][2]string{{"KUBECONFIG", s.Kubeconfig}, {"ETCDCTL_ENDPOINTS", s.Etcd}} {
				if v[1] == "" {
					continue
				}
				quoted, err := syntax.Quote(v[1], syntax.LangPOSIX)
				if err != nil {
					return err
				}
				fmt.Fprintf(io.out, "export %s=%s\n", v[0], quoted)
			}
			return nil
		},
	}
}
