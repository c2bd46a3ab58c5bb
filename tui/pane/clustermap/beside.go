package clustermap

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/scene"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// beside are the servers that the API server, or a node, asks: those that have been asked, or are
// broken; the registry only while an image is pulled from it, or it is broken. A cluster without any has no row for them.
func (p *picture) beside() (ids []string) {
	s := p.f.S
	for _, w := range s.Webhooks() {
		ids = append(ids, "webhook/"+w.Name)
	}
	if s.Encryption.Call != nil || len(s.FaultsOn("kms")) > 0 {
		ids = append(ids, "kms")
	}
	if s.Provider.Last != nil || len(s.FaultsOn("oidc")) > 0 {
		ids = append(ids, "oidc")
	}
	if len(s.CloudCalls()) > 0 || len(s.FaultsOn("cloud")) > 0 {
		ids = append(ids, "cloud")
	}
	if len(s.FaultsOn("registry")) > 0 || len(pulls(s)) > 0 {
		ids = append(ids, scene.Registry)
	}
	return ids
}

// pulls are the pods for which an image is being pulled, by namespace/name, and the nodes that pull: their kubelets have said
// so, and not yet what came of it.
func pulls(s *view.State) map[string]string {
	all := map[string]string{}
	for _, e := range s.KubeEvents() {
		if e.Regarding.Kind != "Pod" {
			continue
		}
		switch e.Reason {
		case "Pulling":
			if o := s.Object("pods", e.Regarding.Namespace, e.Regarding.Name); o != nil {
				all[e.Regarding.Key()] = ""
				if pod, ok := o.Value.(*corev1.Pod); ok {
					all[e.Regarding.Key()] = pod.Spec.NodeName
				}
			}
		case "Pulled", "Failed", "BackOff", "Killing":
			delete(all, e.Regarding.Key())
		}
	}
	return all
}

// besides draws them, and the balancer where there are several API servers.
func (p *picture) besides() {
	for _, at := range p.Places {
		if at.In != scene.Servers {
			continue
		}
		name, said := at.ID, ""
		switch kind, instance, _ := strings.Cut(at.ID, "/"); kind {
		case "webhook":
			name = instance
			said = webhookWords(p.f.S, instance)
		case "kms":
			said = "The KMS plugin, which wraps the keys that encrypt what is stored."
		case "cloud":
			said = cloudWords(p.f.S)
		case "oidc":
			said = "The identity provider, at which people log in."
		}
		p.another(at, name, said)
	}
	p.registry()
	if len(p.f.S.Balancer.Servers) < 2 {
		return
	}
	for i, e := range p.Edges { // it stands on the way of each who asks
		if e.Class == scene.Asks && e.To == scene.APIServer && p.Form != scene.Strip {
			p.Lines[i].Heads = append(p.Lines[i].Heads, scene.Head{Share: 0.5, Glyph: '◇', Style: theme.Name, Count: "lb"})
		}
	}
}

// cloudWords is what the cloud has done last.
func cloudWords(s *view.State) string {
	said := "The cloud that the machines are in, which makes load balancers and routes."
	var last *view.CloudCall
	for _, c := range s.CloudCalls() {
		if last == nil || c.At > last.At {
			last = c
		}
	}
	switch {
	case last == nil:
		return said
	case last.Error != "":
		return said + " Its last answer, about " + last.About() + ": " + last.Error + "."
	}
	return said + " Its last answer, about " + last.About() + ": " + last.Result + "."
}

// another is one of them: whether it is sound, and its name.
func (p *picture) another(at scene.Place, name, said string) {
	mark, st := "●", theme.Good
	if len(p.f.S.FaultsOn(at.ID)) > 0 {
		mark, st = "✗", theme.Bad
	}
	p.box(at.ID).Rows = [][]grid.Span{{span(" "+mark+" ", st), span(grid.Cut(name, at.Rect.W-4), theme.Text)}}
	p.hot(at.ID, pane.Subject{ID: at.ID, Target: at.ID, Words: said, Copy: name})
}

// registry is the registry and the nodes that pull from it: a kubelet asks it itself, so nothing leads from it to the API
// server.
func (p *picture) registry() {
	at, ok := p.At(scene.Registry)
	if !ok {
		return
	}
	all := pulls(p.f.S)
	var nodes []string
	for _, node := range all {
		if node != "" && !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	name := "registry"
	if len(all) > 0 {
		pulled := ": " + words.Count(len(all), "pull")
		who := strings.Join(nodes, ", ")
		if grid.Width(name+" ⇄ "+who+pulled) > at.Rect.W-4 || who == "" {
			who = words.Count(max(len(nodes), 1), "kubelet")
		}
		name += " ⇄ " + who + pulled
	}
	p.another(at, name, "The registry, from which kubelets pull images: "+words.Count(len(all), "pod")+" waiting for one.")
}

func webhookWords(s *view.State, name string) string {
	for _, w := range s.Webhooks() {
		if w.Name == name {
			return fmt.Sprintf("The webhook server %s: it was asked %s and did not allow %d.", name, words.Count(w.Asked, "time"), w.Refused)
		}
	}
	return "The webhook server " + name + "."
}

// serving is which of several API servers the stages belong to, for its title.
func serving(r *view.Request) string {
	if r == nil || r.Server == "" {
		return trace.CompAPIServer
	}
	return r.Server
}
