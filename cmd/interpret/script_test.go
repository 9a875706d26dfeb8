package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"interpret": main})
}

// Each script is what somebody types, with the files it needs. Beside the commands of testscript there are:
//
//	status N COMMAND...   run interpret, which must exit with that status
//	asked PATH            wait until the server was asked for a path
//	yaml FILE             the file must be a stream of YAML documents
//	utf16 FILE            write the file anew in UTF-16 with a byte order mark
//	certificate FILE KEY  write a certificate and its key
//	expand FILE           replace the variables of the environment in the file
//	called N              hooks must have been called N times since this was last asked
//
// SERVER is the address of a server that gives the script's files, and under these paths other things: /flaky/FILE
// fails twice before it gives the file, /error always fails, /slow begins and never ends, /endless never stops
// sending. DOWN is an address where nobody listens. HOOK is the address, host:port, of the hook that newTestHook makes,
// and HOOK_CA the caBundle for it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		// With UPDATE_SCRIPTS=1 in the environment, files that cmp finds different are rewritten.
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			s := newTestServer(env.WorkDir)
			env.Defer(s.close)
			env.Values["server"] = s
			env.Setenv("SERVER", s.URL)
			env.Setenv("DOWN", "http://"+unusedAddress(t))
			h := newTestHook(t, s.asked)
			env.Values["hook"] = h
			env.Setenv("HOOK", h.Listener.Addr().String())
			env.Setenv("HOOK_CA", h.bundle)
			examples, err := filepath.Abs("../../examples")
			env.Setenv("EXAMPLES", examples)
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": scriptStatus,
			"asked":  scriptAsked,
			"yaml":   scriptYAML,
			"utf16":  scriptUTF16,
			"expand": scriptExpand,
			"called": scriptCalled,
			"certificate": func(ts *testscript.TestScript, _ bool, args []string) {
				writeCertificate(t, ts.MkAbs(args[0]), ts.MkAbs(args[1]))
			},
		},
	})
}

func scriptStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		exit, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

func scriptAsked(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value("server").(*testServer)
	select {
	case <-s.asked:
	case <-time.After(10 * time.Second):
		ts.Fatalf("nobody asked the server for %s", strings.Join(args, " "))
	}
}

func scriptYAML(ts *testscript.TestScript, neg bool, args []string) {
	for _, doc := range strings.Split(ts.ReadFile(args[0]), "\n---") {
		var v any
		ts.Check(yaml.UnmarshalStrict([]byte(doc), &v))
	}
}

func scriptUTF16(ts *testscript.TestScript, neg bool, args []string) {
	data := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(ts.ReadFile(args[0]))) {
		data = append(data, byte(unit), byte(unit>>8))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
}

// testServer gives files, and misbehaves on demand.
type testServer struct {
	*httptest.Server
	// asked is sent to when somebody waits for an answer that does not come.
	asked   chan struct{}
	closing chan struct{}
	failed  atomic.Int32
}

func newTestServer(dir string) *testServer {
	s := &testServer{asked: make(chan struct{}, 1), closing: make(chan struct{})}
	files := http.FileServer(http.Dir(dir))
	mux := http.NewServeMux()
	mux.Handle("/", files)
	mux.Handle("/flaky/", http.StripPrefix("/flaky", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.failed.Add(1) < attempts {
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		files.ServeHTTP(w, r)
	})))
	mux.HandleFunc("/error", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusInternalServerError)
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "apiVersion: v1")
		w.(http.Flusher).Flush()
		s.asked <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-s.closing:
		}
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		chunk := []byte(strings.Repeat("# and on and on\n", 1<<16))
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	s.Server = httptest.NewServer(mux)
	return s
}

func (s *testServer) close() {
	close(s.closing)
	s.Close()
}

// unusedAddress is one where nobody listens.
func unusedAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// newTestServerOf gives the URL of a server with one page.
func newTestServerOf(t testing.TB, page http.HandlerFunc) string {
	s := httptest.NewServer(page)
	t.Cleanup(s.Close)
	return s.URL
}
