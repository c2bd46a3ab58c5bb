package runtime

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// API gives a pod's connection to the API server, as its ServiceAccount. In
// Kubernetes the pod has a token file for it and finds the server at the Service
// kubernetes.default; here the request is made over the node's link at once, and
// is authorized all the same.
type API func(namespace, serviceAccount, pod string) client.Interface

// SetAPI joins commands inside containers to the API server.
func (r *Runtime) SetAPI(connect API) { r.api = connect }

// cmdKubectl is what a program in a pod does with the API: kubectl get KIND NAME
// and kubectl patch KIND NAME -p PATCH, in the images that have kubectl. It is
// no whole kubectl; that one is in the console.
func cmdKubectl(sh *shell, a []string) int {
	if repo := sh.c.repository(); !strings.Contains(repo, "kubectl") && !strings.HasSuffix(repo, "/alpine/k8s") {
		fmt.Fprintf(sh.err, "sh: kubectl: not found (image %s has none)\n", sh.c.Image)
		return 127
	}
	use, err := parseKubectl(a, sh.s.Namespace)
	if err != nil {
		fmt.Fprintf(sh.err, "error: %v\n", err)
		return 1
	}
	if sh.r.api == nil {
		fmt.Fprintln(sh.err, "The connection to the server kubernetes.default.svc was refused - did you specify the right host or port?")
		return 1
	}
	c := sh.r.api(sh.s.Namespace, sh.s.ServiceAccount, sh.s.key())
	out, err := use.run(sh.t, c)
	if err != nil {
		fmt.Fprintln(sh.err, said(err))
		return 1
	}
	fmt.Fprintln(sh.out, out)
	return 0
}

// kubectlUse is one use of kubectl.
type kubectlUse struct {
	verb      string
	resource  client.Resource
	namespace string
	name      string
	patch     string
	kind      types.PatchType
	yaml      bool
}

func parseKubectl(a []string, namespace string) (*kubectlUse, error) {
	use := &kubectlUse{namespace: namespace, kind: types.StrategicMergePatchType}
	var words []string
	for i := 0; i < len(a); i++ {
		flag, value, given := strings.Cut(a[i], "=")
		if !strings.HasPrefix(flag, "-") {
			words = append(words, a[i])
			continue
		}
		if !given {
			if i++; i == len(a) {
				return nil, fmt.Errorf("flag needs an argument: %s", flag)
			}
			value = a[i]
		}
		switch flag {
		case "-n", "--namespace":
			use.namespace = value
		case "-p", "--patch":
			use.patch = value
		case "-o", "--output":
			use.yaml = value == "yaml"
		case "--type":
			kinds := map[string]types.PatchType{"merge": types.MergePatchType, "strategic": types.StrategicMergePatchType, "json": types.JSONPatchType}
			if use.kind = kinds[value]; use.kind == "" {
				return nil, fmt.Errorf(`--type must be one of [json merge strategic], not %q`, value)
			}
		default:
			return nil, fmt.Errorf("unknown flag: %s", flag)
		}
	}
	if len(words) == 2 && strings.Contains(words[1], "/") {
		kind, name, _ := strings.Cut(words[1], "/")
		words = []string{words[0], kind, name}
	}
	if len(words) != 3 || words[0] != "get" && words[0] != "patch" {
		return nil, errors.New("in a simulated container kubectl knows: kubectl get KIND NAME [-o yaml], kubectl patch KIND NAME [--type TYPE] -p PATCH")
	}
	use.verb, use.name = words[0], words[2]
	if use.verb == "patch" && use.patch == "" {
		return nil, errors.New("must specify --patch or --patch-file containing the contents of the patch")
	}
	for _, r := range client.All() {
		if kind := strings.ToLower(r.Kind); words[1] == kind || words[1] == r.Resource || words[1] == "cm" && kind == "configmap" {
			use.resource = r
			return use, nil
		}
	}
	return nil, fmt.Errorf("the server doesn't have a resource type %q", words[1])
}

func (u *kubectlUse) run(t *sim.Task, c client.Interface) (string, error) {
	name := strings.ToLower(u.resource.Kind) + "/" + u.name
	if u.verb == "patch" {
		_, err := c.Patch(t, u.resource, u.namespace, u.name, u.kind, []byte(u.patch), "")
		return name + " patched", err
	}
	obj, err := c.Get(t, u.resource, u.namespace, u.name)
	if err != nil || !u.yaml {
		return name, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return "", err
	}
	text, err := yaml.Marshal(fields)
	return strings.TrimRight(string(text), "\n"), err
}

// said is an error as kubectl prints it (kubectl pkg/cmd/util/helpers.go
// StandardErrorMessage).
func said(err error) string {
	if client.IsUnreachable(err) {
		return "The connection to the server kubernetes.default.svc was refused - did you specify the right host or port?"
	}
	if reason := apierrors.ReasonForError(err); reason != "" {
		return fmt.Sprintf("Error from server (%s): %v", reason, err)
	}
	return "error: " + err.Error()
}
