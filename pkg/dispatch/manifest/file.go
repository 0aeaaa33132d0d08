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

// file is a file of manifests as it was read.
type file struct {
	name string
	text []byte
	// inFolder is whether it was not named itself, but stands in a folder that
	// was. Then it may be empty.
	inFolder bool
}

const (
	standardInput = "standard input"
	// urlTimeout is how long a URL may take.
	urlTimeout = 30 * time.Second
	// most is how much is taken from one source, in MiB: thousands of Jobs, and no
	// more than fits into the memory of a laptop once it is parsed.
	most = 32
)

// extensions are those of files that are looked at in a folder, as kubectl does.
func extensions() []string { return []string{".json", ".yaml", ".yml"} }

// readFiles reads everything that was named, in that order.
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

// interruptibly reads something that may have nothing to say for as long as it likes,
// such as a terminal or a pipe. What is read when ctx is over is left behind.
func interruptibly(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
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

// bounded reads all that there is, if that is not too much.
func bounded(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most<<20+1))
	if err == nil && len(text) > most<<20 {
		return nil, fmt.Errorf("larger than the limit of %d MiB. Split it into several files", most)
	}
	return text, err
}

func readStream(ctx context.Context, in io.Reader) ([]file, error) {
	text, err := interruptibly(ctx, func() ([]byte, error) { return bounded(in) })
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
	// There may be a password in it.
	name := u.Redacted()
	ctx, cancel := context.WithTimeout(ctx, urlTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		// It names the address once more.
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

// readPath reads a file, the files of a folder, or all that match a pattern.
func readPath(ctx context.Context, path string) ([]file, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		matches, badPattern := filepath.Glob(path)
		if badPattern != nil || len(matches) == 0 {
			return nil, fmt.Errorf("no such file: %q", path)
		}
		var files []file
		var errs []error
		for _, match := range matches {
			found, err := readPath(ctx, match)
			files, errs = append(files, found...), append(errs, err)
		}
		return files, errors.Join(errs...)
	}
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return readFolder(ctx, path)
	}
	return readAll(ctx, []string{path}, false)
}

// readFolder reads the files of a folder, but not those of folders in it.
func readFolder(ctx context.Context, path string) ([]file, error) {
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

func readAll(ctx context.Context, paths []string, inFolder bool) (files []file, err error) {
	var errs []error
	for _, path := range paths {
		// It may be a pipe, in which nobody says anything.
		text, err := interruptibly(ctx, func() ([]byte, error) { return readOne(path) })
		if err != nil {
			errs = append(errs, err)
			continue
		}
		files = append(files, file{name: path, text: text, inFolder: inFolder})
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

// emptyError says why a file has no documents.
func (f file) emptyError() error {
	if len(bytes.TrimSpace(f.text)) == 0 {
		return fmt.Errorf("%s is empty", f.name)
	}
	return fmt.Errorf("%s contains no object, only comments or separators", f.name)
}
