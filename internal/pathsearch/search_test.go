//go:build unix

package pathsearch

import (
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestSearch calls Failed with an error for each path; the last error in errs is for all the paths that follow.
func TestSearch(t *testing.T) {
	long := strings.Repeat("d", 4096)
	for _, c := range []struct {
		name, path string
		errs       []syscall.Errno
		tried      string
		result     syscall.Errno
	}{
		{"x", "/a:/b", []syscall.Errno{syscall.ENOENT}, "/a/x /b/x", syscall.ENOENT},
		{"x", ":a:", []syscall.Errno{syscall.ENOENT}, "x a/x x", syscall.ENOENT},
		{"x", "", []syscall.Errno{syscall.ENOENT}, "x", syscall.ENOENT},
		{"", "/a:/b", nil, "", syscall.ENOENT},
		{"x", "/a:/b:/c", []syscall.Errno{syscall.ENOENT, syscall.EACCES, syscall.ENOTDIR}, "/a/x /b/x /c/x",
			syscall.EACCES},
		{"x", "/a:/b", []syscall.Errno{syscall.ENOENT, syscall.ENOTDIR}, "/a/x /b/x", syscall.ENOTDIR},
		{"x", "/a:/b:/c", []syscall.Errno{syscall.EACCES, syscall.ELOOP}, "/a/x /b/x", syscall.ELOOP},
		{"x", long + ":/b", []syscall.Errno{syscall.ENOENT}, "/b/x", syscall.ENOENT},
		{"x", long, nil, "", syscall.ENOENT},
		{long, "/a", []syscall.Errno{syscall.ENAMETOOLONG}, "/a/" + long[:256], syscall.ENAMETOOLONG},
		{long, long[:4095], []syscall.Errno{syscall.ENAMETOOLONG}, long[:4095] + "/" + long[:256],
			syscall.ENAMETOOLONG},
	} {
		var path [Size]byte
		var tried []string
		s := Begin(c.name, c.path)
		for n := s.Next(&path); n > 0; n = s.Next(&path) {
			if path[n] != 0 {
				t.Errorf("%.20q in %.20q: no NUL at the end", c.name, c.path)
			}
			tried = append(tried, string(path[:n]))
			s.Failed(c.errs[min(len(tried), len(c.errs))-1])
		}
		if !slices.Equal(tried, strings.Fields(c.tried)) || s.Result() != c.result {
			t.Errorf("%.20q in %.20q: tried %.80q, %v; want %.80q, %v",
				c.name, c.path, tried, s.Result(), c.tried, c.result)
		}
	}
}
