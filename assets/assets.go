// Package assets holds what is embedded in the binary: texts and documents that are
// data, not code. It imports nothing from kviz; the command passes each part to the
// packages that use it, as an [io/fs.FS].
//
//	docs/        the pages of kviz help TOPIC
//	lessons/     one folder a lesson, as package lessons reads them
//	newlesson/   what kviz lesson new begins a lesson with
//	manifests/   objects that lessons and the first five minutes use;
//	             the console finds them as -f manifests/hello.yaml
//	discovery/   the discovery document of Kubernetes v1.37, all groups
//	openapi/     its OpenAPI documents, compressed
//
// discovery and openapi are copies of api/discovery and api/openapi-spec of
// k8s.io/kubernetes, written by the program in generate; run "go generate ./assets"
// after a change of the Kubernetes version in go.mod. The API server serves the parts
// that the cluster has.
//
// Kubernetes has the documents as files in its repository, and nothing like the rest. Start
// reading at [Manifests] and its neighbours: one function a folder.
package assets

import (
	"embed"
	"io/fs"
)

//go:generate go run ./generate -out .

//go:embed manifests
var manifests embed.FS

//go:embed docs
var docs embed.FS

//go:embed lessons
var lessons embed.FS

//go:embed newlesson
var newLesson embed.FS

//go:embed discovery openapi
var documents embed.FS

// Manifests holds the example objects under "manifests/".
func Manifests() fs.FS { return manifests }

// Docs holds the pages of kviz help.
func Docs() fs.FS {
	sub, err := fs.Sub(docs, "docs")
	if err != nil {
		panic(err) // the folder's name is not a path: impossible
	}
	return sub
}

// NewLesson holds the files of a lesson that somebody begins to write.
func NewLesson() fs.FS {
	sub, err := fs.Sub(newLesson, "newlesson")
	if err != nil {
		panic(err) // the folder's name is not a path: impossible
	}
	return sub
}

// Lessons holds one folder for each lesson.
func Lessons() fs.FS {
	sub, err := fs.Sub(lessons, "lessons")
	if err != nil {
		panic(err) // the folder's name is not a path: impossible
	}
	return sub
}

// Documents holds "discovery/discovery.json" and "openapi/…" as
// cluster/serve reads them.
func Documents() fs.FS { return documents }
