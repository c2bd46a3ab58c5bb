package kubectl

import (
	"path"
	"slices"
	"strings"

	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.TheConsole, How: simulated.Simplified,
	What: "attach, cp, debug, port-forward and proxy of kubectl are refused", Seen: "their refusals",
})

// refused says why a subcommand is not possible here, or "". terminal says whether
// there is one for an editor.
func refused(sub string, flags *parsed, terminal bool) string {
	if flags != nil && flags.on("help") {
		return ""
	}
	word, _, _ := strings.Cut(sub, " ")
	if edits(sub, flags) && !terminal {
		if sub == "create" {
			sub = "create --edit"
		}
		return sub + " opens your editor on a terminal, and there is none here; use kubectl patch, or kubectl get -o yaml > FILE and kubectl apply -f FILE"
	}
	switch word {
	case "port-forward":
		return "port-forward opens a port of this machine, which the console does not; start kviz with serve, and a kubectl outside can open it; kubectl exec POD -- curl URL fetches something inside the cluster, as a pod would"
	case "proxy":
		return "proxy opens a port of this machine, which the console does not; start kviz with serve, and a kubectl outside can open it"
	case "attach":
		return "attach needs a terminal for the container, and the console has none; start kviz with serve and use a kubectl outside, or kubectl logs -f, or kubectl exec"
	case "cp":
		return "cp needs tar inside the container; containers are simulated (use kubectl exec POD -- cat FILE)"
	case "debug":
		return "debug starts a program in a container; containers are simulated (use kubectl exec)"
	case "plugin":
		return "plugin runs other programs, which the console does not"
	case "config":
		if sub == "config set-context" && flags != nil && flags.on("current") {
			return ""
		}
		return "config changes the kubeconfig of this machine, which the console does not use; kubectl config set-context --current --namespace=NAME sets the console's namespace"
	}
	if word == "run" && attached(flags) && len(flags.args) > 1 && isShell(flags.args[1:]) {
		return "run -i with a shell would wait for what you type, and the console has no terminal for a container: its shell would end at once. Give it the commands (… -- sh -c 'hostname; env'), or start a pod that stays (… -- sleep 1d) and use kubectl exec POD -- COMMAND"
	}
	if word == "run" && attached(flags) && len(flags.args) < 2 {
		return "run with -i, -t or --attach and no command needs a program with a terminal; containers are simulated (give a command after --, or leave the flag out and use kubectl exec)"
	}
	return ""
}

// isShell reports whether a command is a shell that reads what it is to do from its
// input.
func isShell(argv []string) bool {
	return slices.Contains([]string{"sh", "bash", "ash"}, path.Base(argv[0])) && !slices.Contains(argv, "-c")
}

// edits reports whether a subcommand opens an editor.
func edits(sub string, flags *parsed) bool {
	return sub == "edit" || sub == "apply edit-last-applied" || sub == "create" && flags != nil && flags.on("edit")
}

// attached reports whether kubectl run is to stay with the pod.
func attached(flags *parsed) bool {
	return flags != nil && (flags.on("attach") || flags.on("stdin") || flags.on("tty"))
}
