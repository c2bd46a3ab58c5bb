package lessons_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"kviz/assets"
	"kviz/cluster"
	"kviz/lessons"
	"kviz/tui/panes"
)

// stranger is a lesson with one beat, and a scene that a script sets.
func stranger(setup string) fstest.MapFS {
	return fstest.MapFS{
		"setup.sh": {Data: []byte(setup)},
		"lesson.md": {Data: []byte(`---
format: 2
version: 1
id: L90
title: From somebody
part: Tests
teaches: [nothing]
minutes: 1
---

## One

### One {#one} free

Look around.

` + "```stage\nshow: map/picture\n```\n\n```offer\n- {run: 'cat outside.txt; kubectl create configmap offered -n demo --from-file=outside.txt', exit: 1}\n```\n\n```goal\n" + `id: any
say: something was broken
optional: true
edge: event.kind == "fault.inject"
hints: [Anything.]
` + "```\n")},
	}
}

func bundled(t *testing.T, files fstest.MapFS) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := lessons.WriteBundle(&b, files, lessons.Bundle{ID: "L90", Title: "From somebody", Version: 1, Kviz: "v0"}, map[string][]byte{"beats.kvrun": {1}}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A bundle has the lesson's files as they were, and is the same file whenever it is made.
func TestABundle(t *testing.T) {
	files := stranger("true")
	files["accepted/one.other.sh"] = &fstest.MapFile{Data: []byte("true")}
	files[".git/config"] = &fstest.MapFile{Data: []byte("an editor's, or a repository's")}
	packed := bundled(t, files)
	if !bytes.Equal(packed, bundled(t, files)) {
		t.Error("the same lesson is another file")
	}
	from, about, err := lessons.OpenBundle("my.kvlesson", packed)
	if err != nil {
		t.Fatal(err)
	}
	if about.ID != "L90" || about.Whole || about.Kviz != "v0" {
		t.Errorf("it says %+v", about)
	}
	all, err := lessons.Load(assets.Lessons(), panes.Names(), from)
	if err != nil {
		t.Fatal(err)
	}
	l := all[len(all)-1]
	if l.ID != "L90" || !l.Bundled || l.Accepted["one.other.sh"] != "true" || l.From != "my.kvlesson" {
		t.Errorf("the lesson is %+v", l)
	}
	if _, err := fs.Stat(from.FS, ".git/config"); err == nil {
		t.Error("it has what is no file of the lesson")
	}
}

// hostile are zips that somebody made by hand.
func hostile(t *testing.T, change func(z *zip.Writer)) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	digest, err := lessons.Digest(stranger("true"), ".")
	if err != nil {
		t.Fatal(err)
	}
	about, _ := json.Marshal(lessons.Bundle{Format: 1, ID: "L90", Digest: digest})
	put(t, z, "bundle.json", about)
	for name, f := range stranger("true") {
		put(t, z, name, f.Data)
	}
	change(z)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func put(t *testing.T, z *zip.Writer, name string, content []byte) {
	t.Helper()
	f, err := z.Create(name)
	if err == nil {
		_, err = f.Write(content)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What is no bundle of a lesson is refused as a whole, with the reason.
func TestHostileBundles(t *testing.T) {
	for _, x := range []struct {
		name, says string
		change     func(z *zip.Writer)
	}{
		{"nothing is wrong", "", func(*zip.Writer) {}},
		{"out by ..", "leads out of it", func(z *zip.Writer) { put(t, z, "../../.bashrc", []byte("x")) }},
		{"out in the middle", "leads out of it", func(z *zip.Writer) { put(t, z, "accepted/../../x", []byte("x")) }},
		{"absolute", "leads out of it", func(z *zip.Writer) { put(t, z, "/etc/cron.d/x", []byte("x")) }},
		{"of Windows", "leads out of it", func(z *zip.Writer) { put(t, z, `..\x`, []byte("x")) }},
		{"a drive", "leads out of it", func(z *zip.Writer) { put(t, z, `C:x`, []byte("x")) }},
		{"a symbolic link", "is no file", func(z *zip.Writer) {
			h := &zip.FileHeader{Name: "outside.txt"}
			h.SetMode(fs.ModeSymlink | 0o777)
			f, err := z.CreateHeader(h)
			if err == nil {
				_, err = f.Write([]byte("/etc/passwd"))
			}
			if err != nil {
				t.Fatal(err)
			}
		}},
		{"a name twice", "is there twice", func(z *zip.Writer) { put(t, z, "lesson.md", []byte("x")) }},
		{"a bomb", "unpacks to more than 16 MiB", func(z *zip.Writer) { put(t, z, "x", make([]byte, 17<<20)) }},
		{"many small bombs", "unpacks to more than 48 MiB", func(z *zip.Writer) {
			for i := range 4 {
				put(t, z, fmt.Sprint(i), make([]byte, 15<<20))
			}
		}},
		{"many files", "a lesson has 300 at most", func(z *zip.Writer) {
			for i := range 400 {
				put(t, z, fmt.Sprint(i), nil)
			}
		}},
		{"another file", "not those that were bundled", func(z *zip.Writer) { put(t, z, "cleanup.sh", []byte("true")) }},
	} {
		_, _, err := lessons.OpenBundle("x.kvlesson", hostile(t, x.change))
		if x.says == "" && err != nil || x.says != "" && (err == nil || !strings.Contains(err.Error(), x.says)) {
			t.Errorf("%s: %v, want %q", x.name, err, x.says)
		}
	}
	if _, _, err := lessons.OpenBundle("x.kvlesson", []byte("no zip")); err == nil {
		t.Error("no zip is a bundle")
	}
}

// grabs are what a hostile script tries. Each is to fail; OUT is a file outside with a secret in it, TO
// one that is to be written.
var grabs = []string{
	`cat OUT`,
	`cat < OUT`,
	`x=$(<OUT); test -n "$x"`,
	`echo evil > TO`,
	`echo evil >> TO`,
	`echo evil > ../TO-BASE`,
	`cd / && echo evil > TO`,
	`cd .. && cat OUT-BASE`,
	`test -f OUT`,
	`ls OUTDIR`,
	`. OUT`,
	`for f in OUTDIR/*; do cat "$f" && exit 0; done; false`,
	`kubectl create configmap stolen -n default --from-file=OUT`,
	`kubectl create configmap stolen -n default --from-file=key=OUT`,
	`kubectl create secret generic stolen -n default --from-env-file OUT`,
	`kubectl create secret tls stolen -n default --cert=OUT --key=OUT`,
	`kubectl apply -f OUT`,
	`kubectl apply -fOUT`,
	`kubectl apply --filename=OUT`,
	`kubectl apply -Rf OUT`,
	`kubectl apply -Rf .`,
	`kubectl apply -f ../OUT-BASE`,
	`kubectl apply -f https://example.com/x.yaml`,
	`kubectl apply -Rf https://example.com/x.yaml`,
	`kubectl apply -k https://example.com/x`,
	`kubectl apply -k .`,
	`kubectl kustomize https://example.com/x`,
	`kubectl get pods -o go-template-file=OUT`,
	`kubectl get pods -o jsonpath-file=OUT`,
	`kubectl patch configmap kube-root-ca.crt -n default --patch-file OUT`,
	`kubectl get pods --kubeconfig OUT`,
	`kubectl get pods --cache-dir OUTDIR`,
	`kubectl get pods --client-certificate OUT --client-key OUT`,
	`kubectl get pods --profile cpu --profile-output TO`,
	`kubectl cluster-info dump --output-directory OUTDIR`,
	`kubectl edit configmap kube-root-ca.crt -n default`,
	`kubectl create -f manifests/pod.yaml --edit`,
	`etcdctl snapshot save TO`,
	`etcdctl snapshot save ../TO-BASE`,
	`etcdctl watch / -- touch TO`,
	`etcdctl --endpoints=example.com:2379 get /`,
	`etcdutl snapshot restore OUT --data-dir=TO`,
	`etcdutl snapshot status OUT`,
	`etcdutl defrag --data-dir=OUTDIR`,
	`kviz certificate --user evil TO`,
	`kviz certificate --user evil ../TO-BASE`,
	`kviz restore OUT`,
	`kviz apiserver audit OUT`,
	`kviz apiserver encryption OUT`,
	`kviz fork --save TO`,
	`bash -c 'cat OUT'`,
	`/bin/cat OUT`,
	`curl https://example.com`,
	`test -n "$SECRET_OF_THE_MACHINE"`,
	`test "$HOME" != "$PWD"`,
}

// The scripts of a bundle reach no file of the machine but those of the lesson's own folder, whichever
// word of the console they use, nor what is in its environment, its terminal and the network.
func TestAHostileLessonReachesNothing(t *testing.T) {
	t.Setenv("SECRET_OF_THE_MACHINE", "open sesame")
	outside := t.TempDir()
	secret, to := filepath.Join(outside, "outside.txt"), filepath.Join(outside, "written")
	if err := os.WriteFile(secret, []byte("password=open-sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tmp := filepath.Join(outside, "tmp") // the lesson's folder is below it
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	setup := "kubectl create namespace demo\n" +
		// what it may: its own folder, the manifests of kviz, and nothing
		"echo own > own.txt; cat own.txt > /dev/null; kubectl create configmap own -n demo --from-file=own.txt\n" +
		"kubectl apply -f manifests/pod.yaml --dry-run=client; etcdctl snapshot save own.db; kviz certificate --user me me\n" +
		"function date { echo mine; }\n"
	names := strings.NewReplacer("OUTDIR", outside, "OUT-BASE", "outside.txt", "OUT", secret, "TO-BASE", "written", "TO", to)
	for i, grab := range grabs {
		setup += fmt.Sprintf("( %s ) >/dev/null 2>&1 && kubectl create configmap grabbed-%d -n demo\n", names.Replace(grab), i)
	}
	setup += "kubectl create configmap ended -n demo\n"

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := cluster.Boot(ctx, cluster.Config{Seed: 1, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	from, _, err := lessons.OpenBundle("hostile.kvlesson", bundled(t, stranger(setup)))
	if err != nil {
		t.Fatal(err)
	}
	all, err := lessons.Load(assets.Lessons(), panes.Names(), from)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{t, lessons.NewPlayer(c, all, nil), c}
	defer p.Close()
	if err := p.Start("L90"); err != nil {
		t.Fatal(err)
	}
	look := p.until("the scene is set", func(l lessons.Look) bool { return l.Beat != nil || l.Active && !l.Setting })
	if look.Trouble != "" || look.Beat == nil {
		t.Fatalf("the scene: %s %s", look.Trouble, look.Text)
	}
	if !look.Offers(look.Beat.Offer) {
		t.Error("what it offers is not confined to its folder")
	}
	p.run("kubectl get configmap ended own -n demo > names.txt") // the learner's own words reach files
	if out := p.out("date"); strings.Contains(out, "mine") {
		t.Error("what it has defined is run as the learner's word")
	}
	if out := p.out("kubectl get configmaps -n demo -o name"); strings.Contains(out, "grabbed-") {
		for i, grab := range grabs {
			if strings.Contains(out, fmt.Sprintf("grabbed-%d\n", i)) {
				t.Errorf("it went through: %s", names.Replace(grab))
			}
		}
	}
	if out := p.out("kubectl get configmaps,secrets -A -o yaml"); strings.Contains(out, "open-sesame") || strings.Contains(out, "open sesame") {
		t.Error("a secret of the machine is in the cluster")
	}
	left, err := filepath.Glob(filepath.Join(outside, "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("outside there are %v (%v)", left, err)
	}
	inTmp, _ := filepath.Glob(filepath.Join(tmp, "written*"))
	if len(inTmp) > 0 {
		t.Errorf("above its folder there are %v", inTmp)
	}
}
