package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	// filesPoll is how often files are read though nobody said that they changed. Being told does not work over
	// every file system, nor for a URL, and what is not told must be seen before people wonder. Reading what has
	// not changed costs as much as hashing it.
	filesPoll = 15 * time.Second
	// filesSettle is how long nothing may have happened before changed files are read, so that a file is seldom
	// read while it is being written, and files that are copied together come into force together.
	filesSettle = 100 * time.Millisecond
	// filesSettleMax bounds that for a directory in which something always happens.
	filesSettleMax = time.Second
)

// watchedFiles keeps what is in the files of a flag in force. All that is in them is, or, when something is wrong with
// any of them, all that was before: of half a change nobody knows what it does.
type watchedFiles struct {
	// what is in the files, for the log and the metrics.
	what string
	// flag names the files; those in directories below are read if recursive.
	flag      string
	names     []string
	recursive bool
	// parse says what is wrong with what was read, and else gives what puts it in force.
	parse   func(*session, []input) (put func() ([]slog.Attr, error), err error)
	logger  *slog.Logger
	metrics *fileMetrics
	poll    time.Duration

	// What follows belongs to the one goroutine that loads.

	loaded bool
	// digest is of what is in force; failure is why what was read since is not, empty if it is.
	digest  [sha256.Size]byte
	failure string
	// unwatched is why a directory is not watched, as it was told last.
	unwatched string
}

// load reads the files and puts what they hold in force. The first error is for whoever started the command, and
// there is nothing to go on with then.
func (f *watchedFiles) load(ctx context.Context, s *session) error {
	start := time.Now()
	inputs, err := f.read(ctx, s)
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	digest := digestOf(inputs)
	if err == nil && f.loaded && digest == f.digest {
		// Back to what is in force, if anything was wrong in between.
		f.settled()
		return nil
	}
	put, bad := f.parse(s, inputs)
	var attrs []slog.Attr
	if err = errors.Join(err, bad); err == nil {
		attrs, err = put()
	}
	if err != nil {
		f.metrics.failed(f.what)
		return err
	}
	f.loaded, f.digest = true, digest
	f.settled()
	f.metrics.applied(f.what)
	attrs = append(attrs, slog.Int("files", len(inputs)), slog.Duration("took", time.Since(start)))
	f.logger.LogAttrs(ctx, slog.LevelInfo, "read", attrs...)
	return nil
}

// settled notes that what is in force is what the files say.
func (f *watchedFiles) settled() {
	if f.failure != "" {
		f.failure = ""
		f.logger.Info("nothing is wrong with the files any more", "content", f.what)
	}
	f.metrics.inStep(f.what)
}

// read reads the files. A directory that is there and empty is none of the mistakes that a wrong name is: who removes
// the last file of it means that.
func (f *watchedFiles) read(ctx context.Context, s *session) ([]input, error) {
	inputs, err := s.read(ctx, f.flag, f.names, f.recursive)
	var errs []error
	for _, e := range each(err) {
		if !errors.Is(e, errNoFiles) {
			errs = append(errs, e)
		}
	}
	return inputs, errors.Join(errs...)
}

