package kubectl

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/kubectl/pkg/cmd/apply"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/cmd/util/editor"
	"k8s.io/kubectl/pkg/scheme"
	"k8s.io/kubectl/pkg/util"
)

// This file is kubectl edit, kubectl apply edit-last-applied and kubectl create --edit.
// Their flags and what they read are kubectl's own; the loop of editing, validating and
// patching is a port of EditOptions.Run of kubectl pkg/cmd/util/editor. That launches
// the editor itself: it saves and sets the state of the process's terminal and ends the
// process at a signal, and here the terminal is the explorer's.

// replaceEditors puts edits in the place of what launches an editor.
func replaceEditors(root *cobra.Command, f cmdutil.Factory, streams genericiooptions.IOStreams, k *run) {
	replace(root, editCommand(editor.NormalEditMode, root, f, streams, k, "edit"), "edit")
	replace(root, editCommand(editor.ApplyEditMode, root, f, streams, k, "apply", "edit-last-applied"), "apply", "edit-last-applied")
	create, _, err := root.Find([]string{"create"})
	if err != nil || create.Run == nil {
		return
	}
	run := create.Run
	create.Run = func(cmd *cobra.Command, args []string) {
		if !cmdutil.GetFlagBool(cmd, "edit") || cmdutil.GetFlagString(cmd, "raw") != "" {
			run(cmd, args)
			return
		}
		o := editor.NewEditOptions(editor.EditBeforeCreateMode, streams)
		o.FilenameOptions = resource.FilenameOptions{
			Filenames: cmdutil.GetFlagStringSlice(cmd, "filename"), Kustomize: cmdutil.GetFlagString(cmd, "kustomize"), Recursive: cmdutil.GetFlagBool(cmd, "recursive"),
		}
		o.PrintFlags = genericclioptions.NewPrintFlags("created").WithTypeSetter(scheme.Scheme)
		*o.RecordFlags.Record = cmdutil.GetFlagBool(cmd, "record")
		*o.PrintFlags.OutputFormat = cmdutil.GetFlagString(cmd, "output")
		o.WindowsLineEndings = cmdutil.GetFlagBool(cmd, "windows-line-endings")
		o.ApplyAnnotation = cmdutil.GetFlagBool(cmd, cmdutil.ApplyAnnotationsFlag)
		o.FieldManager = cmdutil.GetFlagString(cmd, "field-manager")
		cmdutil.CheckErr((&edit{EditOptions: o, f: f, k: k}).run(cmd, nil))
	}
}

// editCommand mirrors kubectl pkg/cmd/edit NewCmdEdit and pkg/cmd/apply
// NewCmdApplyEditLastApplied; the command at path says what they are for.
func editCommand(mode editor.EditMode, root *cobra.Command, f cmdutil.Factory, streams genericiooptions.IOStreams, k *run, path ...string) *cobra.Command {
	o := editor.NewEditOptions(mode, streams)
	c := &cobra.Command{
		Use: path[len(path)-1], DisableFlagsInUseLine: true,
		Run: func(cmd *cobra.Command, args []string) {
			cmdutil.CheckErr((&edit{EditOptions: o, f: f, k: k}).run(cmd, args))
		},
	}
	if old, _, err := root.Find(path); err == nil {
		c.Use, c.Short, c.Long, c.Example = old.Use, old.Short, old.Long, old.Example
	}
	o.RecordFlags.AddFlags(c)
	o.PrintFlags.AddFlags(c)
	cmdutil.AddFilenameOptionFlags(c, &o.FilenameOptions, "to use to edit the resource")
	cmdutil.AddValidateFlags(c)
	c.Flags().BoolVar(&o.WindowsLineEndings, "windows-line-endings", o.WindowsLineEndings, "Defaults to the line ending native to your platform.")
	if mode == editor.ApplyEditMode {
		cmdutil.AddFieldManagerFlagVar(c, &o.FieldManager, apply.FieldManagerClientSideApply)
		return c
	}
	c.Flags().BoolVarP(&o.OutputPatch, "output-patch", "", o.OutputPatch, "Output the patch if the resource is edited.")
	cmdutil.AddFieldManagerFlagVar(c, &o.FieldManager, "kubectl-edit")
	cmdutil.AddApplyAnnotationVarFlags(c, &o.ApplyAnnotation)
	cmdutil.AddSubresourceFlags(c, &o.Subresource, "If specified, edit will operate on the subresource of the requested object.")
	return c
}

// edit is one use of a command that opens an editor.
type edit struct {
	*editor.EditOptions
	f cmdutil.Factory
	k *run

	print   printers.ResourcePrinter // of what is edited, into the file
	json    bool                     // which has no comments
	managed map[types.UID][]metav1.ManagedFieldsEntry
}

