package student

import (
	tea "charm.land/bubbletea/v2"

	"kviz/tui/grid"
)

// Changed is the message that something has changed.
func Changed() tea.Msg { return sceneMsg{} }

// Said is the message that something has changed in the room.
func Said() tea.Msg { return roomMsg{} }

// Grid is what was drawn last.
func Grid(m *Model) *grid.Grid { return m.canvas.Planes() }
