package fallback

import "path/filepath"

// rename moves within d or from a directory in d to d.
func (d *directory) rename(old string, to *directory, name string) error {
	from, err := filepath.Rel(to.root.Name(), filepath.Join(d.root.Name(), old))
	if err != nil {
		return err
	}
	return to.root.Rename(from, name)
}

func (d *directory) remove(name string) error { return d.root.Remove(name) }
