package main

import (
	"context"
	"fmt"
	"runtime"

	"kviz/cluster/serve"
)

func versionCommand() *command {
	return &command{
		name:    "version",
		short:   "which kviz this is, and which Kubernetes it simulates",
		example: "kviz version",
		run: func(_ context.Context, io streams, args []string) error {
			if len(args) > 0 {
				return &usageError{text: fmt.Sprintf("unexpected %q", args[0])}
			}
			fmt.Fprintf(io.out, "kviz %s\nsimulates Kubernetes %s\n%s %s/%s\n", version(), serve.KubernetesVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
