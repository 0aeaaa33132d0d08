package bundle

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/yaml"
)

// CheckTarget returns an error if a snapshot cannot be written to a directory: it must be missing
// or empty.
func CheckTarget(dir string) error {
	_, err := target(dir)
	return err
}

// target returns the real path of a directory.
func target(dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("directory %s: %w", dir, err)
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	entries, err := os.ReadDir(path)
	switch info, statErr := os.Stat(path); {
	case statErr == nil && !info.IsDir():
		return "", fmt.Errorf("%s is a file. Name a new directory", dir)
	case err == nil && len(entries) > 0:
		return "", fmt.Errorf("directory %s is not empty. Name a new one, or remove it first", dir)
	case err == nil && isWorkingDirectory(path):
		return "", fmt.Errorf("%s is the working directory. Name a new one", dir)
	case err == nil:
		return path, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("directory %s: %w", dir, plain(err))
	}
	parent := filepath.Dir(path)
	switch info, err := os.Stat(parent); {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("directory %s does not exist. Create it first, for %s", parent, filepath.Base(path))
	case err != nil:
		return "", fmt.Errorf("directory %s: %w", parent, plain(err))
	case !info.IsDir():
		return "", fmt.Errorf("%s is a file, so %s cannot be created in it", parent, filepath.Base(path))
	}
	return path, nil
}

func isWorkingDirectory(path string) bool {
	current, err := os.Stat(".")
	if err != nil {
		return false
	}
	given, err := os.Stat(path)
	return err == nil && os.SameFile(current, given)
}

// Write writes the snapshot, completely or not at all.
func (r *Recording) Write(ctx context.Context, dir string) error {
	if r.CountReadable() == 0 {
		return errors.New("cannot read any context; nothing was written")
	}
	path, err := target(dir)
	if err != nil {
		return err
	}
	// The temporary directory is next to the target, so that it can be renamed. Only the user can
	// read it.
	temporary, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+".tmp-")
	if err != nil {
		return fmt.Errorf("cannot create a directory next to %s: %w", dir, plain(err))
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	if err := r.fill(ctx, temporary); err != nil {
		return fmt.Errorf("cannot write %s: %w", dir, err)
	}
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		// Remove an empty directory. If it is no longer empty, this fails.
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("cannot replace %s: %w", dir, plain(err))
		}
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("cannot create %s: %w", dir, err)
	}
	return nil
}

// fill writes all files, the table of contents last.
func (r *Recording) fill(ctx context.Context, dir string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for name, records := range r.files {
		group.Go(func() error {
			return writeFile(dir, name, func(w io.Writer) error { return writeList(ctx, w, records) })
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return writeFile(dir, contents, func(w io.Writer) error {
		text, err := yaml.Marshal(r.snapshot)
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
}

func writeFile(dir, name string, write func(io.Writer) error) (err error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Sync()
}
