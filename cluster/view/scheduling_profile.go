package view

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// usualProfile is the profile of a kube-scheduler without a configuration file, which the trace
// does not tell. A test of the scheduler holds that it is the truth and rewrites it.
//
//go:embed scheduling_profile.json
var usualProfile []byte

// UsualProfile is the profile of a kube-scheduler without a configuration file.
var UsualProfile = sync.OnceValue(func() *trace.SchedProfile {
	p := &trace.SchedProfile{}
	if err := json.Unmarshal(usualProfile, p); err != nil {
		panic("view: " + err.Error())
	}
	return p
})

// Profile is the profile with which the cycle ran, and whether it is that of a file.
func (c *Cycle) Profile() (p *trace.SchedProfile, file bool) {
	if c.configured != nil && c.configured.File {
		for i := range c.configured.Profiles {
			if c.configured.Profiles[i].Name == c.ProfileName {
				return &c.configured.Profiles[i], true
			}
		}
	}
	return UsualProfile(), false
}

// Next is a cycle that would begin now, without a pod: it has the profile that is in force.
func (s *Scheduler) Next() *Cycle {
	c := &Cycle{ProfileName: s.serves()[0], configured: s.Configured, ConfiguredBy: s.ConfiguredBy}
	return c
}

// Changed are the settings of all profiles that are not upstream's.
func (c *Cycle) Changed() []string {
	if c.configured == nil {
		return nil
	}
	return c.configured.Changed
}

// profileName is the schedulerName that a cycle's profile serves.
func profileName(p *trace.SchedCycleStart) string {
	return orElse(p.Profile, corev1.DefaultSchedulerName)
}

// ProfilePlugin is a plugin at an extension point of a profile, compared with upstream's defaults.
type ProfilePlugin struct {
	Name   string
	Weight string // of a score: "3"
	Was    string // the weight by default, where it is another
	Added  bool   // it is not there by default
	Gone   bool   // by default it is there
}

// String is the plugin with its weight and what the file made of it.
func (p ProfilePlugin) String() string {
	text := p.Name
	if p.Weight != "" {
		text += " ×" + p.Weight
	}
	if p.Was != "" {
		text += fmt.Sprintf(" (by default ×%s)", p.Was)
	}
	return text
}

// ComparePoint lists the plugins of a profile at an extension point in the order in which they run,
// and at the end those that are there by default only. moved says that they run in another order.
func ComparePoint(p *trace.SchedProfile, point string) (all []ProfilePlugin, moved bool) {
	is, was := pluginsAt(p, point), pluginsAt(UsualProfile(), point)
	find := func(list []ProfilePlugin, name string) int {
		return slices.IndexFunc(list, func(x ProfilePlugin) bool { return x.Name == name })
	}
	last := -1
	for _, x := range is {
		i := find(was, x.Name)
		switch {
		case i < 0:
			x.Added = true
		case was[i].Weight != x.Weight:
			x.Was = was[i].Weight
		}
		if i >= 0 {
			moved = moved || i < last
			last = i
		}
		all = append(all, x)
	}
	for _, x := range was {
		if find(is, x.Name) < 0 {
			x.Gone = true
			all = append(all, x)
		}
	}
	return all, moved
}

func pluginsAt(p *trace.SchedProfile, point string) (list []ProfilePlugin) {
	for _, at := range p.Points {
		if at.Point != point {
			continue
		}
		for _, text := range at.Plugins {
			name, weight, _ := strings.Cut(text, " ")
			list = append(list, ProfilePlugin{Name: name, Weight: weight})
		}
	}
	return list
}
