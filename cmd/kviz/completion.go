package main

import (
	"context"
	"fmt"
	goio "io"

	"github.com/spf13/cobra"
)

// completions write a script for a shell.
var completions = map[string]func(*cobra.Command, goio.Writer) error{
	"bash":       func(root *cobra.Command, w goio.Writer) error { return root.GenBashCompletionV2(w, true) },
	"zsh":        func(root *cobra.Command, w goio.Writer) error { return root.GenZshCompletion(w) },
	"fish":       func(root *cobra.Command, w goio.Writer) error { return root.GenFishCompletion(w, true) },
	"powershell": func(root *cobra.Command, w goio.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
}

func completionCommand() *command {
	return &command{
		name: "completion", usage: "bash|zsh|fish|powershell",
		short:   "a script with which your shell completes kviz' commands and flags",
		example: "source <(kviz completion bash)\nkviz completion fish > ~/.config/fish/completions/kviz.fish",
		run: func(_ context.Context, io streams, args []string) error {
			if len(args) != 1 {
				return &usageError{text: "name one shell: bash, zsh, fish or powershell"}
			}
			write, ok := completions[args[0]]
			if !ok {
				return &usageError{text: fmt.Sprintf("the shells are bash, zsh, fish and powershell, not %q", args[0])}
			}
			return write(completed(), io.out)
		},
	}
}

// completed is the table of commands as cobra has them, which writes the scripts and
// answers them when a key is pressed. They ask by a command of their own.
func completed() *cobra.Command {
	root := &cobra.Command{Use: "kviz", Run: func(*cobra.Command, []string) {}}
	root.CompletionOptions.DisableDefaultCmd = true
	for _, c := range commands() {
		sub := &cobra.Command{
			Use: c.name, Short: c.short, DisableFlagParsing: c.raw, Run: func(*cobra.Command, []string) {},
		}
		sub.Flags().AddFlagSet(flagsOf(c))
		root.AddCommand(sub)
	}
	return root
}

// complete answers a completion script.
func complete(io streams, args []string) error {
	root := completed()
	root.SetArgs(args)
	root.SetOut(io.out)
	root.SetErr(io.err)
	return root.Execute()
}
