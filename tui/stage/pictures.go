package stage

import (
	"kviz/lessons"
	"kviz/tui/pane"
)

// Pictures are panes as lessons show them and point at them.
func Pictures(makers []pane.Maker) (all []lessons.Picture) {
	for _, make := range makers {
		p := make()
		info := p.Info()
		pic := lessons.Picture{Name: info.Name, Kinds: info.Kinds}
		for _, v := range info.Views {
			pic.Views = append(pic.Views, v.Name)
		}
		_, pic.Objects = p.(pane.Shower)
		all = append(all, pic)
	}
	return all
}
