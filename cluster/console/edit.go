package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/kubectl/pkg/cmd/apply"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/cmd/util/editor"
	"k8s.io/kubectl/pkg/cmd/util/editor/crlf"
	"k8s.io/kubectl/pkg/scheme"
	"k8s.io/kubectl/pkg/util"

	"kviz/cluster/control"
)

// This file is kubectl edit, kubectl apply edit-last-applied and kubectl create --edit.
// Their flags and what they read are kubectl's own; the rounds of editing, checking
// and patching are written anew after EditOptions.Run of kubectl pkg/cmd/util/editor,
// which launches the editor by itself: it keeps and sets the state of the process's
// terminal and ends the process at a signal, and here the terminal is the explorer's.

// replaceEditors puts edits in the place of what launches an editor.
func replaceEditors(root *cobra.Command, f cmdutil.Factory, streams genericiooptions.IOStreams, k *kubectlRun) {
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
func editCommand(mode editor.EditMode, root *cobra.Command, f cmdutil.Factory, streams genericiooptions.IOStreams, k *kubectlRun, path ...string) *cobra.Command {
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
	k *kubectlRun

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
			e.k.inv.untold = true
			fmt.Fprintf(e.ErrOut, "You can run `kubectl replace -f %s` to try this update again.\n", file)
			return cmdutil.ErrExit
		case last.notFound:
			e.k.inv.untold = true
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

// text is what the editor gets to see: the objects, or, once more, what the person
// had made of them with the reasons above.
func (e *edit) text(infos []*resource.Info, reasons []reason, edited []byte, again bool) ([]byte, error) {
	buf := &bytes.Buffer{}
	var w io.Writer = buf
	if e.WindowsLineEndings {
		w = crlf.NewCRLFWriter(w)
	}
	if !e.json {
		e.header(w, reasons)
	}
	if again {
		buf.Write(cmdutil.ManualStrip(edited)) // the old comments are replaced by the new ones
		return buf.Bytes(), nil
	}
	object := infos[0].Object
	if len(infos) > 1 {
		list := &unstructured.UnstructuredList{Object: map[string]any{"kind": "List", "apiVersion": "v1", "metadata": map[string]any{}}}
		for _, info := range infos {
			list.Items = append(list.Items, *info.Object.(*unstructured.Unstructured))
		}
		object = list
	}
	if err := e.withoutManagedFields(object); err != nil {
		return nil, err
	}
	err := e.print.PrintObj(object, w)
	return buf.Bytes(), err
}

// header is what kubectl says at the head of the file.
func (e *edit) header(w io.Writer, reasons []reason) {
	if e.EditMode == editor.ApplyEditMode {
		fmt.Fprint(w, `# Please edit the 'last-applied-configuration' annotations below.
# Lines beginning with a '#' will be ignored, and an empty file will abort the edit.
#
`)
	} else {
		fmt.Fprint(w, `# Please edit the object below. Lines beginning with a '#' will be ignored,
# and an empty file will abort the edit. If an error occurs while saving this file will be
# reopened with the relevant failures.
#
`)
	}
	for _, r := range reasons {
		colon := ""
		if len(r.more) > 0 {
			colon = ":"
		}
		fmt.Fprintf(w, "# %s%s\n", commented(r.head), colon)
		for _, m := range r.more {
			fmt.Fprintf(w, "# * %s\n", commented(m))
		}
		fmt.Fprintln(w, "#")
	}
}

// commented makes every further line of a text a comment too.
func commented(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i := 1; i < len(lines); i++ {
		if lines[i] != "" && !strings.HasPrefix(lines[i], "#") {
			lines[i] = "# " + lines[i]
		}
	}
	return strings.Join(lines, "")
}

// withoutManagedFields takes the managed fields out of what is edited, and keeps them.
func (e *edit) withoutManagedFields(object runtime.Object) error {
	e.managed = map[types.UID][]metav1.ManagedFieldsEntry{}
	one := func(object runtime.Object) error {
		m, err := meta.Accessor(object)
		if err != nil {
			return err
		}
		e.managed[m.GetUID()] = m.GetManagedFields()
		m.SetManagedFields(nil)
		return nil
	}
	if meta.IsListType(object) {
		return meta.EachListItem(object, one)
	}
	return one(object)
}

func (e *edit) withManagedFields(infos []*resource.Info) error {
	for _, info := range infos {
		m, err := meta.Accessor(info.Object)
		if err != nil {
			return err
		}
		m.SetManagedFields(e.managed[m.GetUID()])
	}
	return nil
}

// open lends the terminal to the person's editor and gives what it has left in the
// file. Nothing of the cluster waits meanwhile.
func (e *edit) open(text []byte) (edited []byte, file string, err error) {
	extension := ".yaml"
	if e.json {
		extension = ".json"
	}
	f, err := os.CreateTemp("", "kubectl-edit-*"+extension)
	if err != nil {
		return nil, "", err
	}
	if _, err = f.Write(text); err == nil {
		err = f.Close()
	} else {
		f.Close()
	}
	if err != nil {
		os.Remove(f.Name())
		return nil, "", err
	}
	words, argv := e.k.inv.editor(f.Name())
	if err := e.k.inv.lend(e.k.transport.ctx, e.k.inv.Dir, argv); err != nil {
		os.Remove(f.Name()) // nothing of the person's is in it
		switch {
		case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
			return nil, "", fmt.Errorf("unable to launch the editor %q", words)
		case e.interrupted(), errors.Is(err, control.ErrNotLent):
			return nil, "", err
		}
		return nil, "", fmt.Errorf("there was a problem with the editor %q", words)
	}
	edited, err = os.ReadFile(f.Name())
	return edited, f.Name(), err
}

// editor is the command that opens a file in the person's editor, and its words. It
// mirrors kubectl pkg/cmd/util/editor NewDefaultEditor, but asks the console's
// variables: KUBE_EDITOR=nano kubectl edit … works.
func (inv *Invocation) editor(file string) (words string, argv []string) {
	variable := func(names ...string) string {
		for _, n := range names {
			if v := inv.env.Get(n); v.Exported && strings.TrimSpace(v.String()) != "" {
				return v.String()
			}
		}
		return ""
	}
	fallback, shell, flag := "vi", "/bin/bash", "-c"
	if goruntime.GOOS == "windows" {
		fallback, shell, flag = "notepad", "cmd", "/C"
	}
	if words = variable("KUBE_EDITOR", "EDITOR"); words == "" {
		words = fallback
	}
	if !strings.ContainsAny(words, `"'\`) {
		return words, append(strings.Fields(words), file)
	}
	if s := variable("SHELL"); s != "" {
		shell = s
	}
	return words, []string{shell, flag, fmt.Sprintf("%s %q", words, file)}
}

// keep tells where the person's changes are, and gives the error on.
func (e *edit) keep(err error, file string) error {
	if file == "" {
		return err
	}
	if _, gone := os.Stat(file); gone == nil {
		e.k.inv.untold = true // the file's name is another one each time
		fmt.Fprintf(e.ErrOut, "A copy of your changes has been stored to %q\n", file)
	}
	return err
}

// hasLines reports whether there is anything but blanks and comments.
func hasLines(text []byte) bool {
	return slices.ContainsFunc(bytes.Split(text, []byte("\n")), func(line []byte) bool {
		line = bytes.TrimSpace(line)
		return len(line) > 0 && line[0] != '#'
	})
}

// save brings what was edited to the API server, each object in a request of its own.
// An error ends the edit; what the API server refuses is noted in the round.
func (e *edit) save(originals, updated []*resource.Info, r *round) error {
	if err := e.withManagedFields(updated); err != nil {
		return err
	}
	if err := e.withManagedFields(originals); err != nil {
		return err
	}
	visitor := resource.InfoListVisitor(updated)
	if err := visitor.Visit(resource.RequireNamespace(e.CmdNamespace)); err != nil {
		return err
	}
	if err := visitor.Visit(func(info *resource.Info, err error) error {
		if e.ApplyAnnotation && err == nil {
			err = util.CreateOrUpdateAnnotation(true, info.Object, scheme.DefaultJSONEncoder())
		}
		if err == nil {
			_ = e.Recorder.Record(info.Object) // kubectl edits without a change cause as well
		}
		return err
	}); err != nil {
		return err
	}
	return visitor.Visit(func(info *resource.Info, err error) error {
		switch {
		case err != nil:
			return err
		case e.EditMode == editor.EditBeforeCreateMode:
			return e.create(info)
		}
		return e.patch(originals, info, r)
	})
}

func (e *edit) create(info *resource.Info) error {
	created, err := e.helper(info).Create(info.Namespace, true, info.Object)
	if err != nil {
		return err
	}
	if err := info.Refresh(created, true); err != nil {
		return err
	}
	return e.tell("created", info)
}

func (e *edit) helper(info *resource.Info) *resource.Helper {
	return resource.NewHelper(info.Client, info.Mapping).WithFieldManager(e.FieldManager).WithFieldValidation(e.ValidationDirective).WithSubresource(e.Subresource)
}

func (e *edit) tell(done string, info *resource.Info) error {
	printer, err := e.ToPrinter(done)
	if err != nil {
		return err
	}
	return printer.PrintObj(info.Object, e.Out)
}

// patch sends the difference between an object as it was and as it was edited.
func (e *edit) patch(originals []*resource.Info, info *resource.Info, r *round) error {
	same := identity(info)
	i := slices.IndexFunc(originals, func(o *resource.Info) bool { return identity(o) == same })
	if i < 0 {
		return fmt.Errorf("no original object found for %#v", info.Object)
	}
	from, err := runtime.Encode(unstructured.UnstructuredJSONScheme, originals[i].Object)
	if err != nil {
		return err
	}
	to, err := runtime.Encode(unstructured.UnstructuredJSONScheme, info.Object)
	if err != nil {
		return err
	}
	if bytes.Equal(from, to) {
		return e.tell("skipped", info)
	}
	if e.EditMode == editor.ApplyEditMode {
		patch, _, patchType, err := editor.GetApplyPatch(info.Object.(runtime.Unstructured))
		if err != nil {
			return err
		}
		if _, err := e.helper(info).Patch(e.CmdNamespace, info.Name, patchType, patch, nil); err != nil {
			return err
		}
		return e.tell("edited", info)
	}
	patchType, patch, err := difference(info, from, to)
	if err != nil {
		return err
	}
	if e.OutputPatch {
		fmt.Fprintf(e.Out, "Patch: %s\n", patch)
	}
	patched, err := e.helper(info).Patch(info.Namespace, info.Name, patchType, patch, nil)
	if err != nil {
		fmt.Fprintln(e.ErrOut, r.refuse(err, info))
		return nil
	}
	if err := info.Refresh(patched, true); err != nil {
		return err
	}
	return e.tell("edited", info)
}

// identity is by what an edited object is found among the originals: its UID, or, as
// kubectl apply's note has none, its name.
func identity(info *resource.Info) string {
	m, err := meta.Accessor(info.Object)
	if err != nil {
		return ""
	}
	if uid := m.GetUID(); uid != "" {
		return string(uid)
	}
	return info.Mapping.Resource.String() + " " + m.GetNamespace() + "/" + m.GetName()
}

var (
	errCancelled = errors.New("Edit cancelled, no valid changes were saved.")          //nolint:staticcheck // kubectl's words
	errRenamed   = errors.New("At least one of apiVersion, kind and name was changed") //nolint:staticcheck // kubectl's words
)

// difference is a strategic merge patch where kubectl knows the type, and a JSON merge
// patch where it does not.
func difference(info *resource.Info, from, to []byte) (types.PatchType, []byte, error) {
	preconditions := []mergepatch.PreconditionFunc{
		mergepatch.RequireKeyUnchanged("apiVersion"), mergepatch.RequireKeyUnchanged("kind"),
		mergepatch.RequireMetadataKeyUnchanged("name"), mergepatch.RequireKeyUnchanged("managedFields"),
	}
	versioned, err := scheme.Scheme.New(info.Mapping.GroupVersionKind)
	if err == nil {
		patch, err := strategicpatch.CreateTwoWayMergePatch(from, to, versioned, preconditions...)
		if mergepatch.IsPreconditionFailed(err) {
			err = errRenamed
		}
		return types.StrategicMergePatchType, patch, err
	}
	if !runtime.IsNotRegisteredError(err) {
		return "", nil, err
	}
	patch, err := jsonpatch.CreateMergePatch(from, to)
	if err != nil {
		return "", nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(patch, &fields); err != nil {
		return "", nil, err
	}
	for _, holds := range preconditions {
		if !holds(fields) {
			return "", nil, errRenamed
		}
	}
	return types.MergePatchType, patch, nil
}

// refuse notes what the API server refused, and says it in kubectl's words. What is
// invalid can be mended in the editor; a conflict cannot.
func (r *round) refuse(err error, info *resource.Info) string {
	kind := info.Mapping.Resource.GroupResource().String()
	switch {
	case apierrors.IsInvalid(err):
		r.invalid = true
		why := reason{head: fmt.Sprintf("%s %q was not valid", kind, info.Name)}
		var status apierrors.APIStatus
		if errors.As(err, &status) && status.Status().Details != nil {
			for _, c := range status.Status().Details.Causes {
				why.more = append(why.more, fmt.Sprintf("%s: %s", c.Field, c.Message))
			}
		}
		r.reasons = append(r.reasons, why)
		return fmt.Sprintf("error: %s %q is invalid", kind, info.Name)
	case apierrors.IsNotFound(err):
		r.notFound = true
		return fmt.Sprintf("error: %s %q could not be found on the server", kind, info.Name)
	}
	r.retryable = true
	return fmt.Sprintf("error: %s %q could not be patched: %v", kind, info.Name, err)
}
