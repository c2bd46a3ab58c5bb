package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/lessons/link"
	"kviz/tui/class/lead"
	"kviz/tui/class/walk"
	"kviz/tui/panes"
	"kviz/tui/stage"
)

// namedRecording is the recording that an argument names, "run.kvrun" or "run.kvrun#8841"; a file that is there is one whatever its
// name is.
func namedRecording(arg string) (to link.Link, is bool) {
	if to, err := link.Parse(arg); err == nil {
		return to, to.File != ""
	}
	if info, err := os.Stat(arg); err == nil && info.Mode().IsRegular() {
		return link.Link{File: arg}, true
	}
	return link.Link{}, false
}

// walkRecorded is a class that walks through a recording.
func (t *teaching) walkRecorded(ctx context.Context, io streams, to link.Link) error {
	if err := mustExist(to.File); err != nil {
		return err
	}
	marks, err := walk.Open(to.File, stage.Pictures(panes.All))
	if err != nil {
		return err
	}
	events, damage, err := readRecording(io, to.File)
	if err != nil {
		return err
	}
	if len(events) == 0 {
		return errors.Join(fmt.Errorf("%s has no events", to.File), damage)
	}
	stream := trace.NewStream(len(events) + 1)
	for _, e := range events {
		stream.Append(e)
	}
	if _, err := servedDir(); err != nil { // the runtime folder, with the socket in it
		return err
	}
	remove, err := scratch() // of the students' clusters
	if err != nil {
		return err
	}
	defer remove()
	at := ""
	if !to.Event.IsZero() {
		at = "#" + to.Event.String()
	}
	return t.walk(ctx, io, walk.NewRecording(stream), marks, filepath.Base(to.File), walkName(to.File), at)
}

// walkName is the name of the journal of a walk through a recording: another file of the same name is another walk.
func walkName(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	sum := sha256.Sum256([]byte(path))
	return "walk-" + hex.EncodeToString(sum[:6])
}

// walkLive is a class that walks through a new cluster.
func (t *teaching) walkLive(ctx context.Context, io streams) (err error) {
	cfg, err := t.s.config(false)
	if err != nil {
		return err
	}
	if _, err := servedDir(); err != nil { // the runtime folder, with the socket in it
		return err
	}
	c, end, err := t.s.boot(ctx, cfg, "class")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := c.WaitReady(ctx); err != nil {
		return err
	}
	marks := walk.New(stage.Pictures(panes.All))
	if t.s.record != "" {
		marks = walk.Fresh(t.s.record, stage.Pictures(panes.All))
	}
	return t.walk(ctx, io, c, marks, "a live cluster", "walk", "")
}

// walk is a class that walks through a run, from a beat on; "" is where one ended that was cut off, else the beginning.
func (t *teaching) walk(ctx context.Context, io streams, c lessons.Cluster, marks *walk.Marks, title, name, at string) error {
	room, err := t.room()
	if err != nil {
		return err
	}
	room.title, room.name = title, name
	h := view.NewHistory(c.Trace())
	h.CatchUp(0)
	player := walk.NewPlayer(walk.Config{Title: title, Cluster: c, History: h, Marks: marks, Panes: panes.Names()})
	was, err := room.begin("")
	if err != nil {
		return err
	}
	if at == "" {
		at = was
	}
	if err := player.Start(at); err != nil {
		return errors.Join(err, room.closeJournal())
	}
	if err := room.opens(lead.Config{Cluster: c, History: h, Player: player}, screensOf); err != nil {
		return err
	}
	return room.serve(ctx, func() { room.tell(io.out) })
}
