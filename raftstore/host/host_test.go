package host

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"kviz/raftstore/steady"
)

// as says as what the test binary was started by one of these tests.
const as = "KVIZ_HOST_TEST"

func TestMain(m *testing.M) {
	switch os.Getenv(as) {
	case "":
		os.Exit(m.Run())
	case "child": // says that it is there, and when its parent is gone
		fmt.Println("child", os.Getpid())
		if err := AwaitParent(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	case "parent": // starts a child and goes without a word to it
		child := self("child")
		child.Stdout = os.Stdout
		if _, err := Start(child); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		time.Sleep(time.Hour)
	}
}

func self(what string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), as+"="+what)
	return cmd
}

func TestAProgramEndsWithTheOneThatStartedIt(t *testing.T) {
	steady.RealTime(t, "the programs are processes")
	parent := self("parent")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, err := fmt.Sscanf(line, "child %d", &pid); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if err != nil || !Alive(parent.Process.Pid) || !Alive(pid) {
		t.Fatalf("parent alive %v, child alive %v (%v)", Alive(parent.Process.Pid), Alive(pid), err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	if Alive(parent.Process.Pid) {
		t.Error("the killed parent is said to be alive")
	}
	steady.Until(t, "the child has ended", func() bool { return !Alive(pid) || zombie(pid) })
}

// zombie tells a process that has ended and that nobody has waited for: in a container
// without an init that is all of it that remains.
func zombie(pid int) bool {
	m, err := MemoryOf(pid)
	return runtime.GOOS == "linux" && (err != nil || m.Resident == 0)
}

func TestAProgramHearsThatItWasEnded(t *testing.T) {
	steady.RealTime(t, "the program is a process")
	child := self("child")
	ended, err := Start(child)
	if err != nil {
		t.Fatal(err)
	}
	if err := ended(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err != nil {
		t.Errorf("the child ended with %v", err)
	}
}

func TestWhatThisProcessTakes(t *testing.T) {
	steady.RealTime(t, "what the processor did is the system's to tell")
	before, err := ProcessorTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	// The system counts in steps, on Windows of 16 ms, and others may have the processor.
	began, after := time.Now(), before
	steady.Until(t, "a step is counted", func() bool {
		for spent := time.Now(); time.Since(spent) < time.Millisecond; {
		}
		after, err = ProcessorTime(os.Getpid())
		return after > before || err != nil
	})
	if took, most := after-before, time.Since(began)*time.Duration(runtime.NumCPU())+time.Second; err != nil || took > most {
		t.Errorf("%v of work took %v of the processors (%v)", time.Since(began), took, err)
	}
	m, err := MemoryOf(os.Getpid())
	if runtime.GOOS == "darwin" {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("memory: %v", err)
		}
		return
	}
	if err != nil || m.Resident < 1<<20 || m.Own > m.Resident {
		t.Errorf("memory: %+v, %v", m, err)
	}
}

func TestErrorsAreTold(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := net.Listen("tcp", l.Addr().String()); !InUse(err) || NotEmpty(err) {
		t.Errorf("a second listener: %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir); !NotEmpty(err) || NobodyReads(err) {
		t.Errorf("removing a folder with a file: %v", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if _, err := w.WriteString("x"); !NobodyReads(err) || InUse(err) {
		t.Errorf("writing where nobody reads: %v", err)
	}
	w.Close()
}
