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
	data, err := readFile(root, name, mostObjects)
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

// How much is read of one file, in bytes. Who got a bundle from somebody else has not
// looked at how large it is, and much larger ones would not fit into a laptop's memory.
const (
	mostContents = 64 << 20
	mostObjects  = 1 << 30
)

// readFile reads a file of the bundle that has no more than so many bytes. A path that
// leads out of the folder, by itself or by a symbolic link, is an error.
func readFile(root *os.Root, name string, most int64) ([]byte, error) {
	// A pipe would be waited for.
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil:
		return nil, plain(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	case info.Size() > most:
		return nil, tooLarge(most)
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, plain(err)
	}
	defer func() { _ = file.Close() }()
	var data bytes.Buffer
	data.Grow(int(info.Size()) + bytes.MinRead)
	// It may be another one by now, and some that tell no size have no end.
	n, err := data.ReadFrom(io.LimitReader(file, most+1))
	switch {
	case err != nil:
		return nil, plain(err)
	case n > most:
		return nil, tooLarge(most)
	}
	return data.Bytes(), nil
}

func tooLarge(most int64) error {
	return fmt.Errorf("larger than the limit of %d MiB. Take a snapshot of fewer namespaces", most>>20)
}

// plain is an error of the file system without the path, which stands in front
// of it already.
func plain(err error) error {
	var p *fs.PathError
	if !errors.As(err, &p) {
		return err
	}
	if p.Err.Error() == "path escapes from parent" {
		// The package os has no name for it.
		return errors.New("it is outside the snapshot directory. Move it inside")
	}
	return p.Err
}
