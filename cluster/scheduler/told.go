package scheduler

import (
	"fmt"

	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"kviz/cluster/scheduler/configuration"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/trace"
)

// Configured reads a file and tells what a scheduler that is started with it is like; no file
// is upstream's defaults. A file is refused in upstream's words.
func Configured(file []byte) (*config.KubeSchedulerConfiguration, *trace.SchedConfiguration, error) {
	cfg := configuration.Default()
	if file != nil {
		var err error
		if cfg, err = configuration.Read(file); err != nil {
			return nil, nil, err
		}
	}
	s := &Scheduler{cache: newCache(), objects: &objects{}}
	if err := s.configure(cfg, nil); err != nil {
		return nil, nil, err
	}
	told := &trace.SchedConfiguration{File: file != nil}
	for i, p := range s.profiles {
		of := p.told()
		of.Args = configuration.ChangedArgs(cfg.Profiles[i].PluginConfig)
		told.Profiles = append(told.Profiles, of)
	}
	told.Changed = configuration.Changed(cfg)
	return cfg, told, nil
}

// told says which plugins a profile has where.
func (p *profile) told() trace.SchedProfile {
	t := trace.SchedProfile{Name: p.name, Percentage: p.percentage}
	point := func(name string, plugins []string) {
		if len(plugins) > 0 {
			t.Points = append(t.Points, trace.SchedPlugins{Point: name, Plugins: plugins})
		}
	}
	point(framework.PreEnqueue, pluginNames(p.preEnqueue))
	point(framework.QueueSort, []string{p.queueSort.Name()})
	point(framework.PreFilter, pluginNames(p.preFilter))
	point(framework.Filter, pluginNames(p.filter))
	point(framework.PostFilter, pluginNames(p.postFilter))
	point(framework.PreScore, pluginNames(p.preScore))
	var scores []string
	for _, s := range p.score {
		scores = append(scores, fmt.Sprintf("%s %d", s.Name(), s.weight))
	}
	point(framework.Score, scores)
	point(framework.Reserve, pluginNames(p.reserve))
	point(framework.Permit, pluginNames(p.permit))
	point(framework.PreBind, pluginNames(p.preBind))
	point(framework.Bind, pluginNames(p.bind))
	point(framework.PostBind, pluginNames(p.postBind))
	for _, pl := range p.all {
		if a, ok := pl.(absent); ok {
			t.Absent = append(t.Absent, a.name)
		}
	}
	return t
}
