package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// stdinName names standard input, on the command line.
	stdinName = "-"
	// stdinFile names it in messages.
	stdinFile = "<stdin>"
	// maxInput bounds one file, in bytes. An API server stores objects of up to 1.5 MiB; a dump of all
	// customizations of a cluster is larger, and nothing that a person means is larger than this.
	maxInput = 64 << 20
	// attempts is how often a URL is tried, as kubectl does.
	attempts = 3
	// attemptTime bounds one attempt, the body included.
	attemptTime = 30 * time.Second
	// firstPause is the time to the second attempt; it doubles with every further one.
	firstPause = 250 * time.Millisecond
)

// extensions are the names' ends by which files of a directory are recognized. A file that is named itself
// is read whatever its name.
var extensions = []string{".json", ".yaml", ".yml"}

// input is one file, or what stands for one.
type input struct {
	// name is the path or the URL, or stdinFile.
	name string
	data []byte
}

// read reads what a flag names: files, directories, patterns, URLs or standard input, in that order of
// appearance. What can be read comes back also if something else cannot.
func (s *session) read(ctx context.Context, flag string, names []string, recursive bool) ([]input, error) {
	var inputs []input
	var errs []error
	for _, name := range names {
		found, err := s.readOne(ctx, flag, name, recursive)
		inputs = append(inputs, found...)
		if err != nil {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return inputs, errors.Join(errs...)
}

func (s *session) readOne(ctx context.Context, flag, name string, recursive bool) ([]input, error) {
	switch {
	case name == "":
		return nil, usage("%s: the name of the file is empty", flag)
	case name == stdinName:
		data, err := readAll(ctx, stdinFile, s.stdin)
		if err != nil {
			return nil, err
		}
		return []input{{stdinFile, data}}, nil
	case isURL(name):
		data, err := fetch(ctx, name)
		if err != nil {
			return nil, err
		}
		return []input{{name, data}}, nil
	}
	// A file whose name only looks like a pattern is read as such.
	paths := []string{name}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(name, "*?[") {
		matches, err := filepath.Glob(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		// As in a directory, cases are left out, unless they are asked for.
		matches = slices.DeleteFunc(matches, func(match string) bool { return isCaseFile(match) && !isCaseFile(name) })
		if len(matches) == 0 {
			return nil, fmt.Errorf("%s: no file matches", name)
		}
		paths = matches
	}
	var inputs []input
	var errs []error
	for _, path := range paths {
		found, err := readPath(ctx, path, recursive)
		inputs = append(inputs, found...)
		errs = append(errs, err)
	}
	return inputs, errors.Join(errs...)
}

// isURL says whether a name stands for something on the network.
func isURL(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// readPath reads a file or a directory's files.
func readPath(ctx context.Context, path string, recursive bool) ([]input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, plain(err)
	}
	files := []string{path}
	if info.IsDir() {
		if files, err = filesIn(path, recursive); err != nil {
			return nil, err
		}
	}
	var inputs []input
	var errs []error
	for _, file := range files {
		data, err := readFile(ctx, file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		inputs = append(inputs, input{file, data})
	}
	return inputs, errors.Join(errs...)
}

// errNoFiles means that a directory is there and holds nothing to read.
var errNoFiles = errors.New("the directory has no files")

// filesIn lists the YAML and JSON files of a directory, sorted. Case files are left out: they lie beside
// customizations, and are something else. So are directories whose names begin with two dots, in which a mounted
// ConfigMap keeps its versions; the links beside them lead to the present one.
func filesIn(dir string, recursive bool) ([]string, error) {
	var files []string
	deeper := false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), ".."):
			return filepath.SkipDir
		case d.IsDir() && path != dir && !recursive:
			deeper = true
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains(extensions, filepath.Ext(path)) || isCaseFile(path):
			return nil
		}
		files = append(files, path)
		return nil
	})
	if err != nil {
		return nil, plain(err)
	}
	if len(files) == 0 {
		hint := ""
		if deeper {
			hint = "; its subdirectories are read with -R"
		}
		return nil, fmt.Errorf("%s: %w ending in %s%s", dir, errNoFiles, strings.Join(extensions, ", "), hint)
	}
	return files, nil
}

// readFile reads one file. It may be a pipe or a device, hence the context and the size limit.
func readFile(ctx context.Context, path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	return readAll(ctx, path, f)
}

// claimStdin sees to it that only one flag names standard input, and it once: it can be read only once. It is
// called before anything is read, so that a mistake does not wait for a terminal.
func (s *session) claimStdin(flag string, names ...string) error {
	for _, name := range names {
		switch {
		case name != stdinName:
		case s.stdinFlag == "":
			s.stdinFlag = flag
		case s.stdinFlag == flag:
			return usage("%s names standard input (-) twice; it can be read once", flag)
		default:
			return usage("%s and %s both name standard input (-); it can be read once", s.stdinFlag, flag)
		}
	}
	return nil
}

// readAll reads to the end, to the size limit, or until the context ends. A read that hangs is left behind.
func readAll(ctx context.Context, name string, r io.Reader) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
		done <- result{data, err}
	}()
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", name, interrupted(ctx))
	case got := <-done:
		switch {
		case got.err != nil:
			return nil, plain(got.err)
		case len(got.data) > maxInput:
			return nil, fmt.Errorf("%s: larger than %d MiB, which is the most that is read", name, maxInput>>20)
		}
		return got.data, nil
	}
}

// interrupted is the error of a read that somebody ended.
func interrupted(ctx context.Context) error {
	return fmt.Errorf("interrupted: %w", ctx.Err())
}

// plain turns what the operating system says into "path: reason".
func plain(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("%s: %w", path.Path, path.Err)
	}
	return err
}

// fetch reads a URL. What may pass is tried again.
func fetch(ctx context.Context, address string) ([]byte, error) {
	pause := firstPause
	for attempt := 1; ; attempt++ {
		data, again, err := fetchOnce(ctx, address)
		switch {
		case err == nil:
			return data, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%s: %w", address, interrupted(ctx))
		case !again:
			return nil, fmt.Errorf("%s: %w", address, err)
		case attempt == attempts:
			return nil, fmt.Errorf("%s: %w (tried %d times)", address, err, attempts)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// fetchOnce tries a URL. Again says that the failure may pass: the network, or the server, not the request.
func fetchOnce(ctx context.Context, address string) (data []byte, again bool, err error) {
	attempt, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	req, err := http.NewRequestWithContext(attempt, http.MethodGet, address, nil)
	if err != nil {
		return nil, false, err
	}
	// The default client honours the proxy variables of the environment, as kubectl does.
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, true, withoutURL(attempt, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests, fmt.Errorf("the server answered %s", resp.Status)
	}
	data, err = io.ReadAll(io.LimitReader(resp.Body, maxInput+1))
	if err != nil {
		return nil, true, withoutURL(attempt, err)
	}
	if len(data) > maxInput {
		return nil, false, fmt.Errorf("larger than %d MiB, which is the most that is read", maxInput>>20)
	}
	return data, false, nil
}

// withoutURL is an error of the HTTP client without the method and the URL, which the message has already.
func withoutURL(ctx context.Context, err error) error {
	if ctx.Err() == context.DeadlineExceeded {
		return fmt.Errorf("no whole answer in %s", attemptTime)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
