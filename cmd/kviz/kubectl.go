package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"kviz/cluster/console/kubectl"
)

func kubectlCommand() *command {
	return &command{
		name: "kubectl", usage: "ARGUMENTS", raw: true,
		short:   "kubectl, for a running kviz",
		long:    "The kubectl of the console (v1.37), for a machine without one. It talks to the cluster of kviz serve.",
		example: "kviz kubectl get pods -A",
		run: func(_ context.Context, io streams, args []string) error {
			if len(args) == 1 && (args[0] == "-h" || args[0] == "--help") {
				printHelp(io.out, kubectlCommand())
				return nil
			}
			s, err := readServed("")
			if err != nil {
				return err
			}
			os.Setenv("KUBECONFIG", s.Kubeconfig)
			signal.Reset() // kubectl ends by a signal as any other program, but for those that it handles itself
			std := genericiooptions.IOStreams{In: io.in, Out: io.out, ErrOut: io.err}
			flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50).WithWarningPrinter(std)
			root := cmd.NewKubectlCommand(cmd.KubectlOptions{Arguments: append([]string{"kubectl"}, args...), IOStreams: std, ConfigFlags: flags})
			kubectl.ReplaceVersion(root, flags, std)
			root.SetArgs(args)
			root.SetOut(io.out)
			root.SetErr(io.err)
			root.SilenceErrors = true
			if err := root.Execute(); err != nil {
				exit := exitError(0)
				cmdutil.BehaviorOnFatal(func(text string, code int) { fmt.Fprintln(io.err, text); exit = exitError(code) })
				cmdutil.CheckErr(err)
				return exit
			}
			return nil
		},
	}
}
