package command

import "strings"

// On Windows a command is searched for in the current directory, then in PATH, with
// the extensions in PATHEXT.

const defaultPathExt = ".COM;.EXE;.BAT;.CMD"

// commandFiles returns the files that name can mean, in the order in which the
// caller should try them. With here, the current directory comes before path.
func commandFiles(name, path, pathext string, here bool) []string {
	if name == "" {
		return nil
	}
	var dirs []string
	explicit := strings.ContainsAny(name, `/\:`)
	switch {
	case explicit:
		dirs = []string{""}
	case here:
		dirs = append([]string{`.\`}, splitPath(path)...)
	default:
		dirs = splitPath(path)
	}
	if pathext == "" {
		pathext = defaultPathExt
	}
	base := name[strings.LastIndexAny(name, `/\:`)+1:]
	hasExtension := strings.LastIndexByte(base, '.') > 0
	var files []string
	for _, dir := range dirs {
		if dir != "" && !strings.HasSuffix(dir, `\`) && !strings.HasSuffix(dir, "/") {
			dir += `\`
		}
		if hasExtension {
			files = append(files, dir+name)
		}
		for ext := range strings.SplitSeq(pathext, ";") {
			if ext != "" {
				files = append(files, dir+name+ext)
			}
		}
		if explicit && !hasExtension {
			files = append(files, name)
		}
	}
	return files
}

// splitPath splits at semicolons that are not in quotes.
func splitPath(path string) (dirs []string) {
	dir, quoted := "", false
	for i := range len(path) + 1 {
		switch {
		case i == len(path) || path[i] == ';' && !quoted:
			if dir != "" {
				dirs = append(dirs, dir)
			}
			dir = ""
		case path[i] == '"':
			quoted = !quoted
		default:
			dir += path[i : i+1]
		}
	}
	return dirs
}

// isBatch reports whether a file is a batch file, which cmd.exe runs.
func isBatch(path string) bool {
	ext := strings.ToLower(path[max(strings.LastIndexByte(path, '.'), 0):])
	return ext == ".bat" || ext == ".cmd"
}

// windowsName returns the base name of a program without the extension .exe.
func windowsName(path string) string {
	name := path[strings.LastIndexAny(path, `/\:`)+1:]
	if n := len(name) - len(".exe"); n > 0 && strings.EqualFold(name[n:], ".exe") {
		name = name[:n]
	}
	return name
}
