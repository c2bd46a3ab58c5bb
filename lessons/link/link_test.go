package link_test

import (
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/lessons/link"
)

func TestLinks(t *testing.T) {
	for text, want := range map[string]link.Link{
		"L09@3#crash":            {Lesson: "L09", Version: 3, Beat: "crash"},
		"L09b#on-disk":           {Lesson: "L09b", Beat: "on-disk"},
		"L09@12":                 {Lesson: "L09", Version: 12},
		"L09":                    {Lesson: "L09"},
		"run.kvrun":              {File: "run.kvrun"},
		"run.kvrun#8841":         {File: "run.kvrun", Event: trace.ID{Seq: 8841}},
		"/a b/c#1.kvrun#8841.11": {File: "/a b/c#1.kvrun", Event: trace.ID{Seq: 8841, Sub: 11}},
		"run:7f3c#8841.11":       {Run: "7f3c", Event: trace.ID{Seq: 8841, Sub: 11}},
	} {
		got, err := link.Parse(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s is %+v (%s), %v; want %+v", text, got, got, err, want)
		}
	}
	got, err := link.Parse("\ufeff# from ada\r\n\r\n  L09@3#crash \r\nmore")
	if err != nil || got.Beat != "crash" {
		t.Errorf("a file with a link is %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                        "there is no link",
		"# nothing":               "there is no link",
		"L09#Crash":               "is no link",
		"L09@#crash":              "is no link",
		"../L09":                  "is no link",
		"https://example.org":     "is no link",
		"run:7f3c":                "run:NAME#EVENT",
		"run:../x#1":              "run:NAME#EVENT",
		"run.kvrun#x":             `event number "x"`,
		"L09\x1b[31m":             "nobody sees",
		"run\u202e.kvrun#1":       "nobody sees",
		strings.Repeat("a", 5000): "at most 4096 bytes",
	} {
		if got, err := link.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q is %+v, %v; want %q", text, got, err, want)
		}
	}
}
