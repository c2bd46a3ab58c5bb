package kubectl

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd/auth"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// canICommand mirrors kubectl pkg/cmd/auth NewCmdCanI, which ends the process
// when the answer is no.
func canICommand(f cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	o := &auth.CanIOptions{IOStreams: streams}
	c := &cobra.Command{
		Use:                   "can-i VERB [TYPE | TYPE/NAME | NONRESOURCEURL]",
		DisableFlagsInUseLine: true,
		Short:                 "Check whether an action is allowed",
		Long:                  "Check whether an action is allowed. This command pairs nicely with impersonation: see --as.",
		Run: func(cmd *cobra.Command, args []string) {
			cmdutil.CheckErr(o.Complete(f, args))
			cmdutil.CheckErr(o.Validate())
			if o.List {
				cmdutil.CheckErr(o.RunAccessList())
				return
			}
			allowed, err := o.RunAccessCheck()
			cmdutil.CheckErr(err)
			if !allowed {
				cmdutil.CheckErr(cmdutil.ErrExit)
			}
		},
	}
	c.Flags().BoolVarP(&o.AllNamespaces, "all-namespaces", "A", o.AllNamespaces, "If true, check the specified action in all namespaces.")
	c.Flags().BoolVarP(&o.Quiet, "quiet", "q", o.Quiet, "If true, suppress output and just return the exit code.")
	c.Flags().StringVar(&o.Subresource, "subresource", o.Subresource, "SubResource such as pod/log or deployment/scale")
	c.Flags().BoolVar(&o.List, "list", o.List, "If true, prints all allowed actions.")
	c.Flags().BoolVar(&o.NoHeaders, "no-headers", o.NoHeaders, "If true, prints allowed actions without headers")
	return c
}
