package lockfile

// countLinks returns how many names the file has. There are no hard links here.
func countLinks(string) (uint32, error) { return 1, nil }
