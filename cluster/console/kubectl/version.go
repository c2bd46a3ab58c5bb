package kubectl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/yaml"
)

// ReplaceVersion makes a kubectl say which version it is: the one that it was
// built from knows only Kubernetes' own build scripts' answer.
func ReplaceVersion(root *cobra.Command, flags genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) {
	replace(root, versionCommand(cmdutil.NewFactory(flags), streams), "version")
}

// versions are what kubectl version says.
type versions struct {
	ClientVersion    *apimachineryversion.Info `json:"clientVersion,omitempty"`
	KustomizeVersion string                    `json:"kustomizeVersion,omitempty"`
	ServerVersion    *apimachineryversion.Info `json:"serverVersion,omitempty"`
}

// versionCommand mirrors kubectl pkg/cmd/version NewCmdVersion.
func versionCommand(f cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	clientOnly, format := false, ""
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the client and server version information",
		Long:    "Print the client and server version information for the current context.",
		Example: "  # Print the client and server versions for the current context\n  kubectl version",
		Run: func(cmd *cobra.Command, args []string) {
			if len(args) != 0 {
				cmdutil.CheckErr(fmt.Errorf("extra arguments: %v", args))
			}
			if format != "" && format != "yaml" && format != "json" {
				cmdutil.CheckErr(errors.New("--output must be 'yaml' or 'json'"))
			}
			said := versions{KustomizeVersion: kustomizeVersion, ClientVersion: &apimachineryversion.Info{
				Major: "1", Minor: "37", GitVersion: clientVersion, GitTreeState: "clean",
				GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
			}}
			var serverErr error
			if !clientOnly {
				client, err := f.ToDiscoveryClient()
				cmdutil.CheckErr(err)
				client.Invalidate() // always the server that is there now
				said.ServerVersion, serverErr = client.ServerVersion()
			}
			cmdutil.CheckErr(said.print(streams.Out, format))
			cmdutil.CheckErr(serverErr) // as kubectl: what is known is said first
		},
	}
	c.Flags().BoolVar(&clientOnly, "client", false, "If true, shows client version only (no server required).")
	c.Flags().StringVarP(&format, "output", "o", "", "One of 'yaml' or 'json'.")
	return c
}

// kustomizeVersion is that of the kustomize in kubectl v1.37.
const kustomizeVersion = "v5.8.1"

func (v *versions) print(w io.Writer, format string) error {
	switch format {
	case "json":
		b, err := json.MarshalIndent(v, "", "  ")
		if err == nil {
			fmt.Fprintln(w, string(b))
		}
		return err
	case "yaml":
		b, err := yaml.Marshal(v)
		if err == nil {
			fmt.Fprint(w, string(b))
		}
		return err
	}
	fmt.Fprintf(w, "Client Version: %s\nKustomize Version: %s\n", v.ClientVersion.GitVersion, v.KustomizeVersion)
	if v.ServerVersion != nil {
		fmt.Fprintf(w, "Server Version: %s\n", v.ServerVersion.GitVersion)
	}
	return nil
}
