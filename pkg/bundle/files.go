package bundle

import (
	"errors"
	"io/fs"
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func readObjects(root *os.Root, name string, plurals map[schema.GroupVersionKind]string) (*store, error) {
	data, err := readFile(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there is no such file; the bundle is not whole: copy the whole folder, or make the snapshot again")
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

// readFile reads a file of the bundle. A path that leads out of the folder, by
// itself or by a symbolic link, is an error.
func readFile(root *os.Root, name string) ([]byte, error) {
	// A pipe would be waited for.
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil:
		return nil, plain(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	}
	data, err := root.ReadFile(name)
	if err != nil {
		return nil, plain(err)
	}
	return data, nil
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
		return errors.New("it leads out of the bundle's folder, and is not read; everything has to be inside")
	}
	return p.Err
}
