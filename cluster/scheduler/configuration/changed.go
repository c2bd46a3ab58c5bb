package configuration

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
)

// longest is how much of an argument is told.
const longest = 400

// usual are upstream's defaults.
var usual = sync.OnceValue(Default)

// Changed names the settings of all profiles that are not upstream's defaults.
func Changed(cfg *config.KubeSchedulerConfiguration) []string {
	var all []string
	setting := func(name string, is, was int64) {
		if is != was {
			all = append(all, fmt.Sprintf("%s %d", name, is))
		}
	}
	u := usual()
	setting("podInitialBackoffSeconds", cfg.PodInitialBackoffSeconds, u.PodInitialBackoffSeconds)
	setting("podMaxBackoffSeconds", cfg.PodMaxBackoffSeconds, u.PodMaxBackoffSeconds)
	return all
}

// ChangedArgs names the arguments of a profile's plugins that are not upstream's defaults, each with
// its value as JSON.
func ChangedArgs(plugins []config.PluginConfig) []string {
	was := map[string]map[string]json.RawMessage{}
	for _, p := range usual().Profiles[0].PluginConfig {
		was[p.Name] = fields(p.Args)
	}
	var all []string
	for _, p := range plugins {
		is := fields(p.Args)
		for _, name := range slices.Sorted(maps.Keys(is)) {
			value := string(is[name])
			if value == string(was[p.Name][name]) || name == "kind" || name == "apiVersion" {
				continue
			}
			if len(value) > longest {
				value = value[:longest] + "…"
			}
			all = append(all, fmt.Sprintf("%s %s %s", p.Name, name, value))
		}
	}
	return all
}

// fields are the arguments of a plugin as the file would have them.
func fields(args runtime.Object) map[string]json.RawMessage {
	v1, err := scheme.Scheme.ConvertToVersion(args, configv1.SchemeGroupVersion)
	if err != nil {
		return nil // of a plugin that is not upstream's
	}
	data, err := json.Marshal(v1)
	if err != nil {
		return nil
	}
	var out map[string]json.RawMessage
	if json.Unmarshal(data, &out) != nil {
		return nil
	}
	return out
}
