package kubectl

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/cmd/util/editor"
	"k8s.io/kubectl/pkg/cmd/util/editor/crlf"
)

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
