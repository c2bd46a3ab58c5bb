package door

import (
	"context"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"kviz/tui/safe"
)

// Show runs a Bubble Tea program on the visitor's terminal until it ends or ctx does, and gives its last model. One
// program may follow another at once: what is typed after a program has begun to end is the next one's.
func Show(ctx context.Context, v *Visit, m tea.Model, opts ...tea.ProgramOption) (tea.Model, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	input := v.Input(ctx)
	width, height := v.Size()
	own := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithoutSignalHandler(),
		tea.WithInput(input), tea.WithOutput(v.Out), tea.WithWindowSize(width, height),
		tea.WithEnvironment(v.Environ), tea.WithColorProfile(colorprofile.Env(v.Environ)),
		tea.WithFilter(func(_ tea.Model, msg tea.Msg) tea.Msg {
			switch msg.(type) {
			case tea.QuitMsg, tea.InterruptMsg:
				_ = input.Close()
			}
			return msg
		}),
	}
	p := tea.NewProgram(m, append(own, opts...)...)
	group := safe.NewGroup(p.Kill)
	group.Go(func() {
		for {
			select {
			case <-v.Resized():
				w, h := v.Size()
				p.Send(tea.WindowSizeMsg{Width: w, Height: h})
			case <-ctx.Done():
				return
			}
		}
	})
	last, err := p.Run()
	cancel()
	group.Wait()
	return last, err
}
