package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func readObjects(root *os.Root, name string, plurals map[schema.GroupVersionKind]string) (*store, error) {
	data, err := readFile(root, name, maxObjectsSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("no such file: the snapshot is incomplete. Copy the whole directory, or take the snapshot again")
	}
	if err != nil {
		return nil, err
	}
	items, err := decodeList(data)
	if err != nil {
		return nil, err
	}
	return newStore(items, plurals)
}

// The maximum sizes of files, in bytes. A user who opens a snapshot of another person has not
// checked its size, and larger ones would not fit into the memory of a laptop.
const (
	maxContentsSize = 64 << 20
	maxObjectsSize  = 1 << 30
)

// readFile reads a file of the snapshot up to a size. A path that leaves the directory, also
// through a symbolic link, is an error.
func readFile(root *os.Root, name string, maxSize int64) ([]byte, error) {
	// Reading a pipe would block.
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil:
		return nil, plain(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	case info.Size() > maxSize:
		return nil, tooLarge(maxSize)
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, plain(err)
	}
	defer func() { _ = file.Close() }()
	var data bytes.Buffer
	data.Grow(int(info.Size()) + bytes.MinRead)
	// The file may have been replaced, and some files without a size are endless.
	n, err := data.ReadFrom(io.LimitReader(file, maxSize+1))
	switch {
	case err != nil:
		return nil, plain(err)
	case n > maxSize:
		return nil, tooLarge(maxSize)
	}
	return data.Bytes(), nil
}

func tooLarge(maxSize int64) error {
	return fmt.Errorf("larger than the limit of %d MiB. Take a snapshot of fewer namespaces", maxSize>>20)
}

// plain removes the path from an error of the file system, because the message already has it.
func plain(err error) error {
	var p *fs.PathError
	if !errors.As(err, &p) {
		return err
	}
	if p.Err.Error() == "path escapes from parent" {
		// The package os exports no error for this.
		return errors.New("it is outside the snapshot directory. Move it inside")
	}
	return p.Err
}
