package clustermap

import (
	"sort"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/podmark"
	"kviz/tui/scene"
	"kviz/tui/theme"
)

// picture is a scene while the pane draws it: where everything stands, and the boxes and
// lines that the state gives it.
type picture struct {
	*scene.Scene
	scene.Picture
	s    *pane.Sheet
	f    *pane.Frame
	pods *population
	svcs map[string]*service
	vols []*view.VolumeStanding

	heat   heat
	floors floors
}

// service is a Service and where its ready endpoints are.
type service struct {
	obj        *view.Object
	svc        *corev1.Service
	ready, all int
	nodes      map[string]bool
	lost       bool // an endpoint does not say on which node it is
}

// Fills implements [pane.Filler]: the picture takes the whole window.
func (m *Map) Fills(w, rows int) bool {
	return m.View().Name == "picture" && scene.FormOf(w, rows) != scene.None
}

// drawPicture draws the living map, or the lists where there is no room for it.
func (m *Map) drawPicture(s *pane.Sheet, f *pane.Frame) {
	if scene.FormOf(s.W(), f.Rows) == scene.None {
		m.drawLists(s, f)
		return
	}
	pods := m.population(f)
	p := &picture{s: s, f: f, pods: pods, svcs: pods.svcs, vols: pods.volumes(f), floors: floorsOf(f.S)}
	shape := p.shape()
	shape.Grain = m.grain
	p.Scene = m.sceneFor(shape, s.W(), f.Rows)
	p.Picture = p.Blank()
	p.askers()
	p.server()
	p.besides()
	p.store()
	p.nodes()
	p.services()
	p.volumes()
	p.walked()
	p.fallen()
	p.lights()
	m.painter.Paint(s.Rows(0, f.Rows), p.Scene, p.Picture)
	if at, ok := p.At(scene.Store); ok && p.Form == scene.Strip && p.W >= scene.WholeNames && len(f.S.Store.Members()) == 3 {
		s.Row(1).Text(at.Rect.X+18, 0, "etcd", theme.Muted) // beside the members and the links between them
	}
	for _, at := range p.Places {
		s.Mark(at.Rect, at.ID)
	}
	p.numbers()
	p.volumeReasons()
	p.foot()
	m.touchedLine(p)
}

// sceneFor is the scene of a shape and size: the last one, as long as both are the same.
func (m *Map) sceneFor(shape scene.Shape, w, h int) *scene.Scene {
	if c := m.scene; c == nil || c.W != w || c.H != h || !m.shape.Equal(shape) {
		m.scene, m.shape = scene.Of(shape, w, h), shape
	}
	return m.scene
}

// shape is what there is to be laid out.
func (p *picture) shape() scene.Shape {
	var sh scene.Shape
	for _, m := range p.f.S.Store.Members() {
		sh.Members = append(sh.Members, m.Name)
	}
	sh.Nodes = p.pods.names
	for key := range p.svcs {
		sh.Services = append(sh.Services, key)
	}
	for _, v := range p.vols {
		sh.Volumes = append(sh.Volumes, volumeName(v))
	}
	sh.Servers = p.beside()
	sort.Slice(sh.Services, func(i, j int) bool { // the cluster's own last
		a, b := p.svcs[sh.Services[i]].own(), p.svcs[sh.Services[j]].own()
		if a != b {
			return b
		}
		return sh.Services[i] < sh.Services[j]
	})
	return sh
}

// own reports whether the cluster made the Service for itself.
func (s *service) own() bool {
	return s.obj.Namespace() == "kube-system" || s.obj.Ref.Key() == "default/kubernetes"
}

// services are the Services with an address, and where their ready endpoints are.
func services(f *pane.Frame) map[string]*service {
	all := map[string]*service{}
	f.S.EachObject("services", "", func(o *view.Object) bool {
		if svc, ok := o.Value.(*corev1.Service); ok && f.Match(o.Name(), o.Namespace()) {
			all[o.Ref.Key()] = &service{obj: o, svc: svc, nodes: map[string]bool{}}
		}
		return true
	})
	f.S.EachObject("endpointslices", "", func(o *view.Object) bool {
		slice, ok := o.Value.(*discoveryv1.EndpointSlice)
		if !ok {
			return true
		}
		s := all[o.Namespace()+"/"+slice.Labels[discoveryv1.LabelServiceName]]
		if s == nil {
			return true
		}
		for _, e := range slice.Endpoints {
			s.all++
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				s.ready++
				if e.NodeName != nil {
					s.nodes[*e.NodeName] = true
				} else {
					s.lost = true
					if pod := podOf(f.S, e.TargetRef); pod != nil {
						s.nodes[pod.Spec.NodeName] = true
					}
				}
			}
		}
		return true
	})
	return all
}

// podOf is the pod that an endpoint refers to, or nil.
func podOf(s *view.State, ref *corev1.ObjectReference) *corev1.Pod {
	if ref == nil || ref.Kind != "Pod" {
		return nil
	}
	if o := s.Object("pods", ref.Namespace, ref.Name); o != nil {
		pod, _ := o.Value.(*corev1.Pod)
		return pod
	}
	return nil
}

// box is how a place looks; one that nobody draws where there is no such place.
func (p *picture) box(id string) *scene.Box {
	if i := p.Index(id); i >= 0 {
		return &p.Boxes[i]
	}
	return &scene.Box{}
}

// hot puts the cursor's stop of a place on its first row.
func (p *picture) hot(id string, on pane.Subject) {
	at, ok := p.At(id)
	if !ok {
		return
	}
	x, w := at.Rect.X, at.Rect.W
	if at.Framed {
		b := p.box(id)
		x, w = x+3, 0
		for _, t := range b.Title {
			w += grid.Width(t.Text)
		}
	}
	p.s.Hot(x, at.Rect.Y, w, on)
}

// row is a row of text with a blank before it, as it stands in a box.
func row(spans ...grid.Span) []grid.Span { return append([]grid.Span{{Text: " "}}, spans...) }

// span is a piece of text.
func span(text string, st grid.Style) grid.Span { return grid.Span{Text: text, Style: st} }

// marked is a pod's letter and mark.
func marked(c cell, fresh bool) grid.Span {
	st := c.mark.Style
	if fresh {
		st |= grid.Fresh | grid.Bold
	}
	return span(string(c.letter)+string(c.mark.Glyph), st)
}

// restarts is how often a pod's containers were started again, in words.
func restarts(c cell) int { return podmark.Restarts(c.pod) }