// digestOf tells apart what was read.
func digestOf(inputs []input) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, in := range inputs {
		for _, part := range [][]byte{[]byte(in.name), in.data} {
			_ = binary.Write(h, binary.LittleEndian, int64(len(part))) // A hash takes everything.
			h.Write(part)
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// reload is load while there is something to answer from. The same mistake is told once.
func (f *watchedFiles) reload(ctx context.Context) {
	err := f.load(ctx, newSession(nil, io.Discard, io.Discard))
	if err == nil || ctx.Err() != nil || err.Error() == f.failure {
		return
	}
	f.failure = err.Error()
	for _, e := range each(err) {
		f.logger.Error("the files cannot be used; what was in force before stays so", "content", f.what, "problem", message(e))
	}
}

// run reads the files again whenever they may have changed, until the context ends.
func (f *watchedFiles) run(ctx context.Context) error {
	if len(f.names) == 0 {
		return nil
	}
	var events chan fsnotify.Event
	var lost chan error
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		events, lost = watcher.Events, watcher.Errors
	} else {
		f.notWatched(err)
	}
	tick := time.NewTicker(f.poll)
	defer tick.Stop()
	for {
		// In this order, so that what changes in between is told.
		f.watch(watcher)
		f.reload(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-lost: // Too much happened to be told one by one.
		case <-events:
			settle(ctx, events)
		}
	}
}

// settle waits until nothing has happened for a while.
func settle(ctx context.Context, events <-chan fsnotify.Event) {
	last := time.NewTimer(filesSettleMax)
	defer last.Stop()
	for {
		quiet := time.NewTimer(filesSettle)
		select {
		case <-events:
			quiet.Stop()
			continue
		case <-quiet.C:
		case <-last.C:
		case <-ctx.Done():
		}
		quiet.Stop()
		return
	}
}

// watch has changes told in all directories that matter now. One that is watched already stays so.
func (f *watchedFiles) watch(watcher *fsnotify.Watcher) {
	if watcher == nil {
		return
	}
	wanted := f.directories()
	var errs []error
	for dir := range wanted {
		if err := watcher.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("%s: %w", dir, err))
		}
	}
	for _, dir := range watcher.WatchList() {
		if !wanted[dir] {
			_ = watcher.Remove(dir) // It may have gone by itself.
		}
	}
	f.notWatched(errors.Join(errs...))
}

// notWatched tells once why changes are seen late.
func (f *watchedFiles) notWatched(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != f.unwatched {
		f.logger.Warn("files are not watched, and are looked at from time to time", "every", f.poll, "problem", text)
	}
	f.unwatched = text
}

// directories are those in which something may change: of a directory it and, if they are read, those below; of
// a file the one that it is in, because files are replaced as often as they are written to.
func (f *watchedFiles) directories() map[string]bool {
	dirs := map[string]bool{}
	for _, name := range f.names {
		if isURL(name) {
			continue
		}
		paths := []string{name}
		if matches, err := filepath.Glob(name); err == nil && strings.ContainsAny(name, "*?[") {
			paths = append(paths, matches...)
		}
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil || !info.IsDir() {
				dirs[filepath.Dir(path)] = true
				continue
			}
			_ = filepath.WalkDir(path, func(dir string, d fs.DirEntry, err error) error {
				switch {
				case err != nil:
					return fs.SkipDir
				case !d.IsDir():
					return nil
				case dir != path && (!f.recursive || strings.HasPrefix(d.Name(), "..")):
					return fs.SkipDir
				}
				dirs[dir] = true
				return nil
			})
		}
	}
	return dirs
}

// fileMetrics are about files, by what is in them.
type fileMetrics struct {
	step  *prometheus.GaugeVec
	time  *prometheus.GaugeVec
	loads *prometheus.CounterVec
}

func newFileMetrics(r prometheus.Registerer) *fileMetrics {
	m := &fileMetrics{
		step: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "interpret_files_in_step",
			Help: "Whether what is in force is what the files say: 1 yes, 0 something is wrong with them, and what was in force before stays so.",
		}, []string{"content"}),
		time: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "interpret_files_loaded_timestamp_seconds",
			Help: "When what is in force was read from the files.",
		}, []string{"content"}),
		loads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "interpret_files_loads_total",
			Help: "How often files that had changed were read, by outcome: applied, or failed, which is tried again.",
		}, []string{"content", "outcome"}),
	}
	r.MustRegister(m.step, m.time, m.loads)
	return m
}

func (m *fileMetrics) inStep(what string) { m.step.WithLabelValues(what).Set(1) }

func (m *fileMetrics) applied(what string) {
	m.time.WithLabelValues(what).SetToCurrentTime()
	m.loads.WithLabelValues(what, "applied").Inc()
	m.loads.WithLabelValues(what, "failed")
}

func (m *fileMetrics) failed(what string) {
	m.step.WithLabelValues(what).Set(0)
	m.loads.WithLabelValues(what, "failed").Inc()
}
