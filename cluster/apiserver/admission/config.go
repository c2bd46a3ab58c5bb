package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
)

// The AdmissionConfiguration: one file that configures admission plugins
// (apiserver pkg/admission/config.go ReadAdmissionConfiguration). The server reads
// it when it starts. A plugin that is off by default is on where the file names it;
// upstream wants --enable-admission-plugins besides.

// File is where the API server has the configuration of its admission
// plugins: kube-apiserver --admission-control-config-file.
const File = "/etc/kubernetes/admission.yaml"

// Configuration is a plugin's, which was read and found valid.
type Configuration struct {
	Plugin string
	Says   string // in short
	value  any    // what the plugin is made of
}

// Configurations are those that a file holds, each plugin once.
type Configurations []*Configuration

// configured is a plugin's configuration in the file, or the zero value, which means the
// plugin's defaults.
func configured[T any](all Configurations, p Plugin) (v T) {
	for _, c := range all {
		if c.Plugin == p.Name() {
			v, _ = c.value.(T)
		}
	}
	return v
}

// configurable are the plugins that can be configured by the file, and what reads
// the configuration of each; raw is JSON, or nil where the file only names the
// plugin.
var configurable = map[string]func(raw []byte) (*Configuration, error){
	"EventRateLimit":     readEventRateLimit,
	"ImagePolicyWebhook": readImagePolicy,
	"PodSecurity":        readPodSecurity,
}

var admissionCodecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	utilruntime.Must(apiserverapi.AddToScheme(scheme))
	utilruntime.Must(apiserverv1.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict)
}()

// ReadConfigurations reads a file's content. Errors are in upstream's words where it has
// any.
func ReadConfigurations(file []byte) (plugins Configurations, err error) {
	obj, err := runtime.Decode(admissionCodecs.UniversalDecoder(), file)
	if err != nil {
		return nil, fmt.Errorf("failed to read plugin config: %w", err)
	}
	cfg, ok := obj.(*apiserverapi.AdmissionConfiguration)
	if !ok {
		return nil, fmt.Errorf("failed to read plugin config: unexpected type: %T", obj)
	}
	for _, p := range cfg.Plugins {
		if slices.ContainsFunc(plugins, func(o *Configuration) bool { return o.Plugin == p.Name }) {
			continue // the first is the one that counts
		}
		read := configurable[p.Name]
		if read == nil {
			return nil, fmt.Errorf("no admission plugin %q takes a configuration here; %s do", p.Name, strings.Join(slices.Sorted(maps.Keys(configurable)), ", "))
		}
		var raw []byte
		switch {
		case p.Configuration != nil:
			raw = p.Configuration.Raw
		case p.Path != "":
			return nil, fmt.Errorf("couldn't init admission plugin %q: there is no file %s on the API server's machine; write what it holds under configuration", p.Name, p.Path)
		}
		one, err := read(raw)
		if err != nil {
			return nil, fmt.Errorf("couldn't init admission plugin %q: %w", p.Name, err)
		}
		one.Plugin = p.Name
		plugins = append(plugins, one)
	}
	return plugins, nil
}

// Lines are the configurations in short, a line a plugin.
func (all Configurations) Lines() []string {
	lines := make([]string, len(all))
	for i, c := range all {
		lines[i] = join(c.Plugin, ": ", c.Says)
	}
	return lines
}
