package manifest

import (
	"bytes"
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

// file is the content of one source of manifests.
type file struct {
	name string
	text []byte
	// inDirectory is whether the file was found in a named directory. Then it may be empty.
	inDirectory bool
}

const (
	standardInput = "standard input"
	// urlTimeout limits reading one URL.
	urlTimeout = 30 * time.Second
	// maxMiB is the maximum size of a source in MiB: enough for thousands of Jobs, and small
	// enough for the memory of a laptop once it is parsed.
	maxMiB = 32
)

// extensions returns the extensions of the files to read in a directory, as kubectl does.
func extensions() []string { return []string{".json", ".yaml", ".yml"} }

// readFiles reads all named sources, in that order.
func readFiles(ctx context.Context, filenames []string, in io.Reader) (files []file, errs []error) {
	stdin := false
	for _, name := range filenames {
		var found []file
		var err error
		switch {
		case name == "-" && stdin:
			err = errors.New("standard input can be read once only")
		case name == "-":
			stdin = true
			found, err = readStream(ctx, in)
		case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
			found, err = readURL(ctx, name)
		default:
			found, err = readPath(ctx, name)
		}
		files = append(files, found...)
		if err != nil {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			return nil, []error{context.Cause(ctx)}
		}
	}
	return files, errs
}

// readInterruptibly calls read, which may block for ever on a terminal or a pipe. If ctx is done
// first, it returns at once and abandons the read.
func readInterruptibly(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := read()
		done <- result{text, err}
	}()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case r := <-done:
		return r.text, r.err
	}
}

// bounded reads everything up to the size limit.
func bounded(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxMiB<<20+1))
	if err == nil && len(text) > maxMiB<<20 {
		return nil, fmt.Errorf("larger than the limit of %d MiB. Split it into several files", maxMiB)
	}
	return text, err
}

func readStream(ctx context.Context, in io.Reader) ([]file, error) {
	text, err := readInterruptibly(ctx, func() ([]byte, error) { return bounded(in) })
	if err != nil {
		return nil, fmt.Errorf("cannot read standard input: %w", err)
	}
	return []file{{name: standardInput, text: text}}, nil
}

func readURL(ctx context.Context, address string) ([]file, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("cannot read the URL: %w", err)
	}
	// The URL may contain a password.
	name := u.Redacted()
	ctx, cancel := context.WithTimeout(ctx, urlTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		// The URL error repeats the address.
		if failed := new(url.Error); errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("cannot read %s: the server answered %s", name, response.Status)
	}
	text, err := bounded(response.Body)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	return []file{{name: name, text: text}}, nil
}

// readPath reads a file, the files of a directory, or all files that match a pattern.
func readPath(ctx context.Context, path string) ([]file, error) {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return readNamed(ctx, path)
	}
	matches, badPattern := filepath.Glob(path)
	if badPattern != nil || len(matches) == 0 {
		return nil, noFile(path)
	}
	var files []file
	var errs []error
	for _, match := range matches {
		found, err := readNamed(ctx, match)
		files, errs = append(files, found...), append(errs, err)
	}
	return files, errors.Join(errs...)
}

// readNamed reads a file or the files of a directory. It does not expand patterns: a broken
// symbolic link matches its own name, and would be expanded again and again.
func readNamed(ctx context.Context, path string) ([]file, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, noFile(path)
	case err != nil:
		return nil, err
	case info.IsDir():
		return readDirectory(ctx, path)
	}
	return readAll(ctx, []string{path}, false)
}

// noFile returns the error for a path without a file.
func noFile(path string) error {
	if target, err := os.Readlink(path); err == nil {
		return fmt.Errorf("no such file: %q is a symbolic link to %q, which does not exist", path, target)
	}
	return fmt.Errorf("no such file: %q", path)
}

// readDirectory reads the files of a directory, without subdirectories.
func readDirectory(ctx context.Context, path string) ([]file, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains(extensions(), filepath.Ext(e.Name())) {
			paths = append(paths, filepath.Join(path, e.Name()))
		}
	}
	files, err := readAll(ctx, paths, true)
	if err != nil {
		return files, err
	}
	if !slices.ContainsFunc(files, func(f file) bool { return len(f.documents()) > 0 }) {
		return nil, fmt.Errorf("no Job in directory %q: it has no files (%s) with content", path, strings.Join(extensions(), ", "))
	}
	return files, nil
}

func readAll(ctx context.Context, paths []string, inDirectory bool) (files []file, err error) {
	var errs []error
	for _, path := range paths {
		// The file may be a pipe without a writer.
		text, err := readInterruptibly(ctx, func() ([]byte, error) { return readOne(path) })
		if err != nil {
			errs = append(errs, err)
			continue
		}
		files = append(files, file{name: path, text: text, inDirectory: inDirectory})
	}
	return files, errors.Join(errs...)
}

func readOne(path string) ([]byte, error) {
	opened, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }()
	text, err := bounded(opened)
	if failed := (*fs.PathError)(nil); err != nil && !errors.As(err, &failed) {
		err = fmt.Errorf("cannot read %s: %w", path, err)
	}
	return text, err
}

// emptyError returns the error for a file without documents.
func (f file) emptyError() error {
	if len(bytes.TrimSpace(f.text)) == 0 {
		return fmt.Errorf("%s is empty", f.name)
	}
	return fmt.Errorf("%s contains no object, only comments or separators", f.name)
}
