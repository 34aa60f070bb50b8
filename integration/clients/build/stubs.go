package build

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// WriteStubs copies what building the client generated from the contract to
// out/<folder of the language>.
func (l *Language) WriteStubs(b *Built, out string) error {
	for _, s := range l.Stubs {
		files, err := s.newest(b.Dir)
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("build: %s: no file %s in %s", l.Name, s.Files, s.Folder)
		}
		for name, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := write(filepath.Join(out, l.Dir, name), data); err != nil {
				return err
			}
		}
	}
	return nil
}

// newest finds the files by their names in the folder; where several folders fit,
// as cargo has one for each state of a build, the newest file.
func (s Stubs) newest(dir string) (map[string]string, error) {
	folders, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(s.Folder)))
	if err != nil {
		return nil, err
	}
	files, times := map[string]string{}, map[string]time.Time{}
	for _, folder := range folders {
		found, err := filepath.Glob(filepath.Join(folder, filepath.FromSlash(s.Files)))
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			name, err := filepath.Rel(folder, file)
			if err != nil {
				return nil, err
			}
			info, err := os.Stat(file)
			if err != nil {
				return nil, err
			}
			if info.ModTime().After(times[name]) {
				files[name], times[name] = file, info.ModTime()
			}
		}
	}
	return files, nil
}
