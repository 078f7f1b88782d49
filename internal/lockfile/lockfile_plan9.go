package lockfile

import "io/fs"

// countLinks returns how many names the file has. There are no hard links here.
func countLinks(string, fs.FileInfo) (uint64, error) { return 1, nil }