// run is Complete, which asks the API server for the objects, and then the editing.
func (e *edit) run(cmd *cobra.Command, args []string) error {
	if err := e.Complete(e.f, args, cmd); err != nil {
		return err
	}
	flags := (&genericclioptions.PrintFlags{JSONYamlPrintFlags: genericclioptions.NewJSONYamlPrintFlags()}).WithDefaultOutput("yaml")
	if format := e.PrintFlags.OutputFormat; format != nil && *format != "" {
		flags.OutputFormat = format
	}
	e.json = *flags.OutputFormat == "json"
	var err error
	if e.print, err = flags.ToPrinter(); err != nil {
		return err
	}
	if e.EditMode == editor.EditBeforeCreateMode { // one file after the other, as create has it
		return e.OriginalResult.Visit(func(info *resource.Info, err error) error {
			if err != nil {
				return err
			}
			return e.edit([]*resource.Info{info})
		})
	}
	infos, err := e.OriginalResult.Infos()
	if err != nil {
		return err
	}
	if len(infos) == 0 {
		return errors.New("edit cancelled, no objects found")
	}
	if e.EditMode == editor.ApplyEditMode {
		if infos, err = e.lastApplied(infos); err != nil {
			return err
		}
	}
	return e.edit(infos)
}

// lastApplied are the objects as kubectl apply noted them last.
func (e *edit) lastApplied(infos []*resource.Info) ([]*resource.Info, error) {
	var noted []*resource.Info
	for _, info := range infos {
		data, err := util.GetOriginalConfiguration(info.Object)
		if err != nil {
			return nil, err
		}
		if data == nil {
			continue
		}
		found, err := e.parse(data)
		if err != nil {
			return nil, err
		}
		noted = append(noted, found[0])
	}
	if len(noted) == 0 {
		return nil, errors.New("no last-applied-configuration annotation found on resources, to create the annotation, use command `kubectl apply set-last-applied --create-annotation`")
	}
	return noted, nil
}

// parse reads the objects in an edited file.
func (e *edit) parse(data []byte) ([]*resource.Info, error) {
	return e.f.NewBuilder().Unstructured().Stream(bytes.NewReader(data), "edited-file").
		Subresource(e.Subresource).ContinueOnError().Flatten().Do().Infos()
}

// round is what came of one round in the editor.
type round struct {
	file      string   // where the edited text is
	reasons   []reason // why it must be edited once more
	invalid   bool     // the API server refused an object as invalid
	notFound  bool
	retryable bool // refused for another reason, such as a conflict
}

// reason stands as comments at the head of a file that is opened again.
type reason struct {
	head string
	more []string
}

// edit opens the editor until what it leaves behind could be saved, or the person
// gives up: by changing nothing, or by an empty file.
func (e *edit) edit(infos []*resource.Info) error {
	var (
		last             round
		original, edited []byte
	)
	for again := false; ; {
		text, err := e.text(infos, last.reasons, edited, again)
		if err != nil {
			return e.keep(err, last.file)
		}
		if !again {
			original = text
		}
		before := edited
		var file string
		if edited, file, err = e.open(text); err != nil {
			return e.keep(err, last.file)
		}
		if last.file != "" {
			os.Remove(last.file)
		}
		if again && bytes.Equal(cmdutil.StripComments(before), cmdutil.StripComments(edited)) {
			return e.keep(errCancelled, file)
		}
		last = round{file: file}
		schema, err := e.f.Validator(e.ValidationDirective)
		if err != nil {
			return e.keep(err, file)
		}
		if err := schema.ValidateBytes(cmdutil.StripComments(edited)); err != nil {
			if e.interrupted() {
				return e.keep(err, file)
			}
			again = true
			fmt.Fprintln(e.ErrOut, last.refuse(apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("").GroupKind(),
				"", field.ErrorList{field.Invalid(nil, "The edited file failed validation", err.Error())}), infos[0]))
			continue
		}
		if bytes.Equal(cmdutil.StripComments(original), cmdutil.StripComments(edited)) {
			os.Remove(file)
			fmt.Fprintln(e.ErrOut, "Edit cancelled, no changes made.")
			return nil
		}
		if !hasLines(edited) {
			os.Remove(file)
			fmt.Fprintln(e.ErrOut, "Edit cancelled, saved file was empty.")
			return nil
		}
		updated, err := e.parse(edited)
		if err != nil {
			if e.interrupted() {
				return e.keep(err, file)
			}
			again = true
			last.reasons = append(last.reasons, reason{head: fmt.Sprintf("The edited file had a syntax error: %v", err)})
			continue
		}
		if err := e.save(infos, updated, &last); err != nil {
			return e.keep(err, file)
		}
		switch {
		case last.retryable:
			e.k.inv.Untold = true
			fmt.Fprintf(e.ErrOut, "You can run `kubectl replace -f %s` to try this update again.\n", file)
			return cmdutil.ErrExit
		case last.notFound:
			e.k.inv.Untold = true
			fmt.Fprintf(e.ErrOut, "The edits you made on deleted resources have been saved to %q\n", file)
			return cmdutil.ErrExit
		case !last.invalid:
			os.Remove(file)
			return nil
		}
		again = true
	}
}

// interrupted reports whether a request may have failed only because the command was
// given up: then nothing is wrong with the file.
func (e *edit) interrupted() bool { return e.k.transport.ctx.Err() != nil }
