package main

import (
	"context"
	"os"

	"kviz/cluster"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui"
	"kviz/tui/lesson"
)

// falls are kviz with something in it that breaks down while its screen is
// shown, as programs that begin can start.
var falls = map[string]func(c *cluster.Cluster, look *tui.Config){
	"kviz-update": func(_ *cluster.Cluster, look *tui.Config) { look.Lessons = falling{look.Lessons, look.History} },
	"kviz-goroutine": func(_ *cluster.Cluster, look *tui.Config) {
		boot := look.Booting
		look.Booting = func(ctx context.Context, progress func(string)) (tui.Cluster, error) {
			if _, err := boot(ctx, progress); err != nil {
				return nil, err
			}
			panic("the floor gave way")
		}
	},
	"kviz-kernel": func(c *cluster.Cluster, _ *tui.Config) {
		go func() {
			<-c.Ready()
			c.Kernel().Post(func() { panic("the floor gave way") })
		}()
	},
}

// falling breaks down in answering a message, as soon as the store has a leader.
type falling struct {
	lesson.Player
	history *view.History
}

func (f falling) Look() lessons.Look {
	if f.history.Latest().Store.Leader != "" {
		panic("the floor gave way")
	}
	return f.Player.Look()
}

// fallers are the programs of falls.
func fallers() map[string]func() {
	programs := map[string]func(){}
	for name, fall := range falls {
		programs[name] = func() {
			beforeScreen = fall
			os.Exit(Main())
		}
	}
	return programs
}
