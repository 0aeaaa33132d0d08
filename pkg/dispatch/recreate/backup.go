package recreate

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/escape"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// BackupName returns the name of a file for a copy of the old Job, without a directory.
// The server chooses kind, namespace and name: what a file name may not contain, such as
// the slashes of "../x", becomes an underscore.
func (r *Replacement) BackupName(now time.Time) string {
	name := fmt.Sprintf("%s-%s-%s-%s.yaml", r.kind().Name, r.stored.GetNamespace(), r.stored.GetName(), now.UTC().Format("20060102T150405Z"))
	name = strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-_.", c) {
			return c
		}
		return '_'
	}, name)
	return strings.TrimLeft(name, "-.")
}

// WriteBackup writes the old Job to a new file that only the user can read, because environments
// of Pods often contain secrets. kubectl create accepts the file unchanged. WriteBackup returns
// after the file is synced to the disk. contextName is the Job's context.
func (r *Replacement) WriteBackup(path, contextName string, now time.Time) (err error) {
	text, err := r.backup(path, contextName, now)
	if err != nil {
		return err
	}
	if err := CheckBackup(path); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return notSaved(path, err)
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Sync(), file.Close(), syncDirectory(filepath.Dir(path)))
	if err != nil {
		return notSaved(path, errors.Join(err, os.Remove(path)))
	}
	return nil
}

func notSaved(path string, err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return fmt.Errorf("cannot save the old one in %s: %w; nothing was changed. Name another file with --backup", path, err)
}

// CheckBackup returns an error if the file exists, or cannot be created.
func CheckBackup(path string) error {
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return notSaved(path, errors.New("the file exists"))
	case !errors.Is(err, fs.ErrNotExist):
		return notSaved(path, err)
	}
	if directory, err := os.Stat(filepath.Dir(path)); err != nil {
		return notSaved(path, err)
	} else if !directory.IsDir() {
		return notSaved(path, fmt.Errorf("%s is not a directory", filepath.Dir(path)))
	}
	return nil
}

// syncDirectory syncs a directory, so that the name of a new file survives a crash. Windows does
// not support that.
func syncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

// backup returns the old Job for kubectl create. It includes the last status as a record, which
// servers ignore.
func (r *Replacement) backup(path, contextName string, now time.Time) ([]byte, error) {
	job := r.Restore.DeepCopy()
	if status := content.At(r.stored, "status"); status != nil {
		job.Object["status"] = status
	}
	text, err := escape.YAML(job.Object)
	if err != nil {
		return nil, fmt.Errorf("cannot copy %s: %w", r.describe(), err)
	}
	// No name may contain a line break, which would end the comment.
	oneLine := func(format string, args ...any) string {
		quoted := fmt.Sprintf("%q", fmt.Sprintf(format, args...))
		return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	}
	lines := []string{
		oneLine("%s %s of context %s, with UID %s, created %s,", r.kind().Kind, object.NameOf(r.stored), contextName, r.stored.GetUID(), content.StringAt(r.stored, "metadata", "creationTimestamp")),
		oneLine("saved at %s before it was recreated for the owner %s.", now.UTC().Format(time.RFC3339), r.options.owner()),
		"To restore it, after deleting any object with its name: " + restoreCommand(contextName, path).Shell(),
	}
	marks := r.marks()
	for _, key := range slices.Sorted(maps.Keys(marks)) {
		lines = append(lines, oneLine("It had the annotation %s: %s", key, marks[key]))
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("# " + line + "\n")
	}
	b.Write(text)
	return []byte(b.String()), nil
}
